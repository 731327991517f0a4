"""Two turns or two sessions side by side, step by step, and where they part."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.errors import NotFound
from turnlog.queries.asking import Database, rows
from turnlog.queries.session import Session, session_of


class Step(NamedTuple):
    """A decision or a tool call beside its counterpart on the other side; without one, that side's fields are empty."""

    turn: int
    step: int
    commit_a: str
    commit_b: str
    kind_a: str
    kind_b: str
    tool_a: str
    tool_b: str
    input_hash_a: str
    input_hash_b: str
    output_hash_a: str
    output_hash_b: str
    choice_a: str
    choice_b: str
    outcome_a: str
    outcome_b: str
    error_a: str
    error_b: str
    model_a: str
    model_b: str
    parameters_a: str
    parameters_b: str
    same: bool
    same_context: bool
    same_request: bool


class Divergence(NamedTuple):
    step: int
    cause: str
    commit_a: str
    commit_b: str
    outcome_a: str
    outcome_b: str


class SessionDivergence(NamedTuple):
    turn: int
    step: int
    cause: str
    commit_a: str
    commit_b: str
    outcome_a: str
    outcome_b: str


class PairedEntry(NamedTuple):
    """An entry that came out differently on the two sides; a side that has none of it is empty, `op` included."""

    kind: str
    key: str
    change: str
    op_a: str
    op_b: str
    value_a: str
    value_b: str
    commit_a: str
    commit_b: str
    tool_a: str
    tool_b: str


class SessionDiff(NamedTuple):
    """Two runs of one task, turn by turn and step by step, to where they part and beyond, and what came of both."""

    sessions: list[Session]
    steps: list[Step]
    divergence: SessionDivergence | None
    entries: list[PairedEntry]


def paired_steps(db: Database, session_a: str, session_b: str, turn_a: int = 0, turn_b: int = 0) -> list[Step]:
    sides = [session_a, turn_a, session_b, turn_b]
    return rows(db, Step, "from paired_steps(?, ?, ?, ?) order by turn, step", sides)


def paired_entries(db: Database, session_a: str, session_b: str, turn_a: int = 0, turn_b: int = 0) -> list[PairedEntry]:
    sides = [session_a, turn_a, session_b, turn_b]
    return rows(db, PairedEntry, "from paired_entries(?, ?, ?, ?) order by kind, change, key", sides)


def session_diff(db: Database, session_a: str, session_b: str) -> SessionDiff:
    if session_a == session_b:
        raise NotFound(f"both name session {session_a}: give two sessions.")
    parted = rows(db, SessionDivergence, "from session_divergence(?, ?)", [session_a, session_b])
    return SessionDiff(
        [session_of(db, session_a), session_of(db, session_b)],
        paired_steps(db, session_a, session_b),
        parted[0] if parted else None,
        paired_entries(db, session_a, session_b),
    )
