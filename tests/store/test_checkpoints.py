"""The checkpoints that a framework saves of its state: where each goes on from, and which of them are forks."""

from __future__ import annotations

import re
from typing import Any

from programs import ROOT
from store.story import SECOND, START, Story, change
from turnlog import queries
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load

MIGRATIONS = ROOT / "src" / "turnlog" / "store" / "sql" / "duckdb" / "migrations"


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


def counted(settings: Settings) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Commits, failures and spans of the session; commits, tool calls and failures of each of its turns."""
    with queries.reading(settings) as db:
        session = queries.session_of(db, "s")
        turns = [(turn.commits, turn.tool_calls, turn.failures) for turn in reversed(queries.turns(db, "s"))]
    return (session.commits, session.failures, session.spans), turns


def test_of_the_checkpoints_only_edits_and_replays_are_counted_as_commits(settings: Settings) -> None:
    story = tell(settings)
    story.tool("tool", "s", "t4", "write_file")
    expected = (4, 0, 12), [(0, 0, 0), (0, 0, 0), (2, 0, 0), (2, 1, 0)]
    for _ in ("from the journal", "from the store"):
        assert counted(settings) == expected
        load(settings, patience=1)
    story.save("h", "t4", "step", "g")
    story.chat("chat", "s", "t4")
    assert counted(settings) == ((5, 0, 14), [*expected[1][:3], (3, 1, 0)])


def test_a_checkpoint_that_its_process_seemed_to_die_in_is_no_commit_before_or_after(settings: Settings) -> None:
    story = Saving(settings)
    story.agent("agent", "s", "t1", "one")
    saving = {"name": "checkpoint", "trace_id": "a" * 32, "span_id": "b" * 16, "session_id": "s", "turn_id": "t1"}
    saving |= {"start_ns": START + 9 * SECOND, "commit_kind": "state", "checkpoint_source": "step"}
    story.row(record="start", **saving)
    story.writer.close()
    load(settings, patience=1)
    assert counted(settings) == ((0, 1, 2), [(0, 0, 1)])
    story.row(record="end", end_ns=START + 10 * SECOND, outcome="ok", **saving)
    load(settings, patience=1)
    assert counted(settings) == ((0, 0, 2), [(0, 0, 0)])


def test_a_store_of_before_stops_counting_them(settings: Settings) -> None:
    tell(settings)
    load(settings, patience=1)
    with Store(settings).writing(patience=1) as db:
        every = "(select count(*) from raw.spans as s where s.session_key = x.session_key and s.commit_kind <> '')"
        db.execute(f"update raw.sessions as x set commit_count = {every}")
        later = "".join(path.read_text() for path in MIGRATIONS.glob("*.sql") if path.name > "0005")
        for table, column in re.findall(r"^alter table (\S+) add column (\S+)", later, re.MULTILINE):
            db.execute(f"alter table {table} drop column {column}")
        for table in re.findall(r"^create table (\S+)", later, re.MULTILINE):
            db.execute(f"drop table {table}")
        db.execute("update turnlog_meta set value = '4' where name = 'schema'")
    load(settings, patience=1)
    with queries.reading(settings) as db:
        assert db.execute("select session_id, commits from sessions order by all").fetchall() == [("other", 0), ("s", 3)]


def test_an_edit_outside_of_every_turn_changes_the_state_of_the_turn_before_it(settings: Settings) -> None:
    tell(settings)
    for _ in ("from the journal", "from the store"):
        with queries.reading(settings) as db:
            assert [(row.turn, row.value) for row in queries.state(db, "s", 3) if row.kind == "state"] == [(3, "7")]
            assert [row.key for row in queries.state(db, "s", 2) if row.kind == "state"] == []
            assert queries.last_turn(db, "s") == 4
        load(settings, patience=1)
