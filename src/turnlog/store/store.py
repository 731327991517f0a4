"""Store: the one door to the DuckDB file. Nobody keeps it open.

Writers (the loader) and readers pass through the side lock. A reader sees the loaded rows and, on top of them, the tail
of the journals that no loader has taken yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import duckdb

from turnlog.errors import LongTail, NotAStore, SchemaTooOld, StoreLocked, StoreNotWritable
from turnlog.settings import Settings
from turnlog.store import schema
from turnlog.store.lock import side_lock
from turnlog.store.reading import Reading
from turnlog.store.staging import fence, stage_tail, unloaded_tail

# Readable for tools on DuckDB 1.x (Grafana's plugin, DBeaver); 2.0's default format is not. Every checkpoint begins a new row
# group; with the default of 122,880 rows, DuckDB then spends most of a bulk load merging them.
_STORAGE = "storage_version 'v1.2.0', row_group_size 20480"
_SHORT_TAIL = 4096
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}


class Store:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @contextmanager
    def writing(self, patience: float) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection whose current catalog is the store, migrated. For the loader."""
        with side_lock(self.settings.lock, exclusive=True, patience=patience):
            db = duckdb.connect(":memory:", config={**_CLOSED, "threads": 1})
            try:
                if not self.settings.database.exists():
                    self._create(db)
                self._attach(db, self.settings.database, _STORAGE)
                db.execute("use store")
                # A commit beyond this goes straight into the file; below, the rows are written to the WAL and then again.
                db.execute("set wal_autocheckpoint = '1MB'")
                schema.migrate(db)
                yield db
            except duckdb.OperationalError as error:
                reason = str(error).partition("\n")[0]
                raise StoreNotWritable(
                    f"{self.settings.database} could not be written ({reason}). Nothing is lost: "
                    "what is not loaded stays in the journals. Make room and try again."
                ) from error
            finally:
                db.close()

    @contextmanager
    def reading(self, patience: float | None = None, *, long_tail: bool = True) -> Iterator[Reading]:
        """A connection that answers the core's questions over loaded rows and the unloaded tail.

        With `long_tail` false, raises LongTail where loading first serves the reader better.
        """
        patience = self.settings.patience if patience is None else patience
        with side_lock(self.settings.lock, exclusive=False, patience=patience):
            # Where it expects few rows DuckDB makes an asof join a nested loop: 123 s instead of 2.5 for a large session.
            db = duckdb.connect(":memory:", config={**_CLOSED, "asof_loop_join_threshold": 0})
            try:
                exists = self.settings.database.exists()
                if exists:
                    self._attach(db, self.settings.database, "read_only")
                    db.execute("use store")
                    _refuse_unmigrated(db)
                else:
                    _make_catalog(db, "store")
                chunks = unloaded_tail(db, self.settings)
                tail = next(chunks)
                if not long_tail and (tail.rows > _SHORT_TAIL or tail.has_finished):
                    raise LongTail("the journals should be loaded before this is read")
                # The store's own views serve when they are this version's and nothing is unloaded.
                defined = exists and not tail.frames and schema.has_current_views(db)
                if not defined:
                    _make_catalog(db, "tail")
                    for chunk in chain([tail], chunks):
                        stage_tail(db, chunk)
                    db.execute("use memory")
                    db.execute(schema.sql("overlay.sql"))
                    if db.execute("select 1 from tail.raw.processes where gone").fetchall():
                        db.execute(schema.sql("overlay_revived.sql"))
                    fence(db)
                    schema.create_adapters(db)
                yield Reading(db, defined=defined)
            finally:
                db.close()

    def replace(self, db: duckdb.DuckDBPyConnection, fill: Callable[[], None]) -> None:
        """Put a new file, which `fill` fills as the catalog `fresh`, in the place of the one that `db` (from `writing`) holds.

        Until the rename the old file is whole, after it the new one: DuckDB gives room back to a file, never to the disk.
        """
        path, unborn = self.settings.database, self._clear_unborn()
        db.execute("checkpoint store")
        db.execute(f"attach '{_quoted(unborn)}' as fresh ({_STORAGE})")
        db.execute("use fresh")
        schema.migrate(db)
        fill()
        db.execute("use memory")
        db.execute("detach fresh")
        db.execute("detach store")
        # The old file's log beside the new file would be replayed into it.
        if any(Path(f"{file}.wal").exists() for file in (path, unborn)):
            raise StoreLocked(f"{path} is in use by a program that is not turnlog. Close it there and try again.")
        unborn.chmod(0o600)
        unborn.rename(path)

    def _clear_unborn(self) -> Path:
        unborn = self.settings.database.with_suffix(".new")
        for leftover in (unborn, Path(f"{unborn}.wal")):
            leftover.unlink(missing_ok=True)
        return unborn

    def _create(self, db: duckdb.DuckDBPyConnection) -> None:
        """Make the database under another name first: of a loader that is killed meanwhile, no half a file remains."""
        path, unborn = self.settings.database, self._clear_unborn()
        Path(f"{path}.wal").unlink(missing_ok=True)
        self._attach(db, unborn, _STORAGE)
        db.execute("use store")
        schema.migrate(db)
        db.execute("use memory")
        db.execute("detach store")
        unborn.chmod(0o600)
        unborn.rename(path)

    def _attach(self, db: duckdb.DuckDBPyConnection, path: Path, options: str) -> None:
        try:
            db.execute(f"attach '{_quoted(path)}' as store ({options})")
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            if "Could not set lock" in reason or "already attached" in reason:
                raise StoreLocked(
                    f"{path} is open in a program that is not turnlog (DuckDB allows one). Close it there and try again."
                ) from error
            raise NotAStore(
                f"{path} is not a DuckDB database that turnlog can open ({reason}). Move it away: mv '{path}' '{path}.bad'"
            ) from error


def _refuse_unmigrated(db: duckdb.DuckDBPyConnection) -> None:
    found = schema.version(db)
    if found < schema.newest_version():
        raise SchemaTooOld(
            f"this store has schema {found} and must be migrated first: any command that can write in its directory does it"
        )


def _make_catalog(db: duckdb.DuckDBPyConnection, name: str) -> None:
    db.execute(f"attach ':memory:' as {name}")
    db.execute(f"use {name}")
    schema.create_tables(db)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
