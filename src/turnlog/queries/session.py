"""Which sessions there are, their turns, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from turnlog.errors import NotFound
from turnlog.queries.asking import Database, rows, some

NOTHING_YET = (
    "no session has been recorded yet. Try: turnlog demo, or: turnlog run python your_agent.py, "
    "turnlog import FILE, turnlog serve"
)


class Session(NamedTuple):
    session_id: str
    status: str
    pinned: bool
    agent: str
    started_at: datetime
    last_active_at: datetime
    turns: int
    commits: int
    failures: int
    in_flight: int
    tokens_in: int
    tokens_out: int
    spans: int


class Turn(NamedTuple):
    session_id: str
    turn: int
    turn_id: str
    input_summary: str
    output_summary: str
    answer_commit: str
    started_at: datetime
    ended_at: datetime
    commits: int
    tool_calls: int
    failures: int
    in_flight: int


class Transition(NamedTuple):
    session_id: str
    turn: int
    changed_at: datetime
    state: str
    previous_state: str
    reason: str
    pinned: str
    effect: str
    commit_id: str


class Totals(NamedTuple):
    sessions: int
    spans: int
    commits: int
    failures: int


def sessions(db: Database, limit: int = 20) -> list[Session]:
    return rows(db, Session, "from sessions order by last_active_ns desc limit ?", [limit])


def session_of(db: Database, session: str) -> Session:
    return rows(db, Session, "from sessions where session_id = ?", [session])[0]


def find_session(db: Database, prefix: str = "") -> str:
    """The session that a unique prefix of its id names; without one, the newest."""
    if not prefix:
        newest = db.execute("select session_id from sessions order by last_active_ns desc limit 1").fetchall()
        if not newest:
            raise NotFound(NOTHING_YET)
        return str(newest[0][0])
    found = db.execute(
        "select session_id, session_id = $prefix from sessions where starts_with(session_id, $prefix) "
        "order by last_active_ns desc",
        {"prefix": prefix},
    ).fetchall()
    exact = [name for name, is_exact in found if is_exact]
    if exact or len(found) == 1:
        return str((exact or [found[0][0]])[0])
    if found:
        raise NotFound(f"{prefix!r} names {len(found)} sessions: {some([row[0] for row in found])}. Give more of the id.")
    near = db.execute(
        """
        select session_id
        from sessions
        order by greatest(
            jaro_winkler_similarity(session_id, $prefix),
            jaro_winkler_similarity(left(session_id, length($prefix)), $prefix)
        ) desc, last_active_ns desc
        limit 3
        """,
        {"prefix": prefix},
    ).fetchall()
    hint = f"Nearest: {some([row[0] for row in near])}." if near else "No session has been recorded yet."
    raise NotFound(f"there is no session {prefix!r}. {hint}")


def session_of_span(db: Database, trace_id: str, span_id: str) -> str:
    """The session that a span belongs to; where it is not here itself, that of what runs in its trace. Empty when none is."""
    found = db.execute(
        "select session_id from span_rows where trace_id = $trace and session_id <> '' "
        "order by span_id = $span desc, outcome = 'in_flight' desc, start_ns desc limit 1",
        {"trace": trace_id, "span": span_id},
    ).fetchall()
    return str(found[0][0]) if found else ""


def turns(db: Database, session: str, numbers: Sequence[int] = ()) -> list[Turn]:
    """The session's turns, newest first; all of them, or those of the given numbers."""
    return rows(
        db,
        Turn,
        "from turns where session_id = $session and (len($numbers) = 0 or list_contains($numbers, turn)) order by turn desc",
        {"session": session, "numbers": list(numbers)},
    )


def last_turn(db: Database, session: str) -> int:
    return int(db.execute("select coalesce(max(turn), 0) from turn_numbers where session_id = ?", [session]).fetchall()[0][0])


def lifecycle(db: Database, session: str) -> list[Transition]:
    """What was said of the session's lifecycle, newest first."""
    return rows(db, Transition, "from lifecycle where session_id = ? order by changed_ns desc", [session])


def totals(db: Database) -> Totals:
    return rows(db, Totals, "from totals")[0]
