"""What the model could see, and what it no longer can."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from turnlog.queries.asking import Database, rows
from turnlog.queries.session import last_turn

_MOST_TELLING = ["fact", "decision", "pending", "file", "source", "tool", "result", "message"]


class Eviction(NamedTuple):
    session_id: str
    turn: int
    commit_id: str
    evicted_at: datetime
    kind: str
    key: str
    summary: str
    role: str
    tool: str
    source_commit: str
    introduced_in: int
    reason: str
    tier: str
    lineage: str


class OutOfContext(NamedTuple):
    kind: str
    key: str
    summary: str
    role: str
    tool: str
    source_commit: str
    introduced_in: int
    turn: int
    reason: str
    tier: str
    commit_id: str
    evicted_at: datetime


class Message(NamedTuple):
    position: int
    role: str
    key: str
    summary: str
    tool: str
    tool_call_id: str
    turn: int
    source_commit: str
    message_hash: str
    lineage: str
    commit_id: str


def evictions(db: Database, session: str, *, turn: int = 0, tool: str = "", limit: int = 20) -> list[Eviction]:
    """What left the model's context with the last commits that took something from it, newest first."""
    return rows(
        db,
        Eviction,
        """
        from (
            select *, dense_rank() over (order by left_ns desc, commit_id) as nth
            from evictions
            where session_id = $session
              and ($turn = 0 or turn = $turn)
              and ($tool = '' or tool = $tool)
        )
        where nth <= $limit
        order by nth, list_position($kinds, kind), introduced_in, sequence, key
        """,
        {"session": session, "turn": turn, "tool": tool, "limit": limit, "kinds": _MOST_TELLING},
    )


def out_of_context(db: Database, session: str, turn: int = 0) -> list[OutOfContext]:
    """What the model could see once and no longer can, now or after a turn: the most telling kinds first, the newest first."""
    return rows(
        db,
        OutOfContext,
        """
        from out_of_context($session, $turn)
        order by list_position($kinds, kind), introduced_in desc, left_ns desc, sequence desc, key
        """,
        {"session": session, "turn": turn or last_turn(db, session), "kinds": _MOST_TELLING},
    )


def last_model_turn(db: Database, session: str) -> int:
    """The last turn with a model call whose context is known; 0 when there is none."""
    turns = "select coalesce(max(turn), 0) from commits where session_id = ? and lineage <> ''"
    return int(db.execute(turns, [session]).fetchall()[0][0])


def context(db: Database, session: str, turn: int) -> list[Message]:
    """What the model could see in a turn's last call, in order."""
    return rows(db, Message, "from context_at(?, ?) order by position", [session, turn])
