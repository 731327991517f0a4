"""What is noted of sessions, and turns in pages, for whoever looks through many of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from turnlog.queries.asking import Database, rows


class TurnBar(NamedTuple):
    turn: int
    input_summary: str
    output_summary: str
    started_at: datetime
    ended_at: datetime
    duration_ms: float
    model_ms: float
    tool_ms: float
    commits: int
    tool_calls: int
    failures: int
    in_flight: int
    evicted: int
    attempt: int
    attempts: int


class SessionFlags(NamedTuple):
    """How many commits took something from a context, and how many inputs nobody verified."""

    session_id: str
    evictions: int
    unverified: int


def session_flags(db: Database, ids: Sequence[str]) -> dict[str, SessionFlags]:
    """Those of the given sessions that have any."""
    found = rows(db, SessionFlags, "from session_flags where session_id in (select unnest(?::varchar[]))", [list(ids)])
    return {each.session_id: each for each in found}


def turn_bars(db: Database, session: str, *, last: int, limit: int = 60) -> list[TurnBar]:
    """So many turns up to one of them, in the order of time."""
    within = "from turn_bars where session_id = ? and turn > ? and turn <= ? order by turn"
    return rows(db, TurnBar, within, [session, last - limit, last])
