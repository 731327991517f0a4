"""An agent is killed in the middle of a tool call; another process, with another store, finishes its task from a bundle."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from programs import ROOT, commits, run, running
from turnlog import queries
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.settings import Settings

AGENT = ROOT / "tests" / "resuming" / "agent.py"
TASK = "Write the notes of release 1.2 and publish it."
REPLIES = (
    Reply("First the notes.", tool_calls=[ToolCall("write_file", {"path": "notes.md", "content": "faster"}, "call-notes")]),
    Reply("Now to the public.", tool_calls=[ToolCall("publish", {"version": "1.2"}, "call-publish")]),
    Reply("It was cut short, so I look first.", tool_calls=[ToolCall("look_up", {"version": "1.2"}, "call-look")]),
    Reply("It is not there: again.", tool_calls=[ToolCall("publish", {"version": "1.2"}, "call-again")]),
    Reply("Release 1.2 is published."),
)
CUT_SHORT = "interrupted: the process died while this call ran; it may or may not have taken effect"


@pytest.mark.parametrize("way", ["messages", "brief"])
def test_a_killed_agent_finishes_its_task_on_another_machine(tmp_path: Path, way: str) -> None:
    here, there, work = tmp_path / "here", tmp_path / "there", tmp_path / "work"
    work.mkdir()
    with ScriptedModel(REPLIES) as model:
        arguments = (sys.executable, AGENT, model.base_url)
        with running(*arguments, "start", TASK, directory=here, cwd=work, TURNLOG_CAPTURE="full") as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "publishing\n"
            program.kill()
            program.wait()
        bundle = tmp_path / "release.turnlog"
        turnlog = (sys.executable, "-m", "turnlog")
        run(*turnlog, "bundle", "release", "-o", bundle, directory=here)
        run(*turnlog, "unbundle", bundle, directory=there)
        assert state_hash(there) == state_hash(here)
        (work / "network").touch()
        told = run(*arguments, way, directory=there, cwd=work, TURNLOG_CAPTURE="full")
        resumed = model.requests[2].body["messages"]
    assert told.stdout == "Release 1.2 is published.\n"
    assert (work / "published").read_text() == "1.2"
    assert (CUT_SHORT if way == "messages" else "its process died before it returned") in json.dumps(resumed)
    assert commits(there, "release") == [
        (1, "decision", "", "ok"),
        (1, "tool", "write_file", "ok"),
        (1, "note", "", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "publish", "interrupted"),
        (1, "lifecycle", "", "ok"),
        (2, "decision", "", "ok"),
        (2, "tool", "look_up", "ok"),
        (2, "decision", "", "ok"),
        (2, "tool", "publish", "ok"),
        (2, "decision", "", "ok"),
    ]
    with queries.reading(Settings(directory=there)) as db:
        (session,) = queries.sessions(db)
        assert (session.session_id, session.turns, session.status) == ("release", 2, "idle")
        changed = {(each.kind, each.key, each.change) for each in queries.diff(db, "release", 1, 2).differences}
        assert ("tool", "publish", "changed") in changed
        assert queries.pending(db, "release") == []
        resumptions = db.execute("select session_id, turn from resumptions").fetchall()
        lost = {each.summary for each in queries.out_of_context(db, "release") if each.kind == "message"}
        assert queries.retries(db, "release") == []
    assert resumptions == [("release", 2)]
    assert lost == (set() if way == "messages" else {TASK, "call write_file - First the notes."})
    assert "turn 2" in run(*turnlog, "log", directory=there).stdout


def state_hash(directory: Path) -> str:
    with queries.reading(Settings(directory=directory)) as db:
        return queries.session_state(db, "release").state_hash
