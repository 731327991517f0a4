"""`turnlog import`: what it prints, counts, refuses and leaves behind."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from cli.history import Turnlog
from cli.terminal import Terminal
from importing.reading import TRANSCRIPTS
from programs import commits, run
from turnlog.importing import FORMATS
from turnlog.settings import Settings

CLAUDE = "08838aae-8089-576b-a5a5-6c469f49fd9a"
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
    printed = turnlog("import", option)
    assert (printed.code, printed.err.startswith("turnlog: there is no ")) == (1, True)
    for place in (home, tmp_path / "elsewhere"):
        (place / folder / "a").mkdir(parents=True)
        (place / folder / "a" / file.name).write_bytes(file.read_bytes())
    assert turnlog("import", option).code == 0
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert turnlog("import", option).out.splitlines()[1] == "nothing of it is new"


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
    assert turnlog("import", str(tmp_path / "empty")) == (
        1,
        "",
        f"turnlog: there is nothing to import in {tmp_path / 'empty'}\n",
    )
    assert turnlog("import", str(tmp_path / "nowhere")) == (1, "", f"turnlog: there is no {tmp_path / 'nowhere'}\n")
    assert turnlog("import").code == 2


def test_of_a_folder_what_is_something_else_is_left_alone(turnlog: Turnlog, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"a": 1}')
    (tmp_path / "cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "rollout.jsonl").write_bytes(ROLLOUT.read_bytes())
    printed = turnlog("import", str(tmp_path))
    assert (printed.code, printed.out.splitlines()[0]) == (0, "12 spans in 1 file (codex)")
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
    assert turnlog("import", "--format", name, "nowhere") == (1, "", "turnlog: there is no nowhere\n")


def test_json_says_the_same_for_programs(turnlog: Turnlog, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(ROLLOUT.read_bytes() + b"{oops")
    assert json.loads(turnlog("import", "--json", str(path)).out) == {
        "files": [{"file": str(path), "format": "codex", "spans": 12, "error": ""}],
        "spans": 12,
        "new_commits": 9,
        "new_turns": 3,
        "sessions": ["01a1e542-1f0d-7282-9b90-93f6bec2ad26"],
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
    assert re.search(r"[█░]{24} +\d+%  [\d.]+ kB of \d+ kB  \d+ spans?, \d sessions?", shown)
    assert shown.rpartition("\x1b[K")[2].startswith("41 spans in 2 files")
