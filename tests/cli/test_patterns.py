"""`turnlog patterns`, and the loop that `turnlog state` warns of."""

from __future__ import annotations

import json

from cli.history import Turnlog, plain
from recording import Recording
from turnlog.queries import NOTHING_YET


def test_patterns_shows_each_kind(recording: Recording, turnlog: Turnlog) -> None:
    for conversation in ("one", "two"):
        with recording.agent("look", conversation=conversation):
            recording.tool("read", {"path": "a"}, "text")
            recording.tool("test", {}, error=ValueError("no such file"))
    *lines, costs = plain(turnlog("patterns").out)
    assert lines == [
        "over 2 sessions",
        "tools that fail, and with which input",
        "  TOOL  FAILED  LAST  INPUT",
        "  test  2 of 2  ID error ValueError  {}",
        "tools that follow each other",
        "  TIMES  FAILED  TOOLS",
        "  2  2  read > test",
        "what turns cost, by how they ended",
        "  OUTCOME  TURNS  TOKENS A TURN  TIME A TURN",
    ]
    assert costs.startswith("  error  2  0  ")


def test_a_loop_shows_in_state_while_it_goes_on(recording: Recording, turnlog: Turnlog) -> None:
    with recording.agent("look", conversation="stuck"):
        for _ in range(3):
            recording.tool("grep", {"for": "x"}, "nothing found")
        lines = plain(turnlog("state").out)
    assert lines[lines.index("going in circles") + 1] == '  ID  3 times  grep  goes on  turn 1  {"for":"x"} -> ok nothing found'
    assert json.loads(turnlog("patterns", "--json").out)["loops"][0]["times"] == 3


def test_an_empty_store_says_what_to_do(turnlog: Turnlog) -> None:
    assert turnlog("patterns") == (0, f"{NOTHING_YET}\n", "")
