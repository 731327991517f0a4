"""The typed state, open work, and what differs between two turns."""

from __future__ import annotations

import time
from datetime import datetime
from typing import NamedTuple

from turnlog.errors import NotFound
from turnlog.queries.asking import Database, rows
from turnlog.queries.commit import Decided, Failed
from turnlog.queries.session import last_turn


class Entry(NamedTuple):
    kind: str
    key: str
    value: str
    tier: str
    action: str
    evidence: str
    turn: int
    commit_id: str
    tool: str


class Pending(NamedTuple):
    session_id: str
    turn: int
    status: str
    action_id: str
    action: str
    commit_id: str
    since_at: datetime
    ran_ms: float
    input_summary: str


class Difference(NamedTuple):
    kind: str
    key: str
    change: str
    before_value: str
    after_value: str
    action: str
    turn: int
    commit_id: str
    tool: str


class TurnDiff(NamedTuple):
    """What differs between two turns, and what was decided and what failed on the way."""

    session_id: str
    turn_a: int
    turn_b: int
    differences: list[Difference]
    decisions: list[Decided]
    failures: list[Failed]


def state(db: Database, session: str, turn: int = 0) -> list[Entry]:
    """The typed state now, or as it was after a turn."""
    return rows(db, Entry, "from state_at(?, ?) order by kind, changed_ns desc, key", [session, turn or last_turn(db, session)])


def pending(db: Database, session: str, now_ns: int | None = None) -> list[Pending]:
    """Open work, oldest first. What runs has run until now."""
    return rows(
        db,
        Pending,
        """
        from (
            select
                p.* replace (case when status = 'in_flight' then greatest($now - since_ns, 0) / 1e6 else ran_ms end as ran_ms),
                make_timestamp(since_ns // 1000) as since_at,
                coalesce(c.input_summary, '') as input_summary
            from pending_actions as p
            left join commits as c
                on c.session_id = p.session_id
                and c.commit_id = p.commit_id
                and p.status in ('in_flight', 'interrupted')
            where p.session_id = $session
        )
        order by turn, since_ns, action_id
        """,
        {"session": session, "now": time.time_ns() if now_ns is None else now_ns},
    )


def diff(db: Database, session: str, turn_a: int, turn_b: int) -> TurnDiff:
    """What changed from the state after turn a to the state after turn b."""
    newest = last_turn(db, session)
    for turn in (turn_a, turn_b):
        if not 0 <= turn <= newest:
            raise NotFound(f"session {session} has turns 1 to {newest}; there is no turn {turn}.")
    between = [session, min(turn_a, turn_b), max(turn_a, turn_b)]
    return TurnDiff(
        session,
        turn_a,
        turn_b,
        rows(db, Difference, "from turn_diff(?, ?, ?) order by kind, change, key", [session, turn_a, turn_b]),
        rows(db, Decided, "from decisions where session_id = ? and turn > ? and turn <= ? order by turn, decided_ns", between),
        rows(db, Failed, "from failures where session_id = ? and turn > ? and turn <= ? order by turn, failed_ns", between),
    )
