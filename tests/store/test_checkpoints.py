"""The checkpoints that a framework saves of its state: where each goes on from, and which of them are forks."""

from __future__ import annotations

from typing import Any

from store.story import Story, change
from turnlog import queries
from turnlog.settings import Settings
from turnlog.store.loader import load


class Saving(Story):
    def save(self, label: str, turn: str, source: str, parent: str = "", session: str = "s", **fields: Any) -> None:
        saved = {"checkpoint_id": f"c-{label}", "checkpoint_parent": parent and f"c-{parent}", "checkpoint_source": source}
        self.span(label, session, turn, commit_kind="state", input_summary=f"{source}: n", **saved, **fields)


def tell(settings: Settings) -> Saving:
    story = Saving(settings)
    story.agent("agent1", "s", "t1", "one")
    story.save("a", "t1", "input")
    story.save("b", "t1", "step", "a")
    story.agent("agent2", "s", "t2", "two")
    story.save("c", "t2", "input", "b")
    story.save("elsewhere", "t9", "input", "b", session="other")
    story.agent("agent3", "s", "t3", "three")
    story.save("d", "t3", "input", "a")
    # From a process that runs no turn.
    story.save("e", "", "update", "d", delta=[change("state", "n", "7")])
    story.save("f", "", "update", "b")
    story.agent("agent4", "s", "t4", "")
    story.save("g", "t4", "fork", "x")
    return story


def test_checkpoints(settings: Settings) -> None:
    story = tell(settings)
    load(settings, patience=1)
    with queries.reading(settings) as db:
        columns = "checkpoint_id, turn, source, parent_id, parent_turn, parent_commit, is_fork"
        assert db.execute(f"select {columns} from checkpoints where session_id = 's' order by saved_ns").fetchall() == [
            ("c-a", 1, "input", "", 0, "", 0),
            ("c-b", 1, "step", "c-a", 1, story.ids["a"], 0),
            ("c-c", 2, "input", "c-b", 1, story.ids["b"], 0),
            ("c-d", 3, "input", "c-a", 1, story.ids["a"], 1),
            ("c-e", 3, "update", "c-d", 3, story.ids["d"], 0),
            ("c-f", 3, "update", "c-b", 1, story.ids["b"], 1),
            ("c-g", 4, "fork", "c-x", 0, "", 1),
        ]
        assert queries.forks(db, "s") == {3: 1, story.ids["f"]: 1, 4: 0}
        assert queries.checkpoints(db, "s") == 5
        assert queries.checkpoints(db, "s", turn=1) == 2
        assert [commit.commit_id for commit in queries.log(db, "s", kind="state")] == [story.ids["f"], story.ids["e"]]
        assert len(queries.log(db, "s", checkpoints=True)) == 7


def test_an_edit_outside_of_every_turn_changes_the_state_of_the_turn_before_it(settings: Settings) -> None:
    tell(settings)
    for _ in ("from the journal", "from the store"):
        with queries.reading(settings) as db:
            assert [(row.turn, row.value) for row in queries.state(db, "s", 3) if row.kind == "state"] == [(3, "7")]
            assert [row.key for row in queries.state(db, "s", 2) if row.kind == "state"] == []
            assert queries.last_turn(db, "s") == 4
        load(settings, patience=1)
