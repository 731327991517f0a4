"""One receiver per store: who serves a directory holds a lock on a file in it, which says where to find it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.errors import StoreNotWritable, TurnlogError

FILE = "serve.lock"
_MOST = 500


class AlreadyServed(TurnlogError):
    """Another process receives for this store."""


@contextmanager
def sole_server(directory: Path) -> Iterator[Callable[[str], None]]:
    """Hold the directory, or raise AlreadyServed. Gives what writes down the address under which it is served."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(directory / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreNotWritable(
            f"cannot write in {directory}: {error.strerror}. Set TURNLOG_DIR to a directory you can write."
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(descriptor, _MOST, 0).decode("utf-8", "replace") or "another process"
            raise AlreadyServed(f"{directory} is served already, by {holder}. Send there, or stop that one first.") from None

        def tell(url: str) -> None:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {url}".encode(), 0)

        tell("no port yet")
        yield tell
    finally:
        os.close(descriptor)


def server_of(directory: Path) -> str:
    """The process that serves the directory and its address, as it wrote them down; empty if there is none."""
    try:
        with (directory / FILE).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        pass
    return ""
