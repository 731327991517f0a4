"""Who writes a session, and who claimed to be the only one."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from turnlog.queries.asking import Database, rows


class Writer(NamedTuple):
    process_id: str
    host: str
    pid: int
    since_ns: int
    last_ns: int


class Claim(NamedTuple):
    session_id: str
    epoch: int
    since: datetime
    holder: str
    host: str
    pid: int
    taken_from: str


def writers(db: Database, session: str) -> list[Writer]:
    """The processes that worked in a session, dead or alive, the last first; of one that is closed nobody any more."""
    return rows(
        db,
        Writer,
        """
        from writers($session)
        where $session not in (select session_id from sessions where status in ('closed', 'archived'))
        order by last_ns desc
        """,
        {"session": session},
    )


def leases(db: Database, session: str) -> list[Claim]:
    """The claims of a session, newest first."""
    return rows(db, Claim, "from leases where session_id = ? order by epoch desc", [session])
