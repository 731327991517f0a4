"""Which sessions there are, their turns, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

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
    return _standing(db, "order by last_ns desc, session_id limit $limit", limit=limit)


def session_of(db: Database, session: str) -> Session:
    return _standing(db, "and session_id = $session", session=session)[0]


def sessions_like(
    db: Database,
    *,
    text: str = "",
    status: str = "",
    failed: bool = False,
    evicted: bool = False,
    unverified: bool = False,
    limit: int = 50,
    skip: int = 0,
) -> list[Session]:
    """The sessions whose id or agent holds a text, the newest first."""
    flagged = "session_id in (select f.session_id from session_flags as f where"
    asked = {
        "(contains(lower(session_id), lower($text)) or contains(lower(agent), lower($text)))": text,
        "session_id in (select x.session_id from sessions as x where x.status = $status)": status,
        "failure_count > 0": failed,
        f"{flagged} f.evictions > 0)": evicted,
        f"{flagged} f.unverified > 0)": unverified,
    }
    conditions = "".join(f"and {condition} " for condition, is_asked in asked.items() if is_asked)
    values = {name: value for name, value in (("text", text), ("status", status)) if value}
    chosen = f"{conditions}order by last_ns desc, session_id limit $limit offset $skip"
    return _standing(db, chosen, limit=limit, skip=skip, **values)


def _standing(db: Database, chosen: str, **values: Any) -> list[Session]:
    """How the chosen sessions stand, worked out of them alone. Their keys are not bound: by a bound value nothing is pruned."""
    told = "from session_rows where is_told"
    found = db.execute(f"select session_key {told} {chosen}", values).fetchall()
    keys = [int(key) for (key,) in found]
    standings = f"from session_standings({keys}) order by last_active_ns desc, session_id"
    return rows(db, Session, standings) if keys else []


def find_session(db: Database, prefix: str = "") -> str:
    """The session that a unique prefix of its id names; without one, the newest."""
    if not prefix:
        newest = db.execute(
            "select session_id from session_rows where is_told order by last_ns desc, session_id limit 1"
        ).fetchall()
        if not newest:
            raise NotFound(NOTHING_YET)
        return str(newest[0][0])
    found = db.execute(
        "select session_id, session_id = $prefix from session_rows where is_told and starts_with(session_id, $prefix) "
        "order by last_ns desc",
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
        from session_rows
        where is_told
        order by greatest(
            jaro_winkler_similarity(session_id, $prefix),
            jaro_winkler_similarity(left(session_id, length($prefix)), $prefix)
        ) desc, last_ns desc
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
