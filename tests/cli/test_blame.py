"""`turnlog blame`: the last change of a file with its reason, or all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.history import Turnlog, plain
from recording import Recording, assistant, user
from turnlog import queries, semconv


@pytest.fixture
def written(recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """A file that one model call asked for, written, then renamed by a call that nobody asked for."""
    monkeypatch.chdir(tmp_path)
    with recording.agent("write a parser", conversation="demo"):
        recording.chat(
            [user("write a parser")],
            [assistant("It needs a place.", "write_file")],
            **{semconv.GEN_AI_REQUEST_MODEL: "small"},
        )
        call = {semconv.GEN_AI_TOOL_CALL_ID: "call-0", semconv.GEN_AI_TOOL_NAME: "write_file"}
        arguments = {"path": str(tmp_path / "src/parser.py"), "content": "pass"}
        operation = recording.start("execute_tool", {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments}, call)
        (tmp_path / "src").mkdir()
        with operation.current():
            (tmp_path / "src" / "parser.py").write_text("pass")
        operation.end()
    with recording.agent("rename it", conversation="demo"):
        recording.tool("move_file", {"source": "src/parser.py", "destination": "src/reader.py"}, "moved")
    return recording


def test_blame_says_who_wrote_a_file_last_and_why(written: Recording, turnlog: Turnlog) -> None:
    with written.agent("edit it", conversation="other"):
        written.tool("edit_file", {"path": "src/other.py", "content": "x"}, "done")
    assert plain(turnlog("blame", "--all", "src/reader.py").out)[1:] == [
        "src/reader.py  rename from src/parser.py  declared  DAY TIME  demo  2  move_file ID  -",
        "src/parser.py  create  both  DAY TIME  demo  1  write_file ID  ID  It needs a place.",
    ]
    assert plain(turnlog("blame", "src/reader.py").out) == [
        "file  src/reader.py",
        "change  rename from src/parser.py",
        "evidence  declared",
        "time  DAY TIME",
        "session  demo",
        "turn  2  rename it",
        'tool call  ID  move_file  {"source":"src/parser.py","destination":"src/reader.py"}',
        "decision  not known",
        "why  none stated",
        "2 changes in all: turnlog blame --all src/reader.py",
    ]


def test_blame_of_an_old_name_says_where_the_file_went(written: Recording, turnlog: Turnlog) -> None:
    printed = plain(turnlog("blame", "--all", "parser.py").out)
    assert printed == [
        "FILE  CHANGE  EVIDENCE  WHEN  SESSION  TURN  BY  DECISION  WHY",
        "src/parser.py  renamed to src/reader.py  declared  DAY TIME  demo  2  move_file ID  -",
        "src/parser.py  create  both  DAY TIME  demo  1  write_file ID  ID  It needs a place.",
    ]


def test_blame_names_the_decision_that_asked(written: Recording, turnlog: Turnlog) -> None:
    last, first = (json.loads(line) for line in turnlog("blame", "--all", "--json", "src/parser.py").out.splitlines())
    assert list(first) == list(queries.FileChange._fields)
    assert (first["choice"], first["reason"], first["model"]) == ("call write_file", "It needs a place.", "small")
    assert turnlog("show", first["decision_commit_id"]).code == 0
    assert json.loads(turnlog("blame", "--json", "src/parser.py").out) == last


def test_blame_of_a_file_that_nobody_changed_is_an_error_with_a_hint(written: Recording, turnlog: Turnlog) -> None:
    assert turnlog("blame", "src/passer.py") == (
        1,
        "",
        "turnlog: no session has changed 'src/passer.py'. Nearest: src/parser.py, src/reader.py.\n",
    )
    assert turnlog("blame").code == 2
