"""Whatever says that there is more says it as a command that can be pasted, about the same session and the same commits."""

from __future__ import annotations

import sys

import pytest

from cli.history import Turnlog
from cli.terminal import Terminal
from programs import run
from recording import Recording
from turnlog.settings import Settings

ODD = "it's my run: $HOME"
DASHED = "--failed"


@pytest.fixture
def busy(settings: Settings, recording: Recording) -> Settings:
    """Two sessions of much, and a newer one of little."""
    for name in (ODD, DASHED):
        with recording.agent("go", conversation=name):
            for number in range(25):
                recording.tool("say", {"n": number}, error=ValueError("no"))
                recording.tool("look", {"n": number}, "seen")
    with recording.agent("go", conversation="newest"):
        recording.tool("look", {}, "seen")
    recording.journal.close()
    return settings


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["log", "-s", "it's"], """turnlog log -n 40 --session 'it'"'"'s'"""),
        (["log", "--session=--f"], "turnlog log -n 40 --session=--f"),
        (["log", "-s", "it", "--tool", "say"], "turnlog log -n 40 --session it --tool say"),
        (["log", "-s", "it", "--turn", "1", "--failed"], "turnlog log -n 40 --session it --turn 1 --failed"),
        (["log", "-s", "it", "--graph"], "turnlog log -n 40 --session it --graph"),
        (["state", "--session=--f"], "turnlog log --failed --session=--f"),
    ],
    ids=str,
)
def test_what_there_is_more_of_is_what_was_asked_for(busy: Settings, turnlog: Turnlog, words: list[str], more: str) -> None:
    last = turnlog(*words).out.splitlines()[-1]
    assert last.partition(": ")[2] == more
    pasted = more.replace("turnlog", f"{sys.executable} -m turnlog", 1)
    shown = run("sh", "-c", pasted, directory=busy.directory).stdout.splitlines()
    assert shown[0] == f"session {DASHED if '--f' in words[-1] else ODD}" or words[-1] == "--failed"
    assert len(shown) > 20


def test_a_hint_is_whole_also_on_a_narrow_terminal(busy: Settings) -> None:
    with Terminal("log", "-s", ODD, "--tool", "say", settings=busy, columns=40, NO_COLOR="1") as terminal:
        assert terminal.all().endswith("""turnlog log -n 40 --session 'it'"'"'s my run: $HOME' --tool say\n""")


def test_the_list_of_sessions_says_when_there_are_more(settings: Settings, recording: Recording, turnlog: Turnlog) -> None:
    for number in range(21):
        with recording.agent("go", conversation=f"s-{number}"):
            recording.tool("look", {}, "seen")
    recording.journal.close()
    lines = turnlog("sessions").out.splitlines()
    assert (len(lines), lines[-1]) == (1 + 20 + 1, "there is more: turnlog sessions -n 40")
    with Terminal("sessions", settings=settings, NO_COLOR="1") as terminal:
        assert terminal.all().endswith("\nthere is more: turnlog sessions -n 40\n")
    assert len(turnlog("sessions", "-n", "40").out.splitlines()) == 1 + 21
    assert len(turnlog("sessions", "--json").out.splitlines()) == 20
