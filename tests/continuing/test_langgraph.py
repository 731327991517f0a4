"""LangGraph goes on from its own checkpoints, and turnlog with the session: real processes, a checkpointer in a file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from programs import ROOT, commits, run
from turnlog import queries
from turnlog.settings import Settings

pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed")

EXAMPLE = (sys.executable, ROOT / "examples" / "resume_langgraph.py")
NEXT = """
import turnlog
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from turnlog.continuing.langgraph import config

turnlog.resume("trip")
graph = StateGraph(MessagesState)
graph.add_node("count", lambda state: {"messages": [("ai", f"{len(state['messages'])} messages")]})
graph.add_edge(START, "count")
with SqliteSaver.from_conn_string("checkpoints.sqlite") as saver:
    said = graph.compile(checkpointer=saver).invoke({"messages": [("user", "And then?")]}, config("trip"))
    print(said["messages"][-1].content)
"""


def test_a_killed_graph_goes_on_from_its_checkpoint_in_the_same_session(tmp_path: Path) -> None:
    store = tmp_path / "store"
    run(*EXAMPLE, directory=store, cwd=tmp_path, code=-9)
    with queries.reading(Settings(directory=store)) as db:
        state = queries.session_state(db, "trip")
    assert state.stop is not None and (state.stop.tool, state.stop.outcome) == ("get_weather", "interrupted")
    assert state.checkpoint is not None and state.checkpoint.thread_id == "trip"
    done = run(*EXAMPLE, directory=store, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("Take an umbrella.\n", "")
    worked = [row for row in commits(store, "trip") if row[1] in ("decision", "tool")]
    # The model is not asked again for what it had decided.
    assert worked == [
        (1, "decision", "", "ok"),
        (1, "tool", "get_weather", "interrupted"),
        (2, "tool", "get_weather", "ok"),
        (2, "decision", "", "ok"),
    ]
    with queries.reading(Settings(directory=store)) as db:
        assert [session.session_id for session in queries.sessions(db)] == ["trip"]
        assert queries.pending(db, "trip") == []
    # A new input finds the messages of both.
    assert run(sys.executable, "-c", NEXT, directory=store, cwd=tmp_path).stdout == "5 messages\n"


def test_a_session_without_checkpoints_says_what_is_missing(tmp_path: Path) -> None:
    code = """
import turnlog
from turnlog.continuing.langgraph import config
turnlog.init(session="s", instrument=False)
with turnlog.turn("go"):
    turnlog.note("blue")
try:
    config("s")
except turnlog.NotCaptured as error:
    print(error)
"""
    said = "session s has no checkpoint: compile its graph with a checkpointer that outlives the process.\n"
    assert run(sys.executable, "-c", code, directory=tmp_path).stdout == said
