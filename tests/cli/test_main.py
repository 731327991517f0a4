"""What all commands share: errors, exit codes, what is imported, and what a terminal or a pipe gets."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.history import Turnlog, plain
from cli.terminal import Terminal
from programs import environment, run
from recording import Recording
from turnlog import __version__
from turnlog.cli import _MODULES
from turnlog.cli.render import Screen, inert, size
from turnlog.cli.widths import columns, cut
from turnlog.errors import is_interrupt
from turnlog.settings import Settings
from turnlog.store import Store

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31mred\r\u202egnp\u061c\x7f\nend"
CONTROL = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u202e]"
COMMANDS = (
    "demo",
    "run",
    "import",
    "serve",
    "ui",
    "mcp",
    "sessions",
    "log",
    "watch",
    "show",
    "diff",
    "files",
    "blame",
    "state",
    "context",
    "taint",
    "why",
    "patterns",
    "resume",
    "pause",
    "unpause",
    "close",
    "archive",
    "pin",
    "unpin",
    "gc",
    "export",
    "bundle",
    "unbundle",
    "sql",
    "doctor",
    "path",
)


def imported_by(*words: str, settings: Settings) -> set[str]:
    code = (
        "import sys\nfrom turnlog.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = run(sys.executable, "-c", code, *words, directory=settings.directory)
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["log", "--help"], ["path"]])
def test_help_and_path_import_neither_duckdb_nor_opentelemetry(settings: Settings, words: list[str]) -> None:
    assert imported_by(*words, settings=settings) & {"duckdb", "opentelemetry", "orjson"} == set()


@pytest.mark.parametrize(
    "words", [["log"], ["files"], ["diff"], ["state"], ["context"], ["sessions"], ["show"], ["sql", "select 1"]]
)
def test_questions_do_not_import_opentelemetry(recorded: Settings, words: list[str]) -> None:
    assert imported_by(*words, settings=recorded) & {"duckdb", "opentelemetry"} == {"duckdb"}


def test_help_has_a_line_for_every_command(turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = turnlog("--help")
    assert code == 0
    assert re.findall(r"^    (\w+) +\S", out, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("command", ["", *_MODULES])
def test_help_fits_a_terminal_of_80_columns_and_has_examples(
    turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = turnlog(*command.split(), "--help").out.splitlines()
    assert [line for line in lines if len(line) > 79] == []
    assert "examples:" in lines and lines[lines.index("examples:") + 1].startswith("  ")


def test_version(turnlog: Turnlog) -> None:
    assert turnlog("--version") == (0, f"turnlog {__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fly"],
        ["log", "-n", "0"],
        ["log", "-n", "x"],
        ["log", "--turn", "-1"],
        ["files", "--last", "0"],
        ["diff", "a"],
        ["diff", "1", "2", "3"],
        ["sql", "--timeout", "0", "select 1"],
        ["sql", "--json", "--csv", "select 1"],
        ["log", "--sess", "x"],
    ],
)
def test_wrong_usage_is_exit_2(turnlog: Turnlog, words: list[str]) -> None:
    code, out, err = turnlog(*words)
    assert (code, out) == (2, "")
    assert err.startswith("usage: turnlog")


@pytest.mark.parametrize("command", ["log", "show", "diff", "files", "state", "context"])
def test_without_a_session_there_is_a_hint_and_exit_1(turnlog: Turnlog, command: str) -> None:
    assert turnlog(command) == (
        1,
        "",
        "turnlog: no session has been recorded yet. Try: turnlog demo, or: turnlog run python your_agent.py, "
        "turnlog import FILE, turnlog serve\n",
    )


def test_a_directory_that_is_a_file_is_one_line(unmade: Settings, turnlog: Turnlog) -> None:
    unmade.directory.write_text("")
    for command in ("log", "doctor"):
        _, out, err = turnlog(command)
        assert err.count("\n") <= 1
        assert "Traceback" not in out + err


def test_a_reader_that_stops_is_no_error(recorded: Settings) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", "sql", "-n", "0", "from range(300000)"],
        env=environment(recorded.directory),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == b"range\n"
    process.stdout.close()
    assert (process.stderr.read(), process.wait(20)) == (b"", 141)
    process.stderr.close()


def test_the_module_runs_like_the_command(recorded: Settings) -> None:
    done = run(sys.executable, "-m", "turnlog", "path", directory=recorded.directory)
    assert done.stdout == f"{recorded.directory}\n"


def test_a_stream_that_cannot_show_a_letter_gets_a_stand_in(settings: Settings, recording: Recording) -> None:
    with recording.agent("naïve — 漢字", conversation="demo"):
        recording.tool("greet")
    done = run(sys.executable, "-m", "turnlog", "log", directory=settings.directory, PYTHONIOENCODING="ascii")
    assert done.stdout.splitlines()[1].endswith("na?ve ? ??")


def test_a_pipe_gets_whole_lines_without_colour(settings: Settings, recording: Recording) -> None:
    with recording.agent("go", conversation="demo"):
        recording.tool("say", {"text": "word " * 40}, "x" * 200)
    env = {name: value for name, value in environment(settings.directory, COLUMNS="40").items() if name != "NO_COLOR"}
    out = subprocess.run(
        [sys.executable, "-m", "turnlog", "log"], env=env, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert "\x1b" not in out
    assert out.splitlines()[2].endswith(f'{"word " * 40}"}} -> {"x" * 200}')


def test_a_terminal_gets_colour_and_no_line_is_wider_than_it(recorded: Settings, recording: Recording) -> None:
    with recording.agent("漢字" * 60, conversation="demo"):
        recording.tool("say", {"text": "漢" * 200}, "x" * 200)
    for words in (["log"], ["state"], ["sql", "from commits"]):
        with Terminal(*words, settings=recorded, columns=50) as terminal:
            shown = terminal.all()
        assert "\x1b[" in shown, words
        lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
        assert max(columns(line) for line in lines) <= 50, words
    assert plain(lines[0])[0].startswith("commit_id")


def test_no_color_is_honoured(recorded: Settings) -> None:
    for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        with Terminal("log", settings=recorded, **more) as terminal:
            assert "\x1b" not in terminal.all()


def test_what_was_recorded_cannot_drive_the_terminal(settings: Settings, recording: Recording, turnlog: Turnlog) -> None:
    with recording.agent(HOSTILE, conversation=f"demo{HOSTILE}", name=HOSTILE):
        recording.tool("write_file", {"path": HOSTILE, "content": HOSTILE}, HOSTILE)
        recording.tool(HOSTILE, {"path": HOSTILE}, error=ValueError(HOSTILE))
    recording.journal.close()
    questions = (["log"], ["sessions"], ["state"], ["diff"], ["files"], ["show"], ["sql", "from commits"])
    for words in (*questions, *([*words, "--json"] for words in questions), ["log", "-s", "own"], ["show", HOSTILE]):
        _, out, err = turnlog(*words)
        assert re.findall(CONTROL, out + err) == [], words
        assert "owned" in out + err, words
    with Terminal("sql", "--csv", "from commits", settings=settings, columns=2000) as terminal:
        assert re.findall(CONTROL, terminal.all()) == []


def test_json_keeps_what_a_terminal_must_not_see(settings: Settings, recording: Recording, turnlog: Turnlog) -> None:
    path = "\x1b[2J\x9b31m\u202egnp\x7f"
    with recording.agent("go", conversation="demo"):
        recording.tool("write_file", {"path": path, "content": ""})
    assert json.loads(turnlog("files", "--json").out)["path"] == path


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("\x9b\x85\u2028\u202e", "����"),
        ("\x7f", "␡"),
        ("naïve 漢字", "naïve 漢字"),
    ],
)
def test_inert(text: str, shown: str) -> None:
    assert inert(text) == shown


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("漢字", 4, "漢字"),
        ("漢字漢", 4, "漢…"),
        ("e\u0301e\u0301e", 2, "e\u0301…"),
        ("ab", 1, "…"),
    ],
)
def test_cut(text: str, room: int, shown: str) -> None:
    assert cut(text, room) == shown
    assert columns(shown) <= room


def test_a_cut_line_says_that_it_was_cut(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w+") as file:
        Screen(file, width=6).line("abc", "def", "ghi")
        Screen(file, width=6).line("abc", "def")
        Screen(file, width=6).line("abcdefg")
        file.seek(0)
        assert file.read() == "abcde…\nabcdef\nabcde…\n"


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (23_000_000, "23 MB"), (2 * 10**9, "2.0 GB")]
)
def test_size(number: int, shown: str) -> None:
    assert size(number) == shown


def test_the_output_is_that_of_the_one_store(recorded: Settings, turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_SESSION", "another")
    assert turnlog("log").out.startswith("session demo\n")
    assert os.environ["TURNLOG_SESSION"] == "another"


@pytest.mark.parametrize("words", [["log"], ["gc", "--older-than", "30d", "--yes"]])
def test_ctrl_c_is_one_quiet_exit_also_in_the_middle_of_a_question(recorded: Settings, words: list[str]) -> None:
    # The side lock keeps the command waiting in its question for as long as it takes to interrupt it.
    with Store(recorded).writing(patience=1), Terminal(*words, settings=recorded, TURNLOG_PATIENCE="60") as terminal:
        deadline = time.monotonic() + 30
        while "store.lock" not in opened_by(terminal.process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        terminal.type("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.all()


def opened_by(pid: int) -> set[str]:
    with contextlib.suppress(OSError):
        return {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir()}
    return set()


def test_the_interrupt_that_duckdb_raises_is_ctrl_c() -> None:
    assert is_interrupt(RuntimeError("Query interrupted"))
    assert not is_interrupt(RuntimeError("something else"))


@pytest.mark.parametrize(
    "words",
    [
        ["log", "--graph", "-s", "demi"],
        ["state", "-s", "demi"],
        ["resume", "demi"],
        ["pin", "demi"],
        ["diff", "demi", "demo"],
        ["export", "demi", "-o", "unused"],
        ["bundle", "demi", "-o", "unused"],
        ["run", "--resume", "demi", "true"],
        ["run", "--replay", "demi", "true"],
    ],
    ids=" ".join,
)
def test_wherever_a_session_is_named_the_nearest_are_told(recorded: Settings, turnlog: Turnlog, words: list[str]) -> None:
    assert turnlog(*words) == (1, "", "turnlog: there is no session 'demi'. Nearest: demo, demo-old.\n")


@pytest.mark.parametrize("command", ["show", "why"])
def test_the_nearest_commits_are_told_where_some_begin_alike(recorded: Settings, turnlog: Turnlog, command: str) -> None:
    known = json.loads(turnlog("log", "-n", "1", "--json").out)["commit_id"][:7]
    wrong = known[:6] + ("0" if known[6] != "0" else "1")
    code, out, err = turnlog(command, wrong)
    assert (code, out) == (1, "")
    assert err.startswith(f"turnlog: there is no commit '{wrong}'. Nearest: {known} (decision)")


def test_what_the_receiver_removes_meanwhile_is_nobodys_orphan(recorded: Settings, turnlog: Turnlog) -> None:
    recorded.inbox.mkdir(parents=True)
    # Listed, and gone when it is looked at.
    (recorded.inbox / "gone.journal").symlink_to("nowhere")
    assert turnlog("sql", "select 1 as one").out == "one\n1\n"
