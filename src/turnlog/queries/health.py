"""How the store is: what was lost, how far it is loaded, whose spans are here."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import duckdb

from turnlog.queries.asking import Database, rows


class Loss(NamedTuple):
    reason: str
    lost: int
    last_at: datetime


class Scope(NamedTuple):
    scope: str
    spans: int
    commits: int
    last_at: datetime


def scopes(db: Database) -> list[Scope]:
    """The instrumentations whose spans are here."""
    return rows(db, Scope, "from scopes order by scope")


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
    return rows(db, Loss, "from losses order by lost desc, reason")
