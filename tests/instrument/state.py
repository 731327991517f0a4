"""What a store says of a session that a framework's test has played."""

from __future__ import annotations

from turnlog import queries
from turnlog.settings import Settings


def log(settings: Settings, session: str = "") -> list[tuple[int, str, str, str]]:
    """Turn, kind, tool and outcome of its commits, oldest first."""
    with queries.reading(settings) as db:
        found = queries.log(db, queries.find_session(db, session))
        return [(commit.turn, commit.kind, commit.tool, commit.outcome) for commit in reversed(found)]


def stands(settings: Settings, session: str = "") -> tuple[str, list[tuple[str, int, str]]]:
    """Its status, and its open work."""
    with queries.reading(settings) as db:
        session = queries.find_session(db, session)
        waiting = [(row.status, row.turn, row.action) for row in queries.pending(db, session)]
        return queries.session_of(db, session).status, waiting
