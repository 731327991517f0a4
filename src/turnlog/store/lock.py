"""The side lock: access to the DuckDB file is queued here, shared to read, exclusive to write.

DuckDB's own lock refuses instead of waiting, and reading the file by other means drops it; so nobody opens the database
without this lock, and nobody keeps it for long.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from turnlog.errors import StoreLocked, StoreNotWritable

_POLL = 0.01
_LONG = 0.1
_held: set[int] = set()


@contextmanager
def side_lock(path: Path, *, exclusive: bool, patience: float) -> Iterator[None]:
    """Hold the lock, waiting at most `patience` seconds for it (0: not at all)."""
    descriptor = _open(path, exclusive)
    if descriptor is None:
        # A store in a directory that cannot be written has no writers to wait for.
        yield
        return
    began = time.monotonic()
    try:
        _acquire(descriptor, path, exclusive, patience)
        _held.add(descriptor)
        began = time.monotonic()
        if exclusive:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        _held.discard(descriptor)
        os.close(descriptor)
        if exclusive and time.monotonic() - began > _LONG:
            # Who waits looks every few milliseconds; who loads again at once would never let anybody in.
            time.sleep(2 * _POLL)


def _open(path: Path, exclusive: bool) -> int | None:
    if path.parent.exists() and not path.parent.is_dir():
        raise StoreNotWritable(f"{path.parent} is a file, not a directory. Set TURNLOG_DIR to a directory.")
    if not exclusive and not path.parent.exists():
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if exclusive:
            raise StoreNotWritable(
                f"cannot write in {path.parent}: {error.strerror}. Set TURNLOG_DIR to a directory you can write."
            ) from error
        return None


def _acquire(descriptor: int, path: Path, exclusive: bool, patience: float) -> None:
    mode = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, mode)
            return
        except OSError as error:
            if time.monotonic() >= deadline:
                holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
                raise StoreLocked(
                    f"the store {path.parent} has been busy for {patience:g} s (last writer: process {holder}). "
                    "Try again, or wait longer with TURNLOG_PATIENCE=60."
                ) from error
            time.sleep(_POLL)


def _let_go_in_child() -> None:
    # A forked child shares the lock's descriptor and would keep the store locked for as long as it lives.
    for descriptor in list(_held):
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go_in_child)
