"""Which spans go out. A span belongs to the time when it ended, as a commit does: of two exports of adjacent times each has
what the other has not, whatever was running in between.
"""

from __future__ import annotations

from typing import NamedTuple

from turnlog.queries import Database
from turnlog.store import schema

EVER = 2**63 - 1


class Selection(NamedTuple):
    """The spans that ended from `since_ns` on and before `until_ns`, of these sessions; None: of all."""

    sessions: list[str] | None = None
    since_ns: int = 0
    until_ns: int = EVER

    def values(self) -> dict[str, object]:
        return {"sessions": self.sessions, "since": self.since_ns, "until": self.until_ns}


class Extent(NamedTuple):
    """What a selection comes to. `unfinished` spans run, or ran when their process died."""

    sessions: list[str]
    spans: int
    unfinished: int
    blobs: int


def extent(db: Database, selection: Selection) -> Extent:
    define(db)
    found = db.execute(schema.sql("export/sessions.sql"), selection.values()).fetchall()
    of_blobs = f"select count(*) from ({schema.sql('export/blobs.sql')})"  # noqa: S608 - our own text
    (blobs,) = db.execute(of_blobs, selection.values()).fetchall()[0]
    sessions, spans, unfinished = zip(*found, strict=True) if found else ((), (), ())
    return Extent(list(sessions), sum(spans), sum(unfinished), int(blobs))


def define(db: Database) -> None:
    db.execute(schema.sql("export/chosen.sql"))
