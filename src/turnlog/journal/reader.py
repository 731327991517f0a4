"""What lies in a journal directory: which files, whose, how far each was read, and the frames that are still unread."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from turnlog.journal.frame import HEADER_SIZE, PAYLOAD_LIMIT, Frame, read_frames
from turnlog.journal.process import Process

_STILLBORN_AFTER = 60.0


class JournalFile(NamedTuple):
    """One journal. `finished` means that its writer will never append to it again."""

    path: Path
    process_id: str
    size: int
    finished: bool


def list_journals(folder: Path) -> list[JournalFile]:
    """Oldest first, so that sessions and turns are met in the order in which they began."""
    found = []
    for path in sorted(folder.glob("*.journal"), key=_age):
        # The lock before the size: a writer that appends and dies in between is then seen as alive, never as cut short.
        finished = is_finished(path)
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            continue
        found.append(JournalFile(path, path.name.split(".", 1)[0], size, finished))
    return found


def list_provisional(folder: Path) -> list[JournalFile]:
    """What is said of spans whose trace has not arrived whole. Such a file is never loaded. It is replaced at any time, by a
    larger one or by none, so its size is not known before it is read."""
    return [JournalFile(path, path.stem, sys.maxsize, finished=False) for path in sorted(folder.glob("*.provisional"))]


def writing_processes(folder: Path, apart_from: Collection[JournalFile]) -> set[str]:
    """The processes that have further journals. A writer opens its next before it lets go of the last, so whoever found
    the last one finished and asks here afterwards misses none."""
    known = {journal.path.name for journal in apart_from}
    return {path.name.split(".", 1)[0] for path in folder.glob("*.journal") if path.name not in known}


def remove_stillborn(folder: Path) -> None:
    """Delete journals whose writer died before it had given them their name; they hold nothing yet."""
    for path in folder.glob("*.tmp"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _STILLBORN_AFTER and is_finished(path):
                path.unlink()


def journal_bytes(folder: Path) -> int:
    """What all journals hold, loaded or not: cheap enough to ask every few seconds."""
    try:
        return sum(path.stat().st_size for path in folder.glob("*.journal"))
    except OSError:
        return 0


def unread_frames(journal: JournalFile, offset: int, most_bytes: int) -> Iterator[Frame]:
    """The frames from `offset` on, reading no more than `most_bytes` (but always a whole frame)."""
    try:
        opened = journal.path.open("rb")
    except FileNotFoundError:
        return
    with opened as file:
        file.seek(offset)
        data = file.read(min(journal.size - offset, most_bytes))
        at_end = offset + len(data) >= journal.size
        frames = list(read_frames(data, offset, journal.finished and at_end))
        if not frames and not at_end:
            data += file.read(min(journal.size - offset - len(data), HEADER_SIZE + PAYLOAD_LIMIT))
            at_end = offset + len(data) >= journal.size
            frames = list(read_frames(data, offset, journal.finished and at_end))
    yield from frames


def _age(path: Path) -> tuple[str, str]:
    process, _, sequence = path.name.partition(".")
    return process.split("_")[-2] if process.count("_") >= 3 else process, sequence


def is_finished(path: Path) -> bool:
    """Whether nobody will append to a journal any more: its writer has closed it, or died."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        # A child that a C library forked can hold the lock of a writer that is long dead.
        writer = _writer_of(path)
        return writer is not None and writer.is_gone()
    finally:
        os.close(descriptor)
    return True


def _writer_of(path: Path) -> Process | None:
    try:
        with path.open("rb") as file:
            first = next(read_frames(file.read(65_536), 0, complete=True), None)
        row = orjson.loads(first.payload) if first and first.rows else {}
        return Process("", row["host"], row["boot"], row["pid"], row["started"], row["namespace"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
