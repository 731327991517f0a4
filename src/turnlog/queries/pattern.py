"""What repeats over sessions: sequences, failing inputs, loops, costs, reversed decisions."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from turnlog.queries.asking import Database, rows


class ToolSequence(NamedTuple):
    length: int
    tools: str
    times: int
    sessions: int
    failures: int
    last_at: datetime


class ToolFailure(NamedTuple):
    tool: str
    input_hash: str
    input_summary: str
    calls: int
    failures: int
    sessions: int
    last_outcome: str
    last_error: str
    last_message: str
    last_commit: str
    last_at: datetime


class Loop(NamedTuple):
    session_id: str
    turn: int
    tool: str
    input_hash: str
    input_summary: str
    outcome: str
    result_summary: str
    times: int
    is_going_on: int
    first_at: datetime
    last_at: datetime
    commit_id: str


class OutcomeCost(NamedTuple):
    outcome: str
    turns: int
    sessions: int
    tokens_in: int
    tokens_out: int
    tokens_per_turn: float
    mean_ms: float
    retries: int


class DecisionReversal(NamedTuple):
    session_id: str
    about: str
    choice_before: str
    choice_after: str
    reason_before: str
    reason_after: str
    turn_before: int
    turn_after: int
    commit_before: str
    commit_after: str
    is_back: int
    decided_at: datetime


class Patterns(NamedTuple):
    """Over all sessions but replays, which repeat what is counted already; of each kind the most telling first."""

    sessions: int
    sequences: list[ToolSequence]
    failures: list[ToolFailure]
    loops: list[Loop]
    costs: list[OutcomeCost]
    reversals: list[DecisionReversal]


def patterns(db: Database, limit: int = 10) -> Patterns:
    most = [limit]
    counted = "select count(*) from sessions where session_id not in (select session_id from replays)"
    ((sessions,),) = db.execute(counted).fetchall()
    return Patterns(
        int(sessions),
        rows(db, ToolSequence, "from tool_sequences where times > 1 order by times desc, length desc, tools limit ?", most),
        rows(db, ToolFailure, "from tool_failures order by failures desc, last_at desc, tool, input_hash limit ?", most),
        rows(
            db,
            Loop,
            """
            from loops
            where session_id not in (select session_id from replays)
            order by is_going_on desc, times desc, last_ns desc, commit_id
            limit ?
            """,
            most,
        ),
        rows(db, OutcomeCost, "from outcome_costs order by turns desc, outcome"),
        rows(
            db,
            DecisionReversal,
            """
            from decision_reversals
            where session_id not in (select session_id from replays)
            order by decided_ns desc, commit_after
            limit ?
            """,
            most,
        ),
    )


def loops(db: Database, session: str) -> list[Loop]:
    """What the session does again and again right now, the most often first."""
    going_on = "from loops where session_id = ? and is_going_on = 1 order by times desc, last_ns desc, commit_id"
    return rows(db, Loop, going_on, [session])
