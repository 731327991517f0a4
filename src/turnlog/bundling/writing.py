"""From the store into a bundle: one read of the store, one Parquet file per relation, then the ZIP and its manifest."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from turnlog import __version__, queries
from turnlog.bundling.manifest import NAME, RELATIONS, Bundled, Manifest, Member, member_name
from turnlog.queries import Database
from turnlog.store import schema

_PIECE = 1024 * 1024
# ZIP's own first day: when it was written, only the manifest says.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def write_bundle(
    db: Database, sessions: Sequence[str], file: BinaryIO, beside: Path, progress: Callable[[str], None] = lambda _: None
) -> Manifest:
    """Write the sessions to `file`; `beside` is a folder with room for as much again."""
    with tempfile.TemporaryDirectory(prefix=".turnlog-", dir=beside) as place:
        folder = Path(place)
        # Beyond this, rows are sorted on disk.
        db.execute("set memory_limit = '512MB'")
        db.execute("set temp_directory = ?", [str(folder / "sorting")])
        db.execute(schema.sql("bundle/chosen.sql"))
        members = {}
        for number, relation in enumerate(RELATIONS, 1):
            progress(f"reading {relation} ({number} of {len(RELATIONS)})")
            members[member_name(relation)] = _copy(db, relation, sessions, folder / member_name(relation))
        progress("hashing the state")
        manifest = Manifest(
            schema.newest_version(),
            __version__,
            datetime.now(UTC).isoformat(timespec="seconds"),
            tuple(_bundled(db, session) for session in sessions),
            members,
        )
        progress("writing")
        with zipfile.ZipFile(file, "w") as bundle:
            bundle.writestr(zipfile.ZipInfo(NAME, _NO_TIME), manifest.dump())
            for name in members:
                with (folder / name).open("rb") as source, bundle.open(_member(folder / name), "w") as target:
                    while piece := source.read(_PIECE):
                        target.write(piece)
    return manifest


def _copy(db: Database, relation: str, sessions: Sequence[str], path: Path) -> Member:
    query = schema.sql(f"bundle/{relation}.sql")
    to = f"copy ({query}) to $path (format parquet, compression zstd, row_group_size 20480)"
    rows = db.execute(to, {"sessions": list(sessions), "path": str(path)}).fetchall()[0][0]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Member(int(rows), path.stat().st_size, digest)


def _bundled(db: Database, session: str) -> Bundled:
    held = db.execute(schema.sql("bundle/held.sql"), {"session": session}).fetchall()[0]
    return Bundled(session, queries.state_hash(db, session), *held)


def _member(path: Path) -> zipfile.ZipInfo:
    """Stored as it is, for Parquet is compressed already, and for its owner alone where it is unpacked."""
    info = zipfile.ZipInfo(path.name, _NO_TIME)
    info.external_attr = 0o600 << 16
    info.file_size = path.stat().st_size
    return info
