"""One function per question. Surfaces call these and render; the answers themselves are SQL in `store/sql/core`.

Rows come back as NamedTuples whose fields are the columns of the view, so that `--json` has stable names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import duckdb

from turnlog.errors import LongTail, NotFound, SchemaTooOld, StoreLocked, StoreNotWritable
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import LoadReport, load

Row = TypeVar("Row", bound=tuple[Any, ...])
Database = duckdb.DuckDBPyConnection


class Session(NamedTuple):
    session_id: str
    agent: str
    started_at: datetime
    last_active_at: datetime
    turns: int
    commits: int
    failures: int
    tokens_in: int
    tokens_out: int
    spans: int


class Turn(NamedTuple):
    session_id: str
    turn: int
    turn_id: str
    input_summary: str
    started_at: datetime
    ended_at: datetime
    commits: int
    tool_calls: int
    failures: int
    in_flight: int


class Commit(NamedTuple):
    commit_id: str
    committed_at: datetime
    session_id: str
    turn: int
    kind: str
    tool: str
    input_hash: str
    input_summary: str
    output_hash: str
    output_summary: str
    delta: str
    outcome: str
    error: str
    error_message: str
    choice: str
    reason: str
    duration_ms: float
    input_tokens: int
    output_tokens: int
    model: str
    agent: str
    tool_call_id: str
    trace_id: str
    span_id: str


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


class ModifiedFile(NamedTuple):
    path: str
    last_action: str
    evidence: str
    turn: int
    modifications: int
    tool: str
    commit_id: str
    changed_at: datetime


class Touched(NamedTuple):
    kind: str
    key: str
    last_action: str
    evidence: str
    turn: int
    touches: int
    tool: str
    commit_id: str
    changed_at: datetime


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


class Decided(NamedTuple):
    commit_id: str
    decided_at: datetime
    session_id: str
    turn: int
    about: str
    choice: str
    reason: str
    reason_source: str
    alternatives: str
    model: str


class Failed(NamedTuple):
    commit_id: str
    failed_at: datetime
    session_id: str
    turn: int
    kind: str
    tool: str
    outcome: str
    error: str
    error_message: str
    input_hash: str
    input_summary: str
    duration_ms: float


class Loss(NamedTuple):
    reason: str
    lost: int
    last_at: datetime


class Totals(NamedTuple):
    sessions: int
    spans: int
    commits: int
    failures: int


class TurnDiff(NamedTuple):
    """What differs between two turns, and what was decided and what failed on the way."""

    session_id: str
    turn_a: int
    turn_b: int
    differences: list[Difference]
    decisions: list[Decided]
    failures: list[Failed]


@contextmanager
def reading(settings: Settings, progress: Callable[[LoadReport], None] | None = None) -> Iterator[Database]:
    """A connection for questions. Much unloaded data, and what dead processes left, is loaded first; a little is overlaid.

    A store that cannot be written now (busy, or in a read-only directory) is read as it is.
    """
    store = Store(settings)
    with contextlib.ExitStack() as stack:
        try:
            db = stack.enter_context(store.reading(long_tail=False))
        except (LongTail, SchemaTooOld):
            with contextlib.suppress(StoreLocked, StoreNotWritable):
                load(settings, settings.patience, progress)
            db = stack.enter_context(store.reading())
        yield db


def sessions(db: Database, limit: int = 20) -> list[Session]:
    return _rows(db, Session, "from sessions order by last_active_ns desc limit ?", [limit])


def find_session(db: Database, prefix: str = "") -> str:
    """The session that a unique prefix of its id names; without one, the newest."""
    if not prefix:
        newest = db.execute("select session_id from sessions order by last_active_ns desc limit 1").fetchall()
        if not newest:
            raise NotFound("no session has been recorded yet. Try: turnlog demo, or: turnlog run python your_agent.py")
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
        raise NotFound(f"{prefix!r} names {len(found)} sessions: {_some([row[0] for row in found])}. Give more of the id.")
    near = db.execute(
        "select session_id from sessions order by jaro_winkler_similarity(session_id, ?) desc, last_active_ns desc limit 3",
        [prefix],
    ).fetchall()
    hint = f"Nearest: {_some([row[0] for row in near])}." if near else "No session has been recorded yet."
    raise NotFound(f"there is no session {prefix!r}. {hint}")


def turns(db: Database, session: str, numbers: Sequence[int] = ()) -> list[Turn]:
    """The session's turns, newest first; all of them, or those of the given numbers."""
    return _rows(
        db,
        Turn,
        "from turns where session_id = $session and (len($numbers) = 0 or list_contains($numbers, turn)) order by turn desc",
        {"session": session, "numbers": list(numbers)},
    )


def last_turn(db: Database, session: str) -> int:
    return int(db.execute("select coalesce(max(turn), 0) from turn_numbers where session_id = ?", [session]).fetchall()[0][0])


def log(
    db: Database, session: str, *, limit: int = 20, turn: int = 0, tool: str = "", failed: bool = False, kind: str = ""
) -> list[Commit]:
    """The commit log, newest first."""
    return _rows(
        db,
        Commit,
        """
        from commits
        where session_id = $session
          and ($turn = 0 or turn = $turn)
          and ($tool = '' or tool = $tool)
          and ($kind = '' or kind = $kind)
          and (not $failed or outcome not in ('ok', 'in_flight'))
        order by turn desc, ended_ns desc, sequence desc
        limit $limit
        """,
        {"session": session, "turn": turn, "tool": tool, "failed": failed, "limit": limit, "kind": kind},
    )


def find_commit(db: Database, prefix: str) -> Commit:
    """The commit that a prefix of its id names; of several, the newest is not guessed."""
    found = _rows(db, Commit, "from commits where starts_with(commit_id, ?) order by ended_ns desc limit 4", [prefix])
    if not found:
        raise NotFound(f"there is no commit {prefix!r}. Ids are in the first column of: turnlog log")
    if len(found) > 1:
        raise NotFound(
            f"{prefix!r} names several commits: {_some([commit.commit_id for commit in found])}. Give more of the id."
        )
    return found[0]


def decision_of(db: Database, commit: Commit) -> Decided | None:
    found = _rows(db, Decided, "from decisions where session_id = ? and commit_id = ?", [commit.session_id, commit.commit_id])
    return found[0] if found else None


def commit_attributes(db: Database, commit: Commit) -> str:
    """The span's remaining attributes as JSON text."""
    found = db.execute(
        "select attributes from span_rows where session_id = ? and commit_id = ?", [commit.session_id, commit.commit_id]
    ).fetchall()
    return str(found[0][0]) if found else "{}"


def blob(db: Database, digest: str) -> str | None:
    """Captured content by its hash; None when it was not captured."""
    found = db.execute("select text from raw.blobs where hash = ? limit 1", [digest]).fetchall()
    return str(found[0][0]) if found else None


def state(db: Database, session: str, turn: int = 0) -> list[Entry]:
    """The typed state now, or as it was after a turn."""
    return _rows(
        db, Entry, "from state_at(?, ?) order by kind, changed_ns desc, key", [session, turn or last_turn(db, session)]
    )


def pending(db: Database, session: str) -> list[Pending]:
    return _rows(db, Pending, "from pending_actions where session_id = ? order by turn, action_id", [session])


def files_modified(db: Database, session: str, last_turns: int) -> list[ModifiedFile]:
    return _rows(db, ModifiedFile, "from files_modified(?, ?) order by turn desc, changed_at desc, path", [session, last_turns])


def working_set(db: Database, session: str, last_turns: int) -> list[Touched]:
    return _rows(db, Touched, "from working_set(?, ?) order by turn desc, changed_at desc, key", [session, last_turns])


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
        _rows(db, Difference, "from turn_diff(?, ?, ?) order by kind, change, key", [session, turn_a, turn_b]),
        _rows(db, Decided, "from decisions where session_id = ? and turn > ? and turn <= ? order by turn, decided_ns", between),
        _rows(db, Failed, "from failures where session_id = ? and turn > ? and turn <= ? order by turn, failed_ns", between),
    )


def totals(db: Database) -> Totals:
    return _rows(db, Totals, "from totals")[0]


def loaded_to(db: Database) -> dict[str, int]:
    """How far each journal has been loaded, in bytes."""
    return dict(db.execute("select journal, read_to from store.raw.journals").fetchall())


def schema_version(db: Database) -> int:
    """The schema of the store's file; 0 while there is none."""
    try:
        return int(db.execute("select value from store.turnlog_meta where name = 'schema'").fetchall()[0][0])
    except duckdb.CatalogException:
        return 0


def losses(db: Database) -> list[Loss]:
    """What could not be kept, by reason."""
    return _rows(db, Loss, "from losses order by lost desc, reason")


def _rows(db: Database, kind: Callable[..., Row], query: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Row]:
    """The named columns of a `from …` query, as rows of that kind."""
    columns = ", ".join(f'"{name}"' for name in kind._fields)  # type: ignore[attr-defined]
    return [kind(*row) for row in db.execute(f"select {columns} {query}", values or None).fetchall()]


def _some(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
