"""A bundle, opened: its members copied out, each of the size and the digest that its manifest says, and their columns checked.

The file may be a stranger's. Members are found by the names that we give, and land in files without a name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

import duckdb

from turnlog.bundling.manifest import NAME, RELATIONS, BadBundle, Manifest, member_name, read_manifest
from turnlog.store import schema

_UNPACKING = "unbundling-"
_MOST_MANIFEST = 16 * 1024 * 1024
_PIECE = 1024 * 1024
# Ours are stored as they are. Packed again by somebody, a small one can become smaller; a large one is zstd already.
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_OF_A_SMALL_FILE = 16 * 1024 * 1024
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "512MB",
    "threads": 2,
}


class Bundle(NamedTuple):
    """`db` has a view `bundle_<relation>` per member, of the columns that this version writes."""

    manifest: Manifest
    bytes: int
    db: duckdb.DuckDBPyConnection


@contextmanager
def open_bundle(file: IO[bytes], place: Path) -> Iterator[Bundle]:
    """`place`: a folder with room for the members."""
    size = file.seek(0, 2)
    file.seek(0)
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(zipfile.ZipFile(file))
            manifest = read_manifest(_text(archive), schema.newest_version())
            folder = stack.enter_context(_unpacking(place))
            paths = {relation: _extract(archive, manifest, member_name(relation), folder, size) for relation in RELATIONS}
        except zipfile.BadZipFile as error:
            raise BadBundle("it is not a whole ZIP file, as a bundle is: broken off on its way, or something else") from error
        except (zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
            raise BadBundle(f"it cannot be unpacked: {error}") from error
        db = duckdb.connect(":memory:", config={**_CLOSED, "temp_directory": str(folder / "sorting")})
        stack.callback(db.close)
        _define(db, manifest, paths)
        yield Bundle(manifest, size, db)


@contextmanager
def _unpacking(place: Path) -> Iterator[Path]:
    """A folder that is gone afterwards; those that were left by a kill go too."""
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in place.glob(f"{_UNPACKING}*"):
        with suppress(OSError), _locked(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_UNPACKING, dir=place) as name, _locked(Path(name)):
        yield Path(name)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _text(archive: zipfile.ZipFile) -> bytes:
    try:
        with _opened(archive, NAME) as member:
            text = member.read(_MOST_MANIFEST + 1)
    except KeyError:
        raise BadBundle(f"it has no {NAME}: it is no bundle of turnlog") from None
    if len(text) > _MOST_MANIFEST:
        raise BadBundle(f"its {NAME} is too large")
    return text


def _opened(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    if archive.getinfo(name).compress_type not in _PACKINGS:
        raise BadBundle(f"its {name} is packed in a way that no bundle is")
    return archive.open(name)


def _extract(archive: zipfile.ZipFile, manifest: Manifest, name: str, folder: Path, size: int) -> Path:
    """Copy a member out of a file of that size: no more bytes of it than are promised, and than there can be."""
    promised = manifest.members[name]
    path = folder / name
    digest = hashlib.sha256()
    left = promised.bytes
    if shutil.disk_usage(folder).free < left:
        raise BadBundle(f"there is no room for its {name} ({left:,} bytes) in {folder.parent}. Make some and try again")
    if left > max(size, _MOST_OF_A_SMALL_FILE):
        raise BadBundle(f"its {name} is larger than the whole file ({left:,} bytes): it is made to fill the disk")
    try:
        with _opened(archive, name) as member, path.open("xb") as target:
            while piece := member.read(min(_PIECE, left + 1)):
                left -= len(piece)
                if left < 0:
                    break
                digest.update(piece)
                target.write(piece)
    except KeyError:
        raise BadBundle(f"its {name} is missing") from None
    if left or digest.hexdigest() != promised.sha256:
        raise BadBundle(f"its {name} is not what its {NAME} says: damaged, or changed after it was written")
    return path


def _define(db: duckdb.DuckDBPyConnection, manifest: Manifest, paths: dict[str, Path]) -> None:
    """Columns that an older turnlog did not write yet are null; none may be of another type."""
    schema.create_tables(db)
    schema.create_adapters(db)
    schema.define(db, {"turn_numbers"})
    db.execute(schema.sql("bundle/chosen.sql"))
    for relation, path in paths.items():
        query = schema.sql(f"bundle/{relation}.sql")
        (statement,) = db.extract_statements(f"create temp table known_{relation} as {query} limit 0")
        db.execute(statement, {"sessions": []})
        known = _columns(db, f"known_{relation}")
        try:
            db.execute(f"create temp view found as from read_parquet('{_quoted(path)}', hive_partitioning = false)")
            found = _columns(db, "found")
            (rows,) = db.execute("select count(*) from found").fetchall()[0]
        except duckdb.Error as error:
            raise BadBundle(f"its {path.name} is no Parquet that can be read: {_first_line(error)}") from error
        wrong = [f"{name} ({kind})" for name, kind in found.items() if known.get(name.lower(), kind) != kind]
        if wrong:
            raise BadBundle(f"its {path.name} has columns of another type: {', '.join(wrong)[:200]}")
        if rows != manifest.members[path.name].rows:
            raise BadBundle(f"its {path.name} has {rows:,} rows, and not as many as its {NAME} says")
        ours = ", ".join(f'"{name}"' for name in known)
        db.execute(
            f"create temp view bundle_{relation} as select {ours} from "  # noqa: S608 - our own names
            f"(from known_{relation} union all by name from read_parquet('{_quoted(path)}', hive_partitioning = false))"
        )
        db.execute("drop view found")


def _columns(db: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    return {name: kind for name, kind, *_ in db.execute(f"describe {relation}").fetchall()}


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
