"""Files as they are on the disk now: what tells one state of a file from another, and what it holds."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_SMALL = 64 * 1024
LARGEST_TEXT = 4 * 1024 * 1024
# A file system's clock ticks every few milliseconds: of a file written just before, only its content tells the difference.
_FRESH_NS = 100_000_000
_SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", "node_modules", "site-packages"),
        *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    )
)


class Look(NamedTuple):
    """A file at one moment. `digest` is there only where size and time would not tell a change."""

    size: int
    changed_ns: int
    inode: int
    is_folder: bool
    digest: bytes = b""


class TooMany(Exception):
    pass


def look_at(path: str, *, precisely: bool = True) -> Look | None:
    """None when there is nothing. `precisely`: so that also a change within the clock's next tick will show."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a third of the time of a Path
    except OSError:
        try:
            found = os.lstat(path)
        except OSError:
            return None
    return _look(path, found, precisely)


def _look(path: str, found: os.stat_result, precisely: bool) -> Look:
    is_fresh = precisely and time.time_ns() - found.st_mtime_ns < _FRESH_NS
    digest = _digest(path) if is_fresh and stat.S_ISREG(found.st_mode) and found.st_size <= _SMALL else b""
    return Look(found.st_size, found.st_mtime_ns, found.st_ino, stat.S_ISDIR(found.st_mode), digest)


def has_changed(path: str, before: Look, after: Look) -> bool:
    if before.is_folder and after.is_folder:
        return False
    if before[:4] != after[:4]:
        return True
    return bool(before.digest) and before.digest != _digest(path)


def is_moved(before: Look, after: Look, told: bool) -> bool:
    """Whether a file that is gone can be one that has come. Inode numbers are reused, unless a rename was `told` of."""
    same_file, same_state = before.inode == after.inode, before[:2] == after[:2]
    return same_file or same_state if told else same_file and same_state


def text_of(path: str) -> str | None:
    """What a file holds, as the text that a tool would have declared. Bytes that are no text keep their difference."""
    data = _read(path, LARGEST_TEXT)
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def look_below(folders: Iterable[str], most: int, without: str, *, precisely: bool) -> dict[str, Look]:
    """Every file below the folders, links not followed. Raises TooMany beyond `most`."""
    found: dict[str, Look] = {}
    for entry in _walk(list(folders), without):
        try:
            found[entry.path] = _look(entry.path, entry.stat(follow_symlinks=False), precisely)
        except OSError:
            continue
        if len(found) > most:
            raise TooMany
    return found


def _walk(folders: list[str], without: str) -> Iterator[os.DirEntry[str]]:
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError:
            continue
        if any(entry.name == "pyvenv.cfg" for entry in listed):
            continue
        for entry in listed:
            if not entry.is_dir(follow_symlinks=False):
                yield entry
            elif entry.name not in _SKIPPED and entry.path != without:
                folders.append(entry.path)


def _digest(path: str) -> bytes:
    data = _read(path, _SMALL)
    return b"" if data is None else hashlib.blake2b(data, digest_size=16).digest()


def _read(path: str, most: int) -> bytes | None:
    """A regular file of no more than that size. Never waits: what was a file a moment ago may be a pipe now."""
    try:
        place = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(place)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return None
        data = b""
        while len(data) <= most and (chunk := os.read(place, found.st_size - len(data) + 1)):
            data += chunk
        return data if len(data) <= most else None
    except OSError:
        return None
    finally:
        os.close(place)
