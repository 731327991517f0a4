"""What survives when the traced process dies: everything that had returned, and the fact that something was running."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from programs import running_code
from turnlog import queries
from turnlog.settings import Settings

pytestmark = pytest.mark.usefixtures("made_here")

_TOOL_CALLS = """
import os, signal, turnlog

turnlog.init()

@turnlog.tool
def write_file(path, content):
    return f"wrote {len(content)} characters to {path}"

with turnlog.session("doomed"), turnlog.turn("please write the files"):
    for number in range(100):
        write_file(f"notes_{number}.md", "remember this")
"""

_ENDLESS_TOOL = """
import time, turnlog

turnlog.init()

@turnlog.tool
def run_tests(suite):
    print("running", flush=True)
    time.sleep(600)

with turnlog.session("doomed"), turnlog.turn("please run the tests"):
    run_tests("all")
"""


@pytest.mark.parametrize(
    ("ending", "exit_code"),
    [
        ("    os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("    os._exit(3)", 3),
        ("    os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("    raise RuntimeError", 1),
        ("", 0),
    ],
    ids=["kill -9", "os._exit", "SIGTERM", "uncaught exception", "normal exit"],
)
def test_every_tool_call_that_returned_is_a_commit(ending: str, exit_code: int, tmp_path: Path) -> None:
    with running_code(_TOOL_CALLS + ending, tmp_path) as program:
        program.communicate(timeout=60)
    assert program.returncode == exit_code
    assert _tool_commits(tmp_path) == [
        ("write_file", "ok", f'{{"path":"notes_{number}.md","content":"remember this"}}') for number in range(100)
    ]


def test_a_tool_in_flight_is_seen_from_outside_and_interrupted_once_its_process_died(tmp_path: Path) -> None:
    with running_code(_ENDLESS_TOOL, tmp_path) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "running\n"
        while_it_lives = _tool_commits(tmp_path)
        program.kill()
        program.communicate(timeout=60)
    assert while_it_lives == [("run_tests", "in_flight", '{"suite":"all"}')]
    assert _tool_commits(tmp_path) == [("run_tests", "interrupted", '{"suite":"all"}')]


def _tool_commits(directory: Path) -> list[tuple[str, str, str]]:
    """Tool, outcome and input of every tool commit, oldest first."""
    with queries.reading(Settings(directory=directory)) as db:
        commits = queries.log(db, "doomed", limit=1000, kind="tool")
    return [(commit.tool, commit.outcome, commit.input_summary) for commit in reversed(commits)]
