"""One function per question. Surfaces call these and render; the answers themselves are SQL in `store/sql/core`.

Rows come back as NamedTuples whose fields are the columns of the view, so that `--json` has stable names.
"""

from __future__ import annotations

import contextlib
import posixpath
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import duckdb

from turnlog.errors import LongTail, NotFound, SchemaTooOld, StoreLocked, StoreNotWritable
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import LoadReport, load
from turnlog.store.reading import Reading

NOTHING_YET = (
    "no session has been recorded yet. Try: turnlog demo, or: turnlog run python your_agent.py, "
    "turnlog import FILE, turnlog serve"
)
_MOST_TELLING = ["fact", "decision", "pending", "file", "source", "tool", "result", "message"]
Row = TypeVar("Row", bound=tuple[Any, ...])
Database = Reading


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
    lifecycle_state: str
    pause_reason: str
    pinned: str
    decision_id: str
    outcome_source: str
    attempt: int


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


class ModifiedFile(NamedTuple):
    path: str
    last_action: str
    evidence: str
    renamed_from: str
    turn: int
    modifications: int
    tool: str
    commit_id: str
    changed_at: datetime


class FileChange(NamedTuple):
    path: str
    action: str
    evidence: str
    renamed_from: str
    renamed_to: str
    content_hash: str
    changed_at: datetime
    session_id: str
    turn: int
    commit_id: str
    tool: str
    input_summary: str
    outcome: str
    decision_commit_id: str
    choice: str
    reason: str
    model: str
    folder: str


class Touched(NamedTuple):
    kind: str
    key: str
    last_action: str
    evidence: str
    renamed_from: str
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


class RetryStep(NamedTuple):
    step: int
    commit_a: str
    commit_b: str
    kind_a: str
    kind_b: str
    tool_a: str
    tool_b: str
    input_hash_a: str
    input_hash_b: str
    output_hash_a: str
    output_hash_b: str
    choice_a: str
    choice_b: str
    outcome_a: str
    outcome_b: str
    error_a: str
    error_b: str
    model_a: str
    model_b: str
    parameters_a: str
    parameters_b: str
    same: bool
    same_context: bool
    same_request: bool


class Divergence(NamedTuple):
    step: int
    cause: str
    commit_a: str
    commit_b: str
    outcome_a: str
    outcome_b: str


class RetryDiff(NamedTuple):
    """Two attempts of one turn, the earlier one first, step by step to where they part and beyond."""

    session_id: str
    attempts: list[TurnAttempt]
    steps: list[RetryStep]
    divergence: Divergence | None


class Source(NamedTuple):
    session_id: str
    turn: int
    commit_id: str
    source_kind: str
    verified: str
    verification: str
    tool: str
    content_hash: str
    summary: str


class Built(NamedTuple):
    """A commit that is built on a source. `how`: the source was in the context, or something derived from it."""

    session_id: str
    source_commit: str
    source_tool: str
    source_turn: int
    commit_id: str
    turn: int
    turns_later: int
    kind: str
    tool: str
    decision_commit: str
    how: str
    path: str


class InContext(NamedTuple):
    decision_commit: str
    position: int
    role: str
    source_kind: str
    verified: str
    source_commit: str
    tool: str
    turn: int
    summary: str
    message_hash: str


class Why(NamedTuple):
    """A commit, the model call that decided on it (None when none is known), what that saw and on what it is built."""

    commit: Commit
    decision: Commit | None
    context: list[InContext]
    built_on: list[Built]


class Loss(NamedTuple):
    reason: str
    lost: int
    last_at: datetime


class Totals(NamedTuple):
    sessions: int
    spans: int
    commits: int
    failures: int


class Scope(NamedTuple):
    scope: str
    spans: int
    commits: int
    last_at: datetime


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


def session_of(db: Database, session: str) -> Session:
    return _rows(db, Session, "from sessions where session_id = ?", [session])[0]


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
    db: Database,
    session: str,
    *,
    limit: int = 20,
    turn: int = 0,
    tool: str = "",
    failed: bool = False,
    kind: str = "",
    checkpoints: bool = False,
) -> list[Commit]:
    """The commit log, newest first. Checkpoints that a run saved by itself repeat what its commits did: on request only."""
    return _rows(
        db,
        Commit,
        """
        from commits
        where session_id = $session
          and ($turn = 0 or turn = $turn)
          and ($tool = '' or tool = $tool)
          and ($kind = '' or kind = $kind)
          and ($checkpoints or checkpoint_source not in ('input', 'step', 'fork'))
          and (not $failed or outcome not in ('ok', 'in_flight'))
        order by turn desc, ended_ns desc, sequence desc
        limit $limit
        """,
        {
            "session": session,
            "turn": turn,
            "tool": tool,
            "failed": failed,
            "limit": limit,
            "kind": kind,
            "checkpoints": checkpoints,
        },
    )


def checkpoints(db: Database, session: str, turn: int = 0) -> int:
    """How many checkpoints the framework saved while it ran."""
    saved = "from checkpoints where session_id = $session and source <> 'update' and ($turn = 0 or turn = $turn)"
    return int(db.execute(f"select count(*) {saved}", {"session": session, "turn": turn}).fetchall()[0][0])


def forks(db: Database, session: str) -> dict[int | str, int]:
    """The turns, and the commits that edit a framework's state, that go on from an earlier checkpoint; and from which turn."""
    found = db.execute(
        """
        select case when source = 'update' then commit_id else '' end as edit, turn, min(parent_turn)
        from checkpoints
        where session_id = ? and is_fork = 1
        group by all
        """,
        [session],
    )
    return {edit or turn: parent for edit, turn, parent in found.fetchall()}


def refused(db: Database, session: str) -> set[str]:
    """The commits that say a lifecycle state which could not follow, and so did not take effect."""
    found = db.execute("select commit_id from lifecycle where session_id = ? and effect = 'refused'", [session]).fetchall()
    return {str(commit_id) for (commit_id,) in found}


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


def pending(db: Database, session: str, now_ns: int | None = None) -> list[Pending]:
    """Open work, oldest first. What runs has run until now."""
    return _rows(
        db,
        Pending,
        """
        from (
            select
                * replace (case when status = 'in_flight' then greatest($now - since_ns, 0) / 1e6 else ran_ms end as ran_ms),
                make_timestamp(since_ns // 1000) as since_at
            from pending_actions
            where session_id = $session
        )
        order by turn, since_ns, action_id
        """,
        {"session": session, "now": time.time_ns() if now_ns is None else now_ns},
    )


def lifecycle(db: Database, session: str) -> list[Transition]:
    """What was said of the session's lifecycle, newest first."""
    return _rows(db, Transition, "from lifecycle where session_id = ? order by changed_ns desc", [session])


def evictions(db: Database, session: str, *, turn: int = 0, tool: str = "", limit: int = 20) -> list[Eviction]:
    """What left the model's context with the last commits that took something from it, newest first."""
    return _rows(
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
    return _rows(
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
    return _rows(db, Message, "from context_at(?, ?) order by position", [session, turn])


def failures(db: Database, session: str, turn: int = 0) -> int:
    """How many commits did not end well."""
    found = "from failures where session_id = $session and ($turn = 0 or turn = $turn)"
    return int(db.execute(f"select count(*) {found}", {"session": session, "turn": turn}).fetchall()[0][0])


def unresolved_failures(db: Database, session: str) -> list[Failed]:
    """Calls that failed and have not succeeded since, newest first."""
    return _rows(db, Failed, "from unresolved_failures where session_id = ? order by failed_ns desc", [session])


def files_modified(db: Database, session: str, last_turns: int) -> list[ModifiedFile]:
    return _rows(db, ModifiedFile, "from files_modified(?, ?) order by turn desc, changed_at desc, path", [session, last_turns])


def working_set(db: Database, session: str, last_turns: int) -> list[Touched]:
    return _rows(db, Touched, "from working_set(?, ?) order by turn desc, changed_at desc, key", [session, last_turns])


def blame(db: Database, path: str, folder: str = "") -> list[FileChange]:
    """Who changed a file, in any session, newest first, also under its earlier names. `folder`: what `path` is relative to.

    A path in a folder where no agent worked names whatever agents called so elsewhere, unless it is absolute.
    """
    whole = posixpath.normpath(posixpath.join(folder, path))
    found = [
        (key, row)
        for key in _keys(db, path, whole)
        for row in _rows(db, FileChange, "from blame(?) order by changed_ns desc, sequence desc", [key])
    ]
    here = [row for key, row in found if not row.folder or posixpath.normpath(posixpath.join(row.folder, key)) == whole]
    rows = here or ([] if posixpath.isabs(path) else [row for _, row in found])
    if not rows:
        raise NotFound(f"no session has changed {path!r}; {found[0][0]!r} was changed in {found[0][1].folder}.")
    return sorted(rows, key=lambda row: row.changed_at, reverse=True)


def _keys(db: Database, path: str, whole: str) -> list[str]:
    """The entries that a path names: as agents in any folder would have written it, else as the end of a longer one."""
    folders = [str(each) for (each,) in db.execute("select distinct folder from process_rows where folder <> ''").fetchall()]
    below = [posixpath.relpath(whole, each) for each in folders if whole.startswith(each.rstrip("/") + "/")]
    names = [posixpath.normpath(path), whole, *below]
    changed = "from entries where kind = 'file' and action in ('create', 'write', 'delete', 'rename')"
    found = db.execute(f"select distinct key {changed} and list_contains($names, key)", {"names": names}).fetchall()
    if not found:
        ending = "/" + names[0].lstrip("/")
        found = db.execute(f"select distinct key {changed} and ends_with(key, $ending)", {"ending": ending}).fetchall()
    if len(found) == 1 or any(key in names for (key,) in found):
        return [str(key) for (key,) in found]
    if found:
        raise NotFound(f"{path!r} names several files: {_some(sorted(key for (key,) in found))}. Give more of the path.")
    near = db.execute(
        f"select key {changed} group by key order by jaro_winkler_similarity(key, $path) desc, key limit 3", {"path": names[0]}
    ).fetchall()
    hint = f"Nearest: {_some([key for (key,) in near])}." if near else "No change of a file has been recorded yet."
    raise NotFound(f"no session has changed {path!r}. {hint}")


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


def retries(db: Database, session: str) -> list[Retry]:
    return _rows(db, Retry, "from retries where session_id = ? order by turn, kind, attempt, commit_id", [session])


def retry_diff(db: Database, session: str, turn: int = 0, *, attempt: int = 0, second: int | None = None) -> RetryDiff:
    """An attempt of a turn against its original, against another attempt by its number, or against that of a second turn.

    Without a turn: the newest that is a retry. The original itself is compared with its newest attempt.
    """
    ran_again = _rows(
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
    sides = [session, pair[0].turn, pair[1].turn]
    parted = _rows(db, Divergence, "from first_divergence(?, ?, ?)", sides)
    return RetryDiff(
        session,
        pair,
        _rows(db, RetryStep, "from retry_steps(?, ?, ?) order by step", sides),
        parted[0] if parted else None,
    )


def _turns_with_retries(attempts: list[TurnAttempt]) -> str:
    again: dict[int, list[str]] = {}
    for row in attempts:
        again.setdefault(row.original_turn, []).append(str(row.turn))
    named = [f"{first} (again in {', '.join(later)})" for first, *later in again.values()]
    return f"Turns with retries: {_some(named)}." if named else ""


def unverified(db: Database, session: str) -> list[Source]:
    """What the session took in from outside and nobody has vouched for."""
    return _rows(db, Source, "from sources where session_id = ? and verified = 'false' order by at_ns, commit_id", [session])


def find_sources(db: Database, name: str, session: str) -> list[Source]:
    """What a beginning of a commit's id names, in any session, or one of a content hash or an address, in this session."""
    named = db.execute(
        "select session_id, commit_id from commits where starts_with(commit_id, ?) and kind in ('tool', 'decision')", [name]
    ).fetchall()
    if len(named) > 1:
        raise NotFound(f"{name!r} names several commits: {_some([commit for _, commit in named])}. Give more of the id.")
    own = "from sources where session_id = ? and commit_id = ? and source_kind not in ('operator', 'user_supplied')"
    found = _rows(db, Source, own, named[0]) if named else []
    found = found or _rows(
        db,
        Source,
        """
        from sources
        where session_id = $session
          and source_kind not in ('operator', 'user_supplied')
          and (starts_with(content_hash, $name) or commit_id in (
              select commit_id
              from entries
              where session_id = $session and kind = 'source' and action = 'fetch' and starts_with(key, $name)
          ))
        order by at_ns, commit_id
        """,
        {"session": session, "name": name},
    )
    if found:
        return found
    near = db.execute(
        "select commit_id, tool from commits where session_id = ? and kind = 'tool' "
        "order by jaro_winkler_similarity(commit_id, ?) desc, ended_ns desc limit 3",
        [session, name],
    ).fetchall()
    hint = f"Nearest: {', '.join(f'{commit} ({tool})' for commit, tool in near)}." if near else "It has called no tool yet."
    raise NotFound(f"session {session} has no result {name!r}, by commit, content hash or address. {hint}")


def built_on(db: Database, source: Source) -> list[Built]:
    """Everything that was decided or done with the source in mind, oldest first."""
    return _rows(db, Built, "from taint_of(?, ?) order by at_ns, commit_id", [source.session_id, source.commit_id])


def why(db: Database, commit: Commit) -> Why:
    """What was in the context when a commit was decided, who decided it, and which unverified inputs it is built on."""
    place = [commit.session_id, commit.commit_id]
    seen = _rows(db, InContext, "from why(?, ?) order by position", place)
    tainted = "from taint_of($session, '') where commit_id = $commit order by source_turn, source_commit"
    return Why(
        commit,
        find_commit(db, seen[0].decision_commit) if seen else None,
        seen,
        _rows(db, Built, tainted, {"session": commit.session_id, "commit": commit.commit_id}),
    )


def commits(db: Database, session: str, ids: Sequence[str]) -> dict[str, Commit]:
    rows = _rows(db, Commit, "from commits where session_id = ? and list_contains(?, commit_id)", [session, list(ids)])
    return {commit.commit_id: commit for commit in rows}


def files_by(db: Database, session: str, ids: Sequence[str]) -> list[Entry]:
    """What the given commits did to files, oldest first; what they only read is left out."""
    return _rows(
        db,
        Entry,
        """
        from entries
        where session_id = $session
          and kind = 'file'
          and op <> 'evict'
          and action not in ('read', 'list')
          and list_contains($ids, commit_id)
        order by changed_ns, sequence
        """,
        {"session": session, "ids": list(ids)},
    )


def totals(db: Database) -> Totals:
    return _rows(db, Totals, "from totals")[0]


def scopes(db: Database) -> list[Scope]:
    """The instrumentations whose spans are here."""
    return _rows(db, Scope, "from scopes order by scope")


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
