"""What commits are built on."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.errors import NotFound
from turnlog.queries.asking import Database, rows, some
from turnlog.queries.commit import Commit, find_commit


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


def unverified(db: Database, session: str) -> list[Source]:
    """What the session took in from outside and nobody has vouched for."""
    return rows(db, Source, "from sources where session_id = ? and verified = 'false' order by at_ns, commit_id", [session])


def find_sources(db: Database, name: str, session: str) -> list[Source]:
    """What a beginning of a commit's id names, in any session, or one of a content hash or an address, in this session."""
    named = db.execute(
        "select session_id, commit_id from commits where starts_with(commit_id, ?) and kind in ('tool', 'decision')", [name]
    ).fetchall()
    if len(named) > 1:
        raise NotFound(f"{name!r} names several commits: {some([commit for _, commit in named])}. Give more of the id.")
    own = "from sources where session_id = ? and commit_id = ? and source_kind not in ('operator', 'user_supplied')"
    found = rows(db, Source, own, named[0]) if named else []
    found = found or rows(
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
    return rows(db, Built, "from taint_of(?, ?) order by at_ns, commit_id", [source.session_id, source.commit_id])


def why(db: Database, commit: Commit) -> Why:
    """What was in the context when a commit was decided, who decided it, and which unverified inputs it is built on."""
    place = [commit.session_id, commit.commit_id]
    seen = rows(db, InContext, "from why(?, ?) order by position", place)
    tainted = "from taint_of($session, '') where commit_id = $commit order by source_turn, source_commit"
    return Why(
        commit,
        find_commit(db, seen[0].decision_commit, commit.session_id) if seen else None,
        seen,
        rows(db, Built, tainted, {"session": commit.session_id, "commit": commit.commit_id}),
    )
