"""`turnlog blame`: the last change of a file with its reason, or all of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.history import Turnlog, plain
from programs import run
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


def test_files_of_the_same_name_in_two_folders_are_told_apart(tmp_path: Path) -> None:
    store, code = tmp_path / "store", "import turnlog; turnlog.init()\n@turnlog.tool\ndef write_file(path, content): ...\n"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        said = f"with turnlog.session('{name}'), turnlog.turn(input='go'): write_file('tea.md', '{name}')"
        run(sys.executable, "-c", code + said, directory=store, cwd=tmp_path / name)

    def blamed(path: Path | str, cwd: Path) -> list[str]:
        done = run(sys.executable, "-m", "turnlog", "blame", "--all", "--json", path, directory=store, cwd=cwd)
        return [json.loads(line)["session_id"] for line in done.stdout.splitlines()]

    assert blamed(tmp_path / "one" / "tea.md", tmp_path) == blamed("one/tea.md", tmp_path) == ["one"]
    assert blamed("tea.md", tmp_path / "two") == ["two"]
    assert blamed("tea.md", tmp_path) == ["two", "one"]
    elsewhere = run(sys.executable, "-m", "turnlog", "blame", tmp_path / "tea.md", directory=store, code=1)
    assert "no session has changed" in elsewhere.stderr
