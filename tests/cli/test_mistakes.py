"""What is typed by mistake does nothing, and says what was meant: unset variables, other bytes, words that are nearly right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.history import Turnlog, plain
from programs import environment, run
from recording import Recording
from turnlog.settings import Settings

CLI = (sys.executable, "-m", "turnlog")
LIFECYCLE = ("pause", "unpause", "close", "archive", "pin", "unpin")


@pytest.mark.parametrize(
    "words",
    [
        *([command, ""] for command in (*LIFECYCLE, "resume", "bundle", "export", "show", "why", "taint", "blame", "diff")),
        *([command, "-s", ""] for command in ("log", "watch", "state", "files", "context", "mcp")),
        ["log", "--session="],
        ["log", "--tool", ""],
        *(["run", option, "", "true"] for option in ("--session", "--resume", "--replay", "--dir")),
    ],
    ids=" ".join,
)
def test_a_variable_that_is_not_set_stands_for_nothing(recorded: Settings, turnlog: Turnlog, words: list[str]) -> None:
    code, out, err = turnlog(*words)
    assert (code, out) == (2, "")
    assert err.endswith(": it is empty: is a variable of the shell not set?\n")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("words", [["log", "-s"], ["sql"], ["blame"], ["pause", "demo", "--reason"], ["taint"]], ids=" ".join)
def test_an_argument_of_other_bytes_is_refused(recorded: Settings, words: list[str], locale: str) -> None:
    done = subprocess.run(
        [*CLI, *words, b"\xff"], env=environment(recorded.directory, LC_ALL=locale), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(r"error: '\udcff' is not UTF-8" + "\n")


def test_a_program_and_a_file_may_be_named_with_any_bytes(recorded: Settings, tmp_path: Path) -> None:
    file = bytes(tmp_path) + b"/\xff.turnlog"
    for words in (["run", "true", b"\xff"], ["bundle", "demo", "-o", file], ["unbundle", file]):
        subprocess.run([*CLI, *words], env=environment(recorded.directory), capture_output=True, check=True)


def test_a_statement_of_other_bytes_is_one_line(recorded: Settings) -> None:
    for locale in ("C", "C.UTF-8"):
        done = subprocess.run(
            [*CLI, "sql"],
            env=environment(recorded.directory, LC_ALL=locale),
            input=b"select '\xff'",
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, b"turnlog: the statement is not UTF-8.\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("command", "code"), [("sessions", 0), ("log", 0), ("path", 0), ("pin demo", 0), ("log -s nobody", 1)])
def test_a_stream_that_is_closed_leads_nowhere(recorded: Settings, command: str, code: int, closed: str) -> None:
    line = f'"$0" -m turnlog {command} {closed}'
    done = run("sh", "-c", line, sys.executable, directory=recorded.directory, code=code)
    assert "Traceback" not in done.stderr
    shown = run(*CLI, "sessions", "--json", directory=recorded.directory)
    assert len(shown.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "usage", "says"),
    [
        (["lgo"], "turnlog", "turnlog: error: there is no command 'lgo'. Nearest: log"),
        (["sesions"], "turnlog", "turnlog: error: there is no command 'sesions'. Nearest: sessions"),
        (["xyzzy"], "turnlog", "turnlog: error: there is no command 'xyzzy'."),
        (["--verson"], "turnlog", "turnlog: error: there is no option '--verson'. Nearest: --version"),
        (["log", "--grph"], "turnlog log", "turnlog log: error: unrecognized arguments: --grph. Nearest: --graph"),
        (["log", "failed"], "turnlog log", "turnlog log: error: unrecognized arguments: failed. Nearest: --failed"),
        (["log", "forks"], "turnlog log", "turnlog log: error: unrecognized arguments: forks."),
        (["run", "--sesion=x", "true"], "turnlog run", "unrecognized arguments: --sesion=x. Nearest: --session"),
    ],
    ids=str,
)
def test_the_nearest_command_or_option_is_told_with_the_usage(
    turnlog: Turnlog, words: list[str], usage: str, says: str
) -> None:
    code, out, err = turnlog(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"usage: {usage} [")
    assert err.endswith(f"{says}\n")


def test_turnlog_alone_shows_what_there_is(turnlog: Turnlog) -> None:
    assert turnlog() == (2, "", turnlog("--help").out)


@pytest.mark.parametrize("words", [[], ["--graph"]], ids=str)
def test_the_nearest_tools_are_told(recorded: Settings, turnlog: Turnlog, words: list[str]) -> None:
    said = "no commit matches: the session has no tool 'wrte_file'. Nearest: write_file, read_file, run_tests"
    assert plain(turnlog("log", "--tool", "wrte_file", *words).out)[1] == said
    assert turnlog("log", "--tool", "write_file", "--failed", *words).out.splitlines()[1] == "no commit matches"


def test_the_nearest_ids_can_be_pasted(settings: Settings, recording: Recording, turnlog: Turnlog) -> None:
    for name in ("my run's $HOME", "plain-1"):
        with recording.agent("go", conversation=name):
            recording.tool("look", {}, "seen")
    recording.journal.close()
    said = turnlog("log", "-s", "my rnu").err
    assert said == "turnlog: there is no session 'my rnu'. Nearest: 'my run'\"'\"'s $HOME', plain-1.\n"
    pasted = said.partition("Nearest: ")[2].partition(", plain")[0]
    done = run("sh", "-c", f'"$0" -m turnlog log -s {pasted}', sys.executable, directory=settings.directory)
    assert done.stdout.startswith("session my run's $HOME\n")
