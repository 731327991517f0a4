"""The shape of a session: what each turn goes on from, and what was done inside of what."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.queries.asking import Database, rows


class GraphNode(NamedTuple):
    """A turn, or with `edit` (a commit) an edit of a framework's state, and the node that it goes on from; turn 0 is none."""

    session_id: str
    turn: int
    edit: str
    parent_turn: int
    parent_edit: str
    relation: str
    original_turn: int
    attempt: int


class NestedSession(NamedTuple):
    nested_session: str
    turn: int
    outer_commit: str
    agent: str


def turn_graph(db: Database, session: str) -> list[GraphNode]:
    """Every turn and edit, the newest first: each comes before what it goes on from."""
    return rows(db, GraphNode, "from turn_graph where session_id = ? order by at_ns desc, turn desc, edit desc", [session])


def nested_commits(db: Database, session: str) -> dict[str, str]:
    """The commits that were made inside of a tool call, each with that call."""
    return dict(db.execute("select commit_id, outer_commit from nested_commits(?)", [session]).fetchall())


def nested_sessions(db: Database, session: str) -> list[NestedSession]:
    return rows(db, NestedSession, "from nested_sessions(?) order by started_ns desc", [session])
