"""What was run again, and how the attempts differ."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.errors import NotFound
from turnlog.queries.asking import Database, listed, rows
from turnlog.queries.step import Divergence, PairedEntry, Step, paired_entries, paired_steps


class Retry(NamedTuple):
    """A further attempt of a turn or of a tool call, beside the original."""

    session_id: str
    kind: str
    attempt: int
    original_turn: int
    original_commit_id: str
    turn: int
    commit_id: str
    tool: str
    original_outcome: str
    outcome: str
    original_tokens_in: int
    tokens_in: int
    original_tokens_out: int
    tokens_out: int
    original_duration_ms: float
    duration_ms: float


class TurnAttempt(NamedTuple):
    session_id: str
    turn: int
    attempt: int
    attempts: int
    original_turn: int
    outcome: str
    tokens_in: int
    tokens_out: int
    duration_ms: float


class RetryDiff(NamedTuple):
    """Two attempts of one turn, the earlier one first, step by step to where they part and beyond, and what came of both."""

    session_id: str
    attempts: list[TurnAttempt]
    steps: list[Step]
    divergence: Divergence | None
    entries: list[PairedEntry]


def retries(db: Database, session: str) -> list[Retry]:
    return rows(db, Retry, "from retries where session_id = ? order by turn, kind, attempt, commit_id", [session])


def retry_diff(db: Database, session: str, turn: int = 0, *, attempt: int = 0, second: int | None = None) -> RetryDiff:
    """An attempt of a turn against its original, against another attempt by its number, or against that of a second turn.

    Without a turn: the newest that is a retry. The original itself is compared with its newest attempt.
    """
    ran_again = rows(
        db, TurnAttempt, "from turn_attempts where session_id = ? and attempts > 1 order by original_turn, attempt", [session]
    )
    turn = turn or max((row.turn for row in ran_again if row.attempt > 1), default=0)
    chosen = next((row for row in ran_again if row.turn == turn), None)
    if chosen is None:
        named = f"turn {turn} of session {session} was run once only" if turn else f"session {session} ran every turn once only"
        raise NotFound(f"{named}. {_turns_with_retries(ran_again)}".rstrip())
    siblings = [row for row in ran_again if row.original_turn == chosen.original_turn and row != chosen]
    wanted = attempt or (1 if chosen.attempt > 1 else chosen.attempts)
    other = next((row for row in siblings if (row.attempt == wanted if second is None else row.turn == second)), None)
    if other is None:
        others = ", ".join(f"attempt {row.attempt} (turn {row.turn})" for row in siblings)
        raise NotFound(f"turn {turn} is attempt {chosen.attempt} of {chosen.attempts}. Compare it with {others}.")
    pair = sorted((chosen, other), key=lambda row: row.attempt)
    turns = [side.turn for side in pair]
    parted = rows(db, Divergence, "from first_divergence(?, ?, ?)", [session, *turns])
    return RetryDiff(
        session,
        pair,
        paired_steps(db, session, session, *turns),
        parted[0] if parted else None,
        paired_entries(db, session, session, *turns),
    )


def _turns_with_retries(attempts: list[TurnAttempt]) -> str:
    again: dict[int, list[str]] = {}
    for row in attempts:
        again.setdefault(row.original_turn, []).append(str(row.turn))
    named = [f"{first} (again in {', '.join(later)})" for first, *later in again.values()]
    return f"Turns with retries: {listed(named)}." if named else ""
