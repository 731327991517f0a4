"""The same question gives the same answer on the command line and on the page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from programs import run
from web.serving import Served


def asked(served: Served, *words: str) -> list[Any]:
    printed = run(sys.executable, "-m", "turnlog", *words, "--json", directory=served.directory).stdout
    return [json.loads(line) for line in printed.splitlines()]


QUESTIONS: dict[str, tuple[tuple[str, ...], Callable[[Served], Any]]] = {
    "sessions": (("sessions",), lambda served: served.json("/sessions")["sessions"]),
    "log": (("log", "--session", "s", "-n", "200"), lambda served: served.json("/session", id="s")["commits"]),
    "diff": (("diff", "1", "2", "--session", "s"), lambda served: [served.json("/diff", session="s", a=1, b=2)]),
    "retry": (("diff", "3", "--retry", "--session", "s"), lambda served: [served.json("/diff", session="s", retry=3)]),
    "two sessions": (("diff", "s", "parser"), lambda served: [served.json("/compare", a="s", b="parser")]),
    "files": (("files", "--all", "--session", "parser"), lambda served: served.json("/files", session="parser")),
    "blame": (("blame", "parser.py"), lambda served: served.json("/blame", path="parser.py")),
    "state": (("state", "--session", "parser"), lambda served: served.json("/state", session="parser")["entries"]),
    "evicted": (
        ("state", "--evicted", "--session", "parser"),
        lambda served: served.json("/state", session="parser")["out_of_context"],
    ),
    "context": (("context", "--session", "parser"), lambda served: served.json("/context", session="parser")),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_command_line_and_the_page_agree(told: Served, question: str) -> None:
    words, twin = QUESTIONS[question]
    assert twin(told) == asked(told, *words) != []
