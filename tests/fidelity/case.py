"""What a case of the fidelity suite is: a program, what its model says, and the truth about its run.

The truth is written by hand from what the program does. Nothing here knows how turnlog finds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from turnlog.demo.scripted_model import Script

KINDS = ("session", "turn", "context", "tool", "eviction", "file", "retry", "taint", "unfinished")
Facts = dict[str, Counter[tuple[object, ...]]]


class Tool(NamedTuple):
    """`asked_by` is what the model said when it asked for the call; an outcome that was read off a result is `… inferred`
    unless it is ok."""

    turn: int
    tool: str
    outcome: str
    asked_by: str


class File(NamedTuple):
    turn: int
    path: str
    action: str
    evidence: str
    tool: str


class Retry(NamedTuple):
    """A turn that repeats turn `of`, or a tool's further attempt in the same turn."""

    turn: int
    what: str
    of: int
    attempt: int


class Taint(NamedTuple):
    """From an unverified result (the tool) to a decision (what the model said), and on to the tool it asked for, if any.

    `how`: the result was in the decision's context, or what was there was derived from it.
    """

    turn: int
    source: str
    decision: str
    tool: str
    turns_later: int
    how: str = "context"


class Unfinished(NamedTuple):
    turn: int
    status: str
    action: str


@dataclass(frozen=True)
class Session:
    """One conversation. Entries are `user: …`, `assistant: …`, `system: …`, `decision: …` with what was said, `result: …` with
    the id of the tool call, `file: …` and `source: …`. `contexts` has, for some turns, all that their last model call saw."""

    turns: Sequence[str]
    name: str = ""
    contexts: Mapping[int, Sequence[str]] = field(default_factory=dict)
    tools: Sequence[Tool] = ()
    evicted: Mapping[int, Sequence[str]] = field(default_factory=dict)
    files: Sequence[File] = ()
    retries: Sequence[Retry] = ()
    taint: Sequence[Taint] = ()
    unfinished: Sequence[Unfinished] = ()


@dataclass(frozen=True)
class Case:
    """`runs` are the arguments of each run of the program, one after the other in the same folder."""

    program: str
    script: Script
    sessions: Sequence[Session]
    runs: Sequence[Sequence[str]] = ((),)
    environment: Mapping[str, str] = field(default_factory=dict)
    exit_code: int = 0

    def truth(self) -> Facts:
        facts: Facts = {kind: Counter() for kind in KINDS}
        for session in self.sessions:
            who = cut(session.turns[0])
            facts["session"][who, session.name, len(session.turns)] += 1
            facts["turn"].update((who, number, cut(text)) for number, text in enumerate(session.turns, 1))
            for turn, seen in session.contexts.items():
                facts["context"].update((who, turn, place, cut(entry)) for place, entry in enumerate(seen))
            facts["eviction"].update((who, turn, cut(entry)) for turn, left in session.evicted.items() for entry in left)
            rows = {
                "tool": session.tools,
                "file": session.files,
                "retry": session.retries,
                "taint": session.taint,
                "unfinished": session.unfinished,
            }
            for kind, these in rows.items():
                facts[kind].update((who, *row) for row in these)
        return facts

    def turns_seen(self) -> set[tuple[str, int]]:
        """The turns, each by its session's first input, whose contexts are written down."""
        return {(cut(session.turns[0]), turn) for session in self.sessions for turn in session.contexts}


def cut(text: str) -> str:
    """As much of a text as is compared: turnlog keeps summaries, on one line."""
    return " ".join(text.split())[:80]
