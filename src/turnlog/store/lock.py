"""The side lock: access to the DuckDB file is queued here, shared to read, exclusive to write.

DuckDB's own lock refuses instead of waiting, and reading the file by other means drops it; so nobody opens the database
without this lock. Who waits for it shows that with a shared lock on a second file, which ends with its process; who holds
the first one looks there and lets go.
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
_held: set[int] = set()


@contextmanager
def side_lock(path: Path, *, exclusive: bool, patience: float) -> Iterator[None]:
    """Hold the lock, waiting at most `patience` seconds for it (0: not at all)."""
    descriptor = _open(path, exclusive)
    if descriptor is None:
        # A store in a directory that cannot be written has no writers to wait for.
        yield
        return
    held = False
    try:
        _held.add(descriptor)
        _acquire(descriptor, path, exclusive, patience)
        held = True
        if exclusive:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        _close(descriptor)
        if exclusive and held and is_awaited(path):
            # Who waits looks every few milliseconds; who loads again at once would never let anybody in.
            time.sleep(2 * _POLL)


def is_awaited(path: Path) -> bool:
    """Whether anybody waits for this lock."""
    try:
        descriptor = os.open(_waiting(path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


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
    mode = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    if _try_lock(descriptor, mode):
        return
    deadline = time.monotonic() + patience
    with _visibly_waiting(path) as sign:
        while time.monotonic() < deadline:
            # Again each time: the sign is refused while somebody looks for it.
            if sign is not None:
                _try_lock(sign, fcntl.LOCK_SH)
            time.sleep(_POLL)
            if _try_lock(descriptor, mode):
                return
    holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
    raise StoreLocked(
        f"the store {path.parent} has been busy for {patience:g} s (last writer: process {holder}). "
        "Try again, or wait longer with TURNLOG_PATIENCE=60."
    )


@contextmanager
def _visibly_waiting(path: Path) -> Iterator[int | None]:
    try:
        sign = os.open(_waiting(path), os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        # Who cannot show that it waits still gets in, when the holder has held for long enough.
        yield None
        return
    _held.add(sign)
    try:
        yield sign
    finally:
        _close(sign)


def _waiting(path: Path) -> Path:
    return path.with_name(f"{path.name}.waiting")


def _try_lock(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _close(descriptor: int) -> None:
    _held.discard(descriptor)
    os.close(descriptor)


def _let_go_in_child() -> None:
    # A forked child shares the locks' descriptors and would keep the store locked, or awaited, for as long as it lives.
    for descriptor in list(_held):
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go_in_child)
