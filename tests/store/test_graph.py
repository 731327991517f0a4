"""What each turn goes on from, and what was done inside of what."""

from __future__ import annotations

from store.attempts import Attempts
from store.story import Story
from turnlog import queries
from turnlog.settings import Settings
from turnlog.store.loader import load


def test_turn_graph(settings: Settings) -> None:
    story = Attempts(settings)
    story.run("t1", prefix="p0", text="one", lineage="a")
    story.run("t2", prefix="p1", text="two", lineage="a")
    story.run("t3", prefix="p1", text="two", lineage="b")
    story.run("t4", prefix="p1", text="instead", lineage="c")
    story.run("t5", prefix="p2", text="go on", lineage="a")
    for _ in ("from the journal", "from the store"):
        with queries.reading(settings) as db:
            found = db.execute(
                "select turn, parent_turn, relation, attempt from turn_graph where session_id = 's' order by turn"
            ).fetchall()
            assert found == [(1, 0, "", 1), (2, 1, "", 1), (3, 1, "retry", 2), (4, 1, "fork", 1), (5, 2, "", 1)]
            assert [node.turn for node in queries.turn_graph(db, "s")] == [5, 4, 3, 2, 1]
        load(settings, patience=1)


def tell(settings: Settings) -> Story:
    """A call whose sub-agent calls tools, and which begins a session of its own."""
    story = Story(settings)
    story.agent("agent", "s", "t1", "research")
    story.tool("call", "s", "t1", "research", inside="agent")
    story.span("sub-agent", "s", "t1", inside="call", operation="invoke_agent", agent="critic")
    story.tool("deep", "s", "t1", "search", inside="sub-agent")
    story.tool("deeper", "s", "t1", "read", inside="deep")
    story.tool("beside", "s", "t1", "write", inside="agent")
    story.span("another", "inner", "t9", inside="call", operation="invoke_agent", agent="other")
    return story


def test_nested_commits(settings: Settings) -> None:
    ids = tell(settings).ids
    with queries.reading(settings) as db:
        assert queries.nested_commits(db, "s") == {ids["deep"]: ids["call"], ids["deeper"]: ids["deep"]}
        assert queries.nested_commits(db, "inner") == {}


def test_nested_sessions(settings: Settings) -> None:
    ids = tell(settings).ids
    with queries.reading(settings) as db:
        assert queries.nested_sessions(db, "s") == [("inner", 1, ids["call"], "other")]
        assert queries.nested_sessions(db, "inner") == []
