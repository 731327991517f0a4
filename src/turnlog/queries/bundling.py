"""What goes with a session to another store, and whether it came out there as it was."""

from __future__ import annotations

from turnlog.queries.asking import Database


def state_hash(db: Database, session: str) -> str:
    """One digest of the session's typed state; of a session without state too."""
    return str(db.execute("select digest from state_hash(?)", [session]).fetchall()[0][0])


def session_chain(db: Database, session: str) -> list[str]:
    """The session and those that it continues, as far back as they are here."""
    known = (
        "select session_id from session_chain(?) where session_id in (select session_id from session_rows) order by steps_back"
    )
    return list(dict.fromkeys(str(name) for (name,) in db.execute(known, [session]).fetchall()))
