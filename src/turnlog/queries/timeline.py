"""What is noted of sessions, and turns in pages, for whoever looks through many of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from turnlog.queries.asking import Database, rows


class TurnBar(NamedTuple):
    """A turn and where its time went. What runs in it has run until now."""

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
    interrupted: int
    in_flight: int
    evicted: int
    attempt: int
    attempts: int
    is_running: bool


class SessionFlags(NamedTuple):
    """How many commits took something from a context, and how many inputs nobody verified."""

    session_id: str
    evictions: int
    unverified: int


def session_flags(db: Database, ids: Sequence[str]) -> dict[str, SessionFlags]:
    """Those of the given sessions that have any."""
    found = rows(db, SessionFlags, "from session_flags where session_id in (select unnest(?::varchar[]))", [list(ids)])
    return {each.session_id: each for each in found}


def turn_bars(db: Database, session: str, *, last: int, limit: int = 60, now_ns: int | None = None) -> list[TurnBar]:
    """So many turns up to one of them, in the order of time."""
    return rows(
        db,
        TurnBar,
        """
        from (
            select * replace (
                case when is_running = 1 then greatest($now - started_ns, 0) / 1e6 else duration_ms end as duration_ms,
                model_ms + case when model_since_ns > 0 then greatest($now - model_since_ns, 0) / 1e6 else 0 end as model_ms,
                tool_ms + case when tool_since_ns > 0 then greatest($now - tool_since_ns, 0) / 1e6 else 0 end as tool_ms,
                is_running = 1 as is_running
            )
            from turn_bars
            where session_id = $session and turn > $after and turn <= $last
        )
        order by turn
        """,
        {"session": session, "after": last - limit, "last": last, "now": time.time_ns() if now_ns is None else now_ns},
    )
