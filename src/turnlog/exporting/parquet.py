"""What the store knows of sessions as Parquet files, one per relation: those of the archive, and the commits."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from turnlog.errors import TurnlogError
from turnlog.exporting.selection import Extent, Selection, define
from turnlog.queries import Database
from turnlog.store import schema

_WHOLE = "session_id in (select unnest($sessions))"
_IN_TIME = f"{_WHOLE} and {{last}} >= $since and {{first}} < $until"
# Of each file, its rows and which of them go out.
_FILES = {
    "sessions": ("archive/session.sql", _WHOLE),
    "turns": ("archive/turns.sql", _IN_TIME.format(first="started_ns", last="ended_ns")),
    "spans": ("archive/spans.sql", _IN_TIME.format(first="end_ns", last="end_ns")),
    "commits": ("export/commits.sql", _IN_TIME.format(first="ended_ns", last="ended_ns")),
    "entries": ("archive/entries.sql", _IN_TIME.format(first="changed_ns", last="changed_ns")),
    "contexts": ("archive/contexts.sql", _IN_TIME.format(first="ts_ns", last="ts_ns")),
    "lifecycle": ("archive/lifecycle.sql", _IN_TIME.format(first="changed_ns", last="changed_ns")),
    "blobs": ("export/blobs.sql", "true"),
}


class File(NamedTuple):
    path: Path
    rows: int
    bytes: int


def write_parquet(
    db: Database, selection: Selection, found: Extent, folder: Path, progress: Callable[[str], None] = lambda _: None
) -> list[File]:
    """Write every file beside its final name, then put all of them in place."""
    if folder.exists() and not folder.is_dir():
        raise TurnlogError(f"{folder} is no folder, and Parquet is several files: name a folder with -o.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    unborn = Path(tempfile.mkdtemp(prefix=".turnlog-", dir=folder))
    try:
        # Beyond this, rows are sorted on disk.
        db.execute("set memory_limit = '512MB'")
        db.execute("set temp_directory = ?", [str(unborn / "sorting")])
        define(db)
        values = selection.values() | {"sessions": found.sessions}
        written: list[File] = []
        for name, (text, which) in _FILES.items():
            progress(f"writing {name} ({len(written) + 1} of {len(_FILES)})")
            path = unborn / f"{name}.parquet"
            rows = _copy(db, f"from ({schema.sql(text)}) where {which}", values, path)
            path.chmod(0o600)
            written.append(File(folder / path.name, rows, path.stat().st_size))
        for file in written:
            (unborn / file.path.name).replace(file.path)
        return written
    finally:
        shutil.rmtree(unborn, ignore_errors=True)


def _copy(db: Database, query: str, values: dict[str, object], path: Path) -> int:
    to = f"copy ({query}) to $path (format parquet, compression zstd, row_group_size 20480)"
    (statement,) = db.extract_statements(to)
    named = {key: value for key, value in values.items() if key in statement.named_parameters}
    return int(db.execute(statement, {**named, "path": str(path)}).fetchall()[0][0])
