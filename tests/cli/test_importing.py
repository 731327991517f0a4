"""`turnlog import`: what it prints, counts, refuses and leaves behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.history import Turnlog
from cli.terminal import Terminal
from importing.reading import TRANSCRIPTS
from programs import commits, environment, run
from turnlog.importing import FORMATS
from turnlog.settings import Settings

CLAUDE = "08838aae-8089-576b-a5a5-6c469f49fd9a"
CODEX = "01a1e542-1f0d-7282-9b90-93f6bec2ad26"
(SESSION,) = (TRANSCRIPTS / "claude_code").glob("*/*.jsonl")
(ROLLOUT,) = (TRANSCRIPTS / "codex").rglob("*.jsonl")


def test_an_import_says_what_it_read_and_what_to_do_next(turnlog: Turnlog) -> None:
    assert turnlog("import", str(TRANSCRIPTS)) == (
        0,
        "41 spans in 2 files (claude-code, codex)\nnew: 2 sessions, 10 turns, 31 commits\nnext: turnlog sessions\n",
        "",
    )
    assert turnlog("import", str(TRANSCRIPTS)).out == (
        "41 spans in 2 files (claude-code, codex)\nnothing of it is new\nnext: turnlog sessions\n"
    )


def test_one_new_session_is_named(turnlog: Turnlog) -> None:
    assert turnlog("import", str(SESSION)).out.splitlines()[-1] == f"next: turnlog log --session {CLAUDE}"


@pytest.mark.parametrize(
    ("option", "variable", "folder", "file"),
    [
        ("--claude-code", "CLAUDE_CONFIG_DIR", "projects", SESSION),
        ("--codex", "CODEX_HOME", "sessions", ROLLOUT),
    ],
)
def test_the_folders_of_coding_agents_are_found(
    option: str, variable: str, folder: str, file: Path, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / {"--claude-code": ".claude", "--codex": ".codex"}[option]
    missing = "there is no such file or folder; name the folder: turnlog import DIR"
    assert turnlog("import", option) == (1, "", f"turnlog: {home / folder}: {missing}\n")
    for place in (home, tmp_path / "elsewhere"):
        (place / folder / "a").mkdir(parents=True)
        (place / folder / "a" / file.name).write_bytes(file.read_bytes())
    assert turnlog("import", option).code == 0
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert turnlog("import", option).out.splitlines()[1] == "nothing of it is new"
    monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    assert turnlog("import", option).err == f"turnlog: {tmp_path / 'nowhere' / folder}: {missing}\n"


def test_what_is_there_is_imported_and_what_is_not_is_told(
    turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    sessions = tmp_path / ".codex" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / ROLLOUT.name).write_bytes(ROLLOUT.read_bytes())
    printed = turnlog("import", "--claude-code", "--codex", "nofile", str(SESSION))
    assert (printed.code, printed.out.splitlines()[0]) == (0, "41 spans in 2 files (claude-code, codex)")
    assert printed.err.splitlines() == [
        "turnlog: nofile: there is no such file or folder",
        f"turnlog: {tmp_path / '.claude' / 'projects'}: there is no such file or folder; name the folder: turnlog import DIR",
    ]


def test_what_a_known_session_gained_is_told_apart_from_new_sessions(turnlog: Turnlog, tmp_path: Path) -> None:
    path = tmp_path / ROLLOUT.name
    lines = ROLLOUT.read_bytes().splitlines(keepends=True)
    second = next(index for index, line in enumerate(lines) if b'"task_complete"' in line) + 1
    path.write_bytes(b"".join(lines[:second]))
    assert turnlog("import", str(path)).out.splitlines()[1] == "new: 1 session, 1 turn, 3 commits"
    path.write_bytes(ROLLOUT.read_bytes())
    assert turnlog("import", str(path), str(SESSION)).out.splitlines()[1:3] == [
        "new: 1 session, 7 turns, 22 commits",
        "new: 2 turns, 6 commits in 1 known session",
    ]


def test_bad_lines_are_shown_and_the_rest_is_imported(turnlog: Turnlog, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(ROLLOUT.read_bytes() + b"{oops\n" * 7)
    printed = turnlog("import", str(path))
    first = len(ROLLOUT.read_bytes().splitlines()) + 1
    assert printed.code == 0
    assert printed.err.splitlines() == [
        "turnlog: 7 lines could not be read",
        *(f"turnlog: {path}:{first + number}: no JSON" for number in range(5)),
    ]


def test_nothing_that_could_be_read_is_an_error(turnlog: Turnlog, tmp_path: Path) -> None:
    other = tmp_path / "notes.json"
    other.write_text('{"a": 1}')
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(b"\x1f\x8b\x08\x00oops")
    (tmp_path / "empty").mkdir()
    formats = "otlp, jaeger, phoenix, codex, claude-code, langfuse, otlp-proto"
    unknown = f"turnlog: {other}: holds nothing that turnlog knows; --format names one of {formats}\n"
    assert turnlog("import", str(other)) == (1, "", unknown)
    assert turnlog("import", str(broken)).code == 1
    for name, error in (("empty", "there is nothing to import in it"), ("nowhere", "there is no such file or folder")):
        assert turnlog("import", str(tmp_path / name)) == (1, "", f"turnlog: {tmp_path / name}: {error}\n")
    assert turnlog("import", os.devnull) == (1, "", f"turnlog: {os.devnull}: is empty\n")
    assert turnlog("import").code == 2


def test_of_a_folder_what_is_something_else_is_left_alone(turnlog: Turnlog, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"a": 1}')
    (tmp_path / "empty.json").touch()
    (tmp_path / "cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "rollout.jsonl").write_bytes(ROLLOUT.read_bytes())
    printed = turnlog("import", str(tmp_path))
    assert (printed.code, printed.out.splitlines()[:2]) == (
        0,
        ["12 spans in 1 file (codex)", "3 files skipped: 2 empty or of another kind, 1 unreadable"],
    )
    assert [line.split(": ")[1] for line in printed.err.splitlines()] == [str(tmp_path / "cut.jsonl.gz")]


def test_traces_without_an_agent_are_left_out_and_counted(turnlog: Turnlog, tmp_path: Path) -> None:
    span = {"traceID": "abc", "spanID": "2", "operationName": "GET /", "startTime": 1_700_000_000_000_001, "duration": 5}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"data": [{"traceID": "abc", "spans": [span], "processes": {}}]}))
    assert turnlog("import", str(path)) == (
        0,
        "1 span in 1 file (jaeger)\n1 span left out: no agent works in their traces\n",
        "",
    )


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_named(name: str, turnlog: Turnlog) -> None:
    assert turnlog("import", "--format", name, "nowhere") == (1, "", "turnlog: nowhere: there is no such file or folder\n")


def test_the_wrong_format_is_told_in_one_line(turnlog: Turnlog) -> None:
    refused = "holds nothing of the format codex, but of claude-code; leave out --format"
    assert turnlog("import", "--format", "codex", str(SESSION)) == (1, "", f"turnlog: {SESSION}: {refused}\n")


def test_a_rollout_without_its_beginning_is_told_in_one_line(turnlog: Turnlog, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(ROLLOUT.read_bytes().splitlines(keepends=True)[1:]))
    refused = "nothing in it could be read: no line of a rollout: a rollout begins with its session"
    assert turnlog("import", str(path)) == (1, "", f"turnlog: {path}: {refused}\n")


def test_json_has_every_named_file_with_what_is_wrong(turnlog: Turnlog, tmp_path: Path) -> None:
    held = {"empty": b"", "text": b"hello\n", "garbage": b"\x9d\x00\xe5\x1a" * 40, "cut": b'{"data": [{"traceID": "1", '}
    for name, data in held.items():
        (tmp_path / name).write_bytes(data)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "empty.json").touch()
    printed = turnlog("import", "--json", *(str(tmp_path / name) for name in (*held, "nowhere")), str(folder))
    told = json.loads(printed.out)
    assert {Path(each["file"]).name: each["error"].partition(";")[0] for each in told["files"]} == {
        "empty": "is empty",
        "text": "holds nothing that turnlog knows",
        "garbage": "holds nothing that turnlog knows",
        "cut": "is cut off before anything in it is whole",
        "nowhere": "there is no such file or folder",
    }
    assert (printed.code, printed.err, told["skipped_files"]) == (1, "", 1)


def test_json_says_the_same_for_programs(turnlog: Turnlog, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(ROLLOUT.read_bytes() + b"{oops")
    assert json.loads(turnlog("import", "--json", str(path)).out) == {
        "files": [{"file": str(path), "format": "codex", "spans": 12, "error": ""}],
        "spans": 12,
        "new_commits": 9,
        "new_turns": 3,
        "sessions": [CODEX],
        "new_sessions": [CODEX],
        "skipped_files": 0,
        "unfinished_turns": 0,
        "left_out_spans": 0,
        "bad_lines": 1,
        "bad": [{"file": str(path), "line": len(ROLLOUT.read_bytes().splitlines()) + 1, "reason": "cut off"}],
    }


def test_the_standard_input_and_a_named_format_are_read(settings: Settings) -> None:
    words = (sys.executable, "-m", "turnlog", "import", "-", "--format", "codex")
    done = run(*words, directory=settings.directory, stdin=ROLLOUT.read_text())
    assert (done.stdout.splitlines()[0], done.stderr) == ("12 spans in 1 file (codex)", "")
    assert len(commits(settings.directory)) == 9


def test_a_terminal_shows_a_bar_that_is_gone_in_the_end(settings: Settings) -> None:
    with Terminal("import", str(TRANSCRIPTS), settings=settings) as terminal:
        shown = terminal.all()
    assert re.search(r"[█░]{24} +\d\d?%  [\d.]+ kB of \d+ kB  \d+ spans?\r", shown)
    *_, storing, end = shown.split("\r\x1b[K")
    assert re.fullmatch(r"\d+ kB read, \d+ spans?: putting them into the store …", storing)
    assert end.startswith("41 spans in 2 files")


def test_an_interrupted_import_keeps_what_was_read_and_says_so(settings: Settings, tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    os.mkfifo(endless)
    words = (sys.executable, "-m", "turnlog", "import", str(ROLLOUT), str(endless))
    process = subprocess.Popen(
        words, env=environment(settings.directory), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    # It opens once the import opens it, which is when the file before it is read.
    with process, endless.open("wb"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "turnlog: interrupted: what was read is kept; run it again and it goes on\n"
    assert len(commits(settings.directory)) == 9
