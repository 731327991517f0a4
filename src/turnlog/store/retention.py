"""Retention: which sessions are old enough to go, what goes of them, and the rewrite that gives the room back to the disk.

Nothing is deleted in place. Archived sessions are written to Parquet files, what stays is copied into a new database, and one
rename puts it in the place of the old: a process that is killed at any moment leaves the old store or the new one.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import duckdb

from turnlog.errors import StoreLocked
from turnlog.journal.reader import list_journals
from turnlog.settings import Settings
from turnlog.store import schema
from turnlog.store.staging import stage, unloaded_tail
from turnlog.store.store import Store

_ARCHIVED = ("session", "turns", "spans", "entries", "contexts", "lifecycle", "blobs")
_FILTERED = ("spans", "deltas", "context_changes", "blobs", "processes")
_LONGEST_NAME = 150

Database = duckdb.DuckDBPyConnection
Progress = Callable[[str], None]


class Doomed(NamedTuple):
    """A session that goes: into the archive, for good, or all of it but its durable entries."""

    session_id: str
    status: str
    last_active_at: datetime
    spans: int
    bytes: int
    to_archive: bool
    keeps_durable: bool


class Plan(NamedTuple):
    """What retention would take, and what it leaves alone although it is old."""

    cutoff_ns: int
    keep_durable: bool
    sessions: list[Doomed]
    blobs: int
    blob_bytes: int
    pinned: int
    in_use: int

    @property
    def bytes(self) -> int:
        return self.blob_bytes + sum(session.bytes for session in self.sessions)


class Freed(NamedTuple):
    """What was done. Sizes are those of the store's file, and of what was added to the archive."""

    plan: Plan
    bytes_before: int
    bytes_after: int
    archive_bytes: int


def plan(settings: Settings, older_than: float, keep_durable: bool) -> Plan:
    """What would go now. Load before: what is not loaded yet keeps its session."""
    cutoff_ns = time.time_ns() - int(older_than * 1e9)
    with Store(settings).reading() as db:
        return _plan(db.whole(), settings, cutoff_ns, keep_durable, None)


def collect(settings: Settings, agreed: Plan, patience: float, progress: Progress = lambda _: None) -> Freed:
    """Take what was agreed on, as far as it still may go."""
    store = Store(settings)
    before = settings.database.stat().st_size
    with store.writing(patience) as db:
        names = [session.session_id for session in agreed.sessions]
        found = _plan(db, settings, agreed.cutoff_ns, agreed.keep_durable, names)
        folders = _export(db, settings, progress)

        def fill() -> None:
            _copy(db, progress)
            if _unloaded_sessions(db, settings) & {session.session_id for session in found.sessions}:
                raise StoreLocked("one of these sessions has just been written to. Nothing was deleted; try again.")
            for folder in folders:
                _put(folder)

        store.replace(db, fill)
    archived = sum(file.stat().st_size for folder in folders for file in _final(folder).iterdir())
    return Freed(found, before, settings.database.stat().st_size, archived)


def _plan(db: Database, settings: Settings, cutoff_ns: int, keep_durable: bool, agreed: list[str] | None) -> Plan:
    _run(
        db,
        "retention_plan.sql",
        cutoff=cutoff_ns,
        keep_durable=keep_durable,
        busy=sorted(_unloaded_sessions(db, settings)),
        agreed=agreed,
        referred_since=min(cutoff_ns, _oldest_writer(db, settings)),
    )
    sessions = db.execute(
        """
        select session_id, status, make_timestamp(last_ns // 1000), span_count, coalesce(bytes, 0), to_archive, keeps_durable
        from doomed left join doomed_content using (session_key)
        order by last_ns
        """
    ).fetchall()
    blobs, blob_bytes = db.execute("select count(*), coalesce(sum(bytes), 0)::bigint from doomed_blobs").fetchall()[0]
    spared = db.execute(
        "select count(*) filter (pinned), count(*) filter (in_use and not pinned) from old_sessions"
    ).fetchall()[0]
    return Plan(cutoff_ns, keep_durable, [Doomed(*row) for row in sessions], blobs, blob_bytes, *spared)


def _unloaded_sessions(db: Database, settings: Settings) -> set[str]:
    """The sessions of which the journals hold something that is not in the store."""
    found: set[str] = set()
    for chunk in unloaded_tail(db, settings):
        if chunk.frames:
            stage(db, chunk.frames, strict=False)
            found.update(name for (name,) in db.execute("select distinct session_id from staged").fetchall())
    return found


def _oldest_writer(db: Database, settings: Settings) -> int:
    """When the oldest process that still writes began."""
    live = [journal.process_id for journal in list_journals(settings.journals) if not journal.finished]
    began = db.execute(
        "select coalesce(min(first_ns), ?) from raw.processes where list_contains(?::varchar[], process_id)",
        [time.time_ns(), live],
    ).fetchall()
    return int(began[0][0])


def _export(db: Database, settings: Settings, progress: Progress) -> list[Path]:
    """Write each archived session into a folder of its own, under a name that is not final yet."""
    folders = []
    rows = db.execute("select session_id, first_ns from doomed where to_archive order by session_key").fetchall()
    for number, (session, first_ns) in enumerate(rows, 1):
        progress(f"archiving session {number} of {len(rows)}")
        # The same session again, after a kill, is the same folder; one that came back later has begun later.
        folder = settings.archive / f"{_file_name(session)}.{first_ns // 1_000_000}.tmp"
        settings.archive.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        for name in _ARCHIVED:
            query = schema.sql(f"archive/{name}.sql")
            to = f"copy (from ({query}) where session_id = $session) to $path (format parquet, compression zstd)"
            db.execute(to, {"session": session, "path": str(folder / f"{name}.parquet")})
        folders.append(folder)
    return folders


def _file_name(session: str) -> str:
    name = quote(session, safe="")
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}~{hashlib.sha256(session.encode()).hexdigest()[:8]}"


def _put(folder: Path) -> None:
    final = _final(folder)
    shutil.rmtree(final, ignore_errors=True)
    folder.rename(final)


def _final(folder: Path) -> Path:
    return folder.with_suffix("")


def _copy(db: Database, progress: Progress) -> None:
    """From `store` into `fresh`, which has the tables and nothing in them."""
    _run(db, "retention_keep.sql")
    tables = db.execute(
        """
        select t.table_name, bool_or(c.column_name = 'session_key')
        from duckdb_tables() as t join duckdb_columns() as c using (database_name, schema_name, table_name)
        where t.database_name = 'store' and t.schema_name = 'raw'
        group by t.table_name
        order by t.table_name
        """
    ).fetchall()
    for number, (table, of_session) in enumerate(tables, 1):
        progress(f"copying what stays: {table} ({number} of {len(tables)})")
        kept = f"kept_{table}" if table in _FILTERED else f"store.raw.{table}"
        rest = "where session_key not in (from gone_sessions)" if of_session and table not in _FILTERED else ""
        db.execute(f"insert into fresh.raw.{table} by name select * from {kept} {rest}")  # noqa: S608 - names of our tables


def _run(db: Database, name: str, **values: Any) -> None:
    statements: Iterable[duckdb.Statement] = db.extract_statements(schema.sql(name))
    for statement in statements:
        db.execute(statement, {key: values[key] for key in statement.named_parameters} or None)
