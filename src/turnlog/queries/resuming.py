"""What a fresh process needs to go on with a session, as one typed value; and the content that conversations go on from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from turnlog.errors import NotFound
from turnlog.queries.asking import Database, rows
from turnlog.queries.bundling import state_hash
from turnlog.queries.commit import Decided, Failed, blob, unresolved_failures
from turnlog.queries.entry import Entry, Pending, pending
from turnlog.queries.file import Touched, working_set
from turnlog.queries.message import OutOfContext, last_model_turn, out_of_context
from turnlog.queries.session import find_session, last_turn, session_of

_ALL_TURNS = 2**31
_MOST_STEPS = 10


class Stop(NamedTuple):
    """The last that was done, and how it ended: `in_flight` while it runs, `interrupted` when its process died meanwhile."""

    turn: int
    commit_id: str
    stopped_at: datetime
    kind: str
    tool: str
    outcome: str
    error_message: str
    choice: str
    input_summary: str
    output_summary: str


class SavedState(NamedTuple):
    """The last checkpoint that a framework saved beside turnlog; its own store has the content."""

    thread_id: str
    checkpoint_id: str
    turn: int


class SessionState(NamedTuple):
    """A session as somebody needs it who goes on with it. `goal`: its first input; `answer`: the last that it gave."""

    session_id: str
    previous_session: str
    status: str
    agent: str
    goal: str
    turn: int
    input: str
    answer: str
    answered_in: int
    stop: Stop | None
    facts: list[Entry]
    decisions: list[Decided]
    working_set: list[Touched]
    failures: list[Failed]
    pending: list[Pending]
    evicted: list[OutOfContext]
    checkpoint: SavedState | None
    state_hash: str


class Tip(NamedTuple):
    """The last model call of a conversation: its lineage and span, what it answered, if that was captured, and the tool and id
    of each call that it asked for."""

    lineage: str = ""
    span_id: str = ""
    answer: str = ""
    calls: Sequence[tuple[str, str]] = ()


class Told(NamedTuple):
    """A message of the conversation that a session goes on with. `text` is its captured content; None when nothing was kept.

    `part` 0 is what the last model call saw, 1 what it answered, 2 what came of each call that it asked for.
    """

    part: int
    position: int
    role: str
    content_hash: str
    tool_call_id: str
    tool: str
    outcome: str
    error_message: str
    text: str | None


def find_exact(db: Database, session: str) -> str:
    """A session by its whole id: a mere beginning could name somebody else's."""
    known = find_session(db, session)
    if session != known:
        raise NotFound(f"there is no session {session!r}. Give the whole id: {known}")
    return known


def session_state(db: Database, session: str) -> SessionState:
    known = session_of(db, session)
    goal, said, answer, answered_in = _spoken(db, session)
    return SessionState(
        session,
        previous_session(db, session),
        known.status,
        known.agent,
        goal,
        last_turn(db, session),
        said,
        answer,
        answered_in,
        next(iter(rows(db, Stop, "from last_step(?)", [session])), None),
        rows(db, Entry, "from state where session_id = ? and kind = 'fact' order by changed_ns desc, key", [session]),
        standing_decisions(db, session),
        working_set(db, session, _ALL_TURNS),
        unresolved_failures(db, session),
        pending(db, session),
        out_of_context(db, session),
        _checkpoint(db, session),
        state_hash(db, session),
    )


def previous_session(db: Database, session: str) -> str:
    """The session whose work this one goes on with; empty when there is none."""
    found = db.execute("select previous_id from continued_sessions where session_id = ?", [session]).fetchall()
    return str(found[0][0]) if found else ""


def tip(db: Database, session: str) -> Tip:
    """Where the session's conversation ended; all empty when none is known."""
    call = db.execute(
        """
        select c.lineage, c.span_id, coalesce(b.text, ''), c.commit_id
        from commits as c
        left join raw.blobs as b on b.hash = c.output_hash and c.output_hash <> ''
        where c.session_id = $session and c.commit_id in (select commit_id from context_at($session, $turn))
        """,
        {"session": session, "turn": last_model_turn(db, session)},
    ).fetchall()
    if not call:
        return Tip()
    asked = "select asked_tool, tool_call_id from asked_call_rows where session_id = ? and commit_id = ? order by call_position"
    lineage, span_id, answer, commit_id = call[0]
    return Tip(lineage, span_id, answer, db.execute(asked, [session, commit_id]).fetchall())


def conversation(db: Database, session: str) -> list[Told]:
    """The messages with which the session's conversation goes on, in order."""
    return rows(
        db,
        Told,
        """
        from (
            select c.*, b.text
            from conversation(?, ?) as c
            left join raw.blobs as b on b.hash = c.content_hash and c.content_hash <> ''
        )
        order by part, position
        """,
        [session, last_model_turn(db, session)],
    )


def session_items(db: Database, session: str, limit: int | None = None) -> list[str | None]:
    """The items that a framework keeps of the session, in order, or the last so many; None where the content is gone."""
    found = db.execute(
        """
        select text
        from (
            select i.position, b.text
            from session_items(?) as i
            left join raw.blobs as b on b.hash = i.item_hash
            order by i.position desc
            limit ?
        )
        order by position
        """,
        [session, _ALL_TURNS if limit is None else limit],
    )
    return [text for (text,) in found.fetchall()]


def _spoken(db: Database, session: str) -> tuple[str, str, str, int]:
    """What was asked first and last, whole where that was kept, and what was answered last, in which turn."""
    first = db.execute("select summary, message_hash from first_input(?)", [session]).fetchall()
    goal = (_words(blob(db, first[0][1])) or str(first[0][0])) if first else ""
    turn = "from turns where session_id = ?"
    last = f"select input_summary {turn} and input_summary <> '' order by turn desc limit 1"
    answered = f"select output_summary, turn {turn} and output_summary <> '' order by turn desc limit 1"
    ((said,),) = db.execute(last, [session]).fetchall() or [("",)]
    ((answer, answered_in),) = db.execute(answered, [session]).fetchall() or [("", 0)]
    return goal, said, answer, answered_in


def _words(message: str | None) -> str:
    """What a captured message says."""
    try:
        found: Any = orjson.loads(message) if message else {}
    except ValueError:
        return ""
    parts = found.get("parts") if isinstance(found, dict) else None
    said = [part.get("content") for part in parts or () if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in said if isinstance(text, str))


def standing_decisions(db: Database, session: str) -> list[Decided]:
    """What was decided by name, newest first, then the last of the model's own choices that it gave a reason for."""
    standing = "from standing_decisions(?) where is_step = 0 order by decided_ns desc"
    steps = "from standing_decisions(?) where is_step = 1 and reason <> '' order by decided_ns desc limit ?"
    return [*rows(db, Decided, standing, [session]), *rows(db, Decided, steps, [session, _MOST_STEPS])]


def _checkpoint(db: Database, session: str) -> SavedState | None:
    found = rows(
        db,
        SavedState,
        """
        from (
            select s.conversation_id as thread_id, k.checkpoint_id, k.turn, k.saved_ns
            from checkpoints as k
            join span_rows as s on s.session_id = k.session_id and s.commit_id = k.commit_id
            where k.session_id = ?
        )
        order by saved_ns desc
        limit 1
        """,
        [session],
    )
    return found[0] if found else None
