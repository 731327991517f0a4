"""From journal bytes to rows in a connection: frames gathered into one newline-JSON file, read in one statement.

The same SQL loads the store and overlays a reader's view with what is not loaded yet.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb
import orjson

from turnlog import semconv
from turnlog.journal.frame import Frame
from turnlog.journal.reader import JournalFile, list_journals, list_provisional, unread_frames
from turnlog.settings import Settings
from turnlog.store import schema

# One transaction takes no more than this: without a bound a load starved readers for half a minute.
CHUNK_ROWS = 40_960
CHUNK_BYTES = 32 * 1024 * 1024
_COLUMNS = {
    **dict.fromkeys(
        (
            "process_id",
            "origin",
            "record",
            "commit_id",
            "trace_id",
            "span_id",
            "parent_id",
            "name",
            "span_kind",
            "status",
            "status_message",
            "scope",
        ),
        "VARCHAR",
    ),
    **dict.fromkeys(("start_ns", "end_ns", "died_ns", "pid", "lost"), "BIGINT"),
    **dict.fromkeys(("host", "hash", "text"), "VARCHAR"),
    **dict.fromkeys(("attributes", "links", "events", "entries"), "JSON"),
    "carried": "BOOLEAN",
    **{column.name: column.type if column.type in ("VARCHAR", "BIGINT") else "JSON" for column in semconv.COLUMNS},
}

# Only what goes through a receiver can come twice.
_RECEIVED = (
    "select 1 from staged where starts_with(process_id, 'received:') "
    "union all select 1 from known_processes where starts_with(process_id, 'received:') limit 1"
)


class Taken(NamedTuple):
    """What one chunk takes: frames to load, per journal how far it then is read, and bytes that are no frame."""

    frames: list[tuple[JournalFile, Frame]]
    read_to: dict[str, int]
    bad: list[tuple[JournalFile, Frame]]
    rows: int
    has_finished: bool = False


def take_chunk(journals: list[JournalFile], read_to: Mapping[str, int], most_rows: int = CHUNK_ROWS) -> Taken:
    """The next unread frames, oldest journal first, up to the bounds of one transaction."""
    frames: list[tuple[JournalFile, Frame]] = []
    bad: list[tuple[JournalFile, Frame]] = []
    reached: dict[str, int] = {}
    rows = size = 0
    for journal in journals:
        offset = read_to.get(journal.path.name, 0)
        while offset < journal.size and rows < most_rows and size < CHUNK_BYTES:
            before = offset
            for frame in unread_frames(journal, offset, CHUNK_BYTES - size):
                if rows >= most_rows:
                    break
                (frames if frame.rows else bad).append((journal, frame))
                rows += frame.rows
                size += len(frame.payload)
                offset = reached[journal.path.name] = frame.end
            if offset == before:
                break
    return Taken(frames, reached, bad, rows, any(journal.finished for journal in journals))


def stage(db: duckdb.DuckDBPyConnection, frames: list[tuple[JournalFile, Frame]], *, strict: bool = True) -> None:
    """Put the rows of the frames into the temporary table `staged`. Strictly, one bad row refuses them all."""
    processes = {journal.process_id for journal, _ in frames}
    only = processes.pop() if len(processes) == 1 else None
    with _gathered(frames, marked=only is None) as path:
        parameters = {"path": path, "columns": _COLUMNS, "lenient": not strict, "only_process": only}
        db.execute(schema.sql("stage.sql"), parameters)
    (found,) = db.execute("select count(*) from staged").fetchall()[0]
    if strict and found != sum(frame.rows for _, frame in frames):
        raise duckdb.InvalidInputException("a frame does not hold the rows that it says")


def unloaded_tail(db: duckdb.DuckDBPyConnection, settings: Settings) -> Iterator[Taken]:
    """What the journals hold beyond what `store` has loaded, then what is told for the time being, chunk by chunk; one chunk is
    empty when that is nothing."""
    read_to = dict(db.execute("select journal, read_to from store.raw.journals").fetchall())
    # Read first and told last: what it says is taken out of it when the journal has it.
    provisional = take_chunk(list_provisional(settings.journals), {}, sys.maxsize)
    journals = list_journals(settings.journals)
    is_nothing = True
    while (taken := take_chunk(journals, read_to)).frames or taken.bad:
        is_nothing = False
        yield taken
        read_to |= taken.read_to
    if provisional.frames or is_nothing:
        yield provisional._replace(has_finished=taken.has_finished)


def stage_tail(db: duckdb.DuckDBPyConnection, chunk: Taken) -> None:
    """Add to the catalog `tail` (current). Rows that no statement takes are left to the loader, which sets them aside."""
    for strict in (True, False) if chunk.frames else ():
        db.execute("begin")
        try:
            stage(db, chunk.frames, strict=strict)
            db.execute(schema.sql("seed_tail.sql"))
            load_staged(db, "store", "tail")
            db.execute("commit")
            return
        except duckdb.Error:
            db.execute("rollback")


def load_staged(db: duckdb.DuckDBPyConnection, *known: str) -> None:
    """Turn staged rows into rows of the current catalog; `known` are the catalogs that gave out keys so far."""
    for table in ("sessions", "processes", "turns", "spans", "open_spans", "context_changes", "losses"):
        everywhere = " union all ".join(f"from {catalog}.raw.{table}" for catalog in known)
        db.execute(f"create or replace temp view known_{table} as {everywhere}")
    is_carried = db.execute("select 1 from staged where carried limit 1").fetchall()
    if is_carried:
        db.execute(schema.sql("carried.sql"))
    if db.execute("select 1 from raw.processes where gone and process_id in (select process_id from staged)").fetchall():
        db.execute(schema.sql("revive.sql"))
    if db.execute(_RECEIVED).fetchall():
        db.execute(schema.sql("once.sql"))
    if db.execute(
        "select 1 from staged where commit_kind in ('lifecycle', 'state') and turn_id = '' and not carried limit 1"
    ).fetchall():
        db.execute(schema.sql("place_lifecycle.sql"))
    db.execute(schema.sql("load.sql"))
    db.execute(schema.sql("roll_up.sql"))
    if db.execute("select 1 from staged where commit_kind = 'lifecycle' limit 1").fetchall():
        db.execute(schema.sql("load_lifecycle.sql"))
    if is_carried:
        db.execute(schema.sql("load_carried.sql"))
    if db.execute("select 1 from ended where contains(concat(delta, entries), '\"verify\"') limit 1").fetchall():
        db.execute(schema.sql("load_checks.sql"))


def fence(db: duckdb.DuckDBPyConnection) -> None:
    """Tell which spans do not count, now that more rows are there."""
    if db.execute("select 1 from raw.leases where len(fences) > 0 limit 1").fetchall():
        db.execute(schema.sql("fence.sql"))


@contextmanager
def _gathered(frames: list[tuple[JournalFile, Frame]], *, marked: bool) -> Iterator[str]:
    """The rows as a file that DuckDB can open: in memory where the system has that, so that nothing outlives a kill.

    Marked with their process where there are several; that costs a third of reading them.
    """
    in_memory = hasattr(os, "memfd_create") and Path("/proc/self/fd").exists()
    descriptor, path = (os.memfd_create("turnlog"), "") if in_memory else tempfile.mkstemp(prefix="turnlog-")
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            for journal, frame in frames:
                # JSON holds no raw line break, so these two bytes begin a row. Lines that are no objects stay without the
                # mark, and the rows then do not add up.
                mark = b'\n{"process_id":' + orjson.dumps(journal.process_id) + b","
                file.write(b"\n")
                file.write((b"\n" + frame.payload).replace(b"\n{", mark) if marked else frame.payload)
        yield path or f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
        if path:
            Path(path).unlink(missing_ok=True)
