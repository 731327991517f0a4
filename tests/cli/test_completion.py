"""`turnlog completion`: what a real bash, zsh or fish offers when somebody presses Tab."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.history import Turnlog
from programs import environment, run
from recording import Recording
from turnlog.settings import Settings

Offered = Callable[[str], list[str]]
_PATIENCE = 30.0
SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed"))
    for name in ("bash", "zsh")
]


def pressing_tab(shell: str, line: str, script: Path, settings: Settings, completed: str) -> str:
    """What an interactive shell shows after a line and Tab, until the line is completed."""
    start = {"bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**environment(settings.directory), "PATH": path, "TERM": "dumb", "PS1": "> ", "HOME": str(script.parent)}
    with subprocess.Popen(start, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True) as process:
        os.close(theirs)
        ready = "autoload -Uz compinit; compinit -u; " if shell == "zsh" else ""
        seen = ""

        def until(text: str) -> None:
            nonlocal seen
            deadline = time.monotonic() + _PATIENCE
            while text not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\x07\\]", "", seen):
                assert time.monotonic() < deadline, seen
                if select.select([ours], [], [], 0.1)[0]:
                    seen += os.read(ours, 65536).decode(errors="replace")

        try:
            os.write(ours, f"{ready}source {script}; echo rea''dy\n".encode())
            until("ready\r\n")
            seen = ""
            os.write(ours, f"{line}\t".encode())
            until(completed)
        finally:
            process.kill()
            process.wait()
            os.close(ours)
    return seen


@pytest.fixture
def script(tmp_path: Path, turnlog: Turnlog) -> Callable[[str], Path]:
    def write(shell: str) -> Path:
        printed = turnlog("completion", shell)
        assert (printed.code, printed.err) == (0, "")
        path = tmp_path / f"turnlog.{shell}"
        path.write_text(printed.out)
        return path

    return write


def in_bash(line: str, script: Path, settings: Settings) -> list[str]:
    """What the script offers for a line."""
    code = f"""
        source {script}
        COMP_LINE=$1 COMP_POINT=${{#1}}
        _turnlog turnlog
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = run("bash", "--norc", "-c", code, "bash", line, directory=settings.directory, PATH=path)
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("turnlog l", ["log"]),
        ("turnlog pa", ["patterns", "pause", "path"]),
        ("turnlog --v", ["--version"]),
        ("turnlog log --e", ["--evicted"]),
        ("turnlog import --format j", ["jaeger"]),
        ("turnlog path ", ["directory", "database", "journal"]),
        ("turnlog log --session ", ["demo", "demo-old"]),
        ("turnlog log --session=demo-", ["demo-old"]),
        ("turnlog log -s demo-", ["demo-old"]),
        ("turnlog resume demo-", ["demo-old"]),
        ("turnlog diff demo demo-", ["demo-old"]),
        ("turnlog log -n ", []),
        ("turnlog fly ", []),
    ],
)
def test_bash_offers_what_fits(recorded: Settings, script: Callable[[str], Path], line: str, offered: list[str]) -> None:
    assert in_bash(line, script("bash"), recorded) == offered


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_quotes_ids_and_takes_those_with_colons(
    settings: Settings, recording: Recording, script: Callable[[str], Path]
) -> None:
    for name in ("user:42:chat", "$(touch owned)", "bell\x07"):
        with recording.agent("go", conversation=name):
            recording.tool("look", {}, "seen")
    made = script("bash")
    assert in_bash("turnlog log -s user:42:", made, settings) == ["chat"]
    assert in_bash("turnlog log --session=user:42:", made, settings) == ["chat"]
    assert in_bash("turnlog  log  -s  ", made, settings) == [r"\$\(touch\ owned\)", "user:42:chat"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("turnlog l", ["log"]),
        ("turnlog log --ev", ["--evicted"]),
        ("turnlog import --format j", ["jaeger"]),
        ("turnlog path ", ["database", "directory", "journal"]),
        ("turnlog log --session demo-", ["demo-old"]),
        ("turnlog resume ", ["demo", "demo-old"]),
        ("turnlog log -n ", []),
    ],
)
def test_fish_offers_what_fits(recorded: Settings, script: Callable[[str], Path], line: str, offered: list[str]) -> None:
    made = script("fish")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    home = {"HOME": str(made.parent), "PATH": path}
    done = run("fish", "--no-config", "-c", f"source {made}; complete -C '{line}'", directory=recorded.directory, **home)
    assert [each.partition("\t")[0] for each in done.stdout.splitlines()] == offered


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("line", "completed"), [("turnlog sess", "turnlog sessions"), ("turnlog log -s us", "user:42:chat")])
def test_tab_completes_commands_and_session_ids_in_a_real_shell(
    settings: Settings, recording: Recording, script: Callable[[str], Path], shell: str, line: str, completed: str
) -> None:
    with recording.agent("go", conversation="user:42:chat"):
        recording.tool("look", {}, "seen")
    shown = pressing_tab(shell, line, script(shell), settings, completed)
    assert "Traceback" not in shown and "command not found" not in shown


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("turnlog log -s ticket=", "turnlog log -s ticket=42:user@host "),
        ("turnlog log --session=tick", "turnlog log --session=ticket=42:user@host "),
        ("turnlog resume ticket=42:", "turnlog resume ticket=42:user@host "),
        (r"turnlog log -s my\ run\ o", r"turnlog log -s my\ run\ one "),
        ("turnlog log -s 'my run o", "turnlog log -s 'my run one' "),
    ],
)
def test_tab_completes_ids_of_any_letters_in_a_real_shell(
    settings: Settings, recording: Recording, script: Callable[[str], Path], shell: str, line: str, completed: str
) -> None:
    for name in ("ticket=42:user@host", "my run one"):
        with recording.agent("go", conversation=name):
            recording.tool("look", {}, "seen")
    pressing_tab(shell, line, script(shell), settings, completed.replace("\\", ""))


@pytest.mark.parametrize("shell", SHELLS[1:])
@pytest.mark.parametrize(
    ("line", "completed"),
    [("turnlog run whoa", "turnlog run whoami "), ("turnlog run --capture=full whoa", "turnlog run --capture=full whoami ")],
)
def test_tab_completes_programs_in_zsh(
    settings: Settings, script: Callable[[str], Path], shell: str, line: str, completed: str
) -> None:
    pressing_tab(shell, line, script(shell), settings, completed)


def test_a_store_that_cannot_be_read_offers_nothing_and_says_nothing(settings: Settings) -> None:
    settings.database.write_text("no database")
    done = run(sys.executable, "-m", "turnlog", "completion", "bash", "--ids", directory=settings.directory, code=1)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_long_option_is_in_the_script(turnlog: Turnlog, shell: str) -> None:
    out = turnlog("completion", shell).out
    for command, option in (("watch", "session"), ("log", "graph"), ("sql", "timeout"), ("gc", "older-than")):
        assert re.search(rf"\b{command}\b", out)
        assert re.search(rf"(--|-l ){option}\b", out)
    assert "--ids[" not in out and "-l ids" not in out
