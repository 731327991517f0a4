"""A journal that is there whole or not at all, for rows that come from a file: what breaks off in the middle leaves nothing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnlog.journal.frame import encode_frame
from turnlog.journal.process import current_process
from turnlog.journal.writer import process_row
from turnlog.settings import Settings

# Appends newline-terminated JSON rows and how many they are.
Append = Callable[[bytes, int], None]


@contextmanager
def whole_journal(settings: Settings) -> Iterator[Append]:
    process = current_process()
    folder = settings.journals
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.mkdir(exist_ok=True, mode=0o700)
    unborn = folder / f"{process.id}.000000.tmp"
    try:
        with os.fdopen(os.open(unborn, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            # Of an unlocked one a loader thinks that its writer has died.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

            def append(payload: bytes, rows: int) -> None:
                file.write(encode_frame(payload, rows))

            append(process_row(process, {}), 1)
            yield append
            file.flush()
            os.fsync(file.fileno())
            unborn.rename(unborn.with_suffix(".journal"))
    finally:
        unborn.unlink(missing_ok=True)
