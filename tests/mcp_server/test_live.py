"""An agent that reads its own state during its run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from mcp_server.asking import plain
from mcp_server.test_answers import DATA
from programs import commits, run

pytestmark = pytest.mark.usefixtures("made_here")


def test_an_agent_sees_itself_run_in_circles_and_records_what_it_decides(tmp_path: Path) -> None:
    program = Path(__file__).with_name("agent.py")
    done = run(sys.executable, "-m", "turnlog", "run", sys.executable, program, directory=tmp_path)
    *state, recorded, answer = plain(re.sub(r"running for \d+ s", "running for N s", done.stdout))
    assert done.stderr == ""
    assert state == [
        f'session "sky-watch", active: turn 1, 7 commits, 0 failed, 1 in flight. {DATA}',
        "in a loop (1):",
        '- "look", given "{\\"at\\":\\"sky\\"}": 3 times in turn 1, each time ok: "grey" (last: ID)',
        "not finished (1):",
        '- in_flight ID (turn 1): "whats_my_state", running for N s',
        "your last choices (4):",
        '- "call whats_my_state", because "Am I going in circles?" (turn 1, ID)',
        *['- "call look", because "I look again." (turn 1, ID)'] * 3,
        "since: CURSOR",
    ]
    assert (recorded, answer) == ('recorded as ID in turn 1 of session "sky-watch"', "It is grey.")
    looked = [(1, "decision", "", "ok"), (1, "tool", "look", "ok")]
    assert commits(tmp_path, "sky-watch") == [
        *looked * 3,
        (1, "decision", "", "ok"),
        (1, "tool", "whats_my_state", "ok"),
        (1, "decision", "", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "record_decision", "ok"),
        (1, "decision", "", "ok"),
    ]
    printed = run(sys.executable, "-m", "turnlog", "log", "--session", "sky-watch", directory=tmp_path).stdout
    assert re.findall(r"decision +(.*)  \(self-reported\)", printed) == ["stop - it stays grey"]
