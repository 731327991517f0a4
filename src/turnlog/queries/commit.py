"""The commit log, and single commits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from turnlog.errors import NotFound
from turnlog.queries.asking import Database, rows, some


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
    fenced: str
    self_reported: str
    decision_id: str
    outcome_source: str
    attempt: int


class Written(NamedTuple):
    """A commit by its name: of however many there are, only the new ones are worth their text."""

    commit_id: str
    session_id: str
    outcome: str
    committed_at: datetime


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


def nearest_tools(db: Database, session: str, tool: str) -> list[str]:
    """The tools of a session that are called most like this, the nearest first."""
    found = db.execute(
        "select tool from commits where session_id = $session and tool <> '' "
        "group by tool order by jaro_winkler_similarity(tool, $tool) desc, tool limit 3",
        {"session": session, "tool": tool},
    ).fetchall()
    return [str(name) for (name,) in found]


def log(
    db: Database,
    session: str,
    *,
    limit: int = 20,
    turn: int = 0,
    to: int = 0,
    tool: str = "",
    failed: bool = False,
    kind: str = "",
    checkpoints: bool = False,
    before: str = "",
    since_ns: int = 0,
) -> list[Commit]:
    """The commit log, newest first. Checkpoints that a run saved by itself repeat what its commits did: on request only.

    `to` is the last turn of interest, `before` the commit below which to go on, `since_ns` when what is asked for ended at the
    earliest.
    """
    return rows(
        db,
        Commit,
        """
        from commits
        where session_id = $session
          and ($turn = 0 or turn = $turn)
          and ($to = 0 or turn <= $to)
          and ($tool = '' or tool = $tool)
          and ($kind = '' or kind = $kind)
          and ($checkpoints or (checkpoint_source not in ('input', 'step', 'fork') and memory_operation = ''))
          and (not $failed or outcome not in ('ok', 'in_flight'))
          and ended_ns >= $since
          and ($before = '' or (turn, ended_ns, sequence, commit_id) < (
              select (b.turn, b.ended_ns, b.sequence, b.commit_id)
              from commits as b
              where b.session_id = $session and b.commit_id = $before
          ))
        order by turn desc, ended_ns desc, sequence desc, commit_id desc
        limit $limit
        """,
        {
            "session": session,
            "turn": turn,
            "to": to,
            "tool": tool,
            "failed": failed,
            "limit": limit,
            "kind": kind,
            "checkpoints": checkpoints,
            "before": before,
            "since": since_ns,
        },
    )


def written_since(db: Database, since_ns: int, session: str = "", *, ran: Iterable[str] = ()) -> list[Written]:
    """What has ended since a time and what still runs, of one session or of all, in the order of time.

    `ran`: what is told whenever it ended. Of a call whose process was killed only a time is known at which it still ran.
    """
    return rows(
        db,
        Written,
        """
        from commits
        where ($session = '' or session_id = $session)
          and (ended_ns >= $since or outcome = 'in_flight' or list_contains($ran::varchar[], commit_id))
          and checkpoint_source not in ('input', 'step', 'fork')
          and memory_operation = ''
        order by ended_ns, sequence, commit_id
        """,
        {"session": session, "since": since_ns, "ran": list(ran)},
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


def self_reported(db: Database, session: str) -> set[str]:
    """The commits that the agent reported of itself."""
    found = db.execute("select commit_id from commits where session_id = ? and self_reported <> ''", [session]).fetchall()
    return {str(commit_id) for (commit_id,) in found}


def find_commit(db: Database, prefix: str, session: str = "") -> Commit:
    """The commit that a prefix of its id names, in any session or in one; of several, the newest is not guessed."""
    within = "from commits where session_id = $session and" if session else "from commits where"
    named = {"prefix": prefix} | ({"session": session} if session else {})
    found = rows(db, Commit, f"{within} starts_with(commit_id, $prefix) order by ended_ns desc limit 4", named)
    if not found:
        raise NotFound(f"there is no commit {prefix!r}. {_nearest(db, prefix)}Ids are in the first column of: turnlog log")
    if len(found) > 1:
        raise NotFound(
            f"{prefix!r} names several commits: {some([commit.commit_id for commit in found])}. Give more of the id."
        )
    return found[0]


def _nearest(db: Database, prefix: str) -> str:
    """The commits whose ids begin most like this, where some begin nearly so."""
    found = db.execute(
        """
        select left(commit_id, greatest(length($prefix), 7)), max(tool), max(kind)
        from commits
        where jaro_winkler_similarity(left(commit_id, length($prefix)), $prefix) > 0.8
        group by commit_id
        order by jaro_winkler_similarity(left(commit_id, length($prefix)), $prefix) desc, max(ended_ns) desc
        limit 3
        """,
        {"prefix": prefix},
    ).fetchall()
    return f"Nearest: {', '.join(f'{name} ({tool or kind})' for name, tool, kind in found)}. " if found else ""


def decision_of(db: Database, commit: Commit) -> Decided | None:
    found = rows(db, Decided, "from decisions where session_id = ? and commit_id = ?", [commit.session_id, commit.commit_id])
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


def commits(db: Database, session: str, ids: Sequence[str]) -> dict[str, Commit]:
    named = "from commits where session_id = ? and commit_id in (select unnest(?::varchar[]))"
    found = rows(db, Commit, named, [session, list(ids)])
    return {commit.commit_id: commit for commit in found}


def failures(db: Database, session: str, turn: int = 0) -> int:
    """How many commits did not end well."""
    found = "from failures where session_id = $session and ($turn = 0 or turn = $turn)"
    return int(db.execute(f"select count(*) {found}", {"session": session, "turn": turn}).fetchall()[0][0])


def unresolved_failures(db: Database, session: str) -> list[Failed]:
    """Calls that failed and have not succeeded since, newest first."""
    return rows(db, Failed, "from unresolved_failures where session_id = ? order by failed_ns desc", [session])


def nearest_commits(db: Database, prefix: str) -> list[str]:
    """The ids that begin most like this one, the newer first."""
    found = db.execute(
        """
        select commit_id
        from commits
        order by jaro_winkler_similarity(left(commit_id, length($prefix)), $prefix) desc, ended_ns desc
        limit 3
        """,
        {"prefix": prefix},
    ).fetchall()
    return [str(commit_id) for (commit_id,) in found]
