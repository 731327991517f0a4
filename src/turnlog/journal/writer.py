"""Appending to this process's journal: one write per call, so that what was appended survives `kill -9`.

A file is created under a temporary name, locked, then renamed: no loader sees an unlocked journal of a live writer.
Failure (full disk, read-only directory) costs rows, which are counted and written down as soon as writing works again.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnlog.content import dump_json, without_secrets
from turnlog.journal.frame import encode_frame
from turnlog.journal.process import Process, current_process
from turnlog.settings import Settings

_log = logging.getLogger("turnlog")
_RETRY_AFTER = 5.0
_NOT_WRITABLE = "journal not writable"
_ROOM = 4096
_writers: weakref.WeakSet[JournalWriter] = weakref.WeakSet()


class JournalWriter:
    """One process's journal. Safe for threads; a forked child starts its own."""

    def __init__(self, settings: Settings, resource: Mapping[str, Any] | None = None) -> None:
        self._settings = settings
        self.resource = dict(resource or {})
        self._start_over()
        _writers.add(self)

    def _start_over(self) -> None:
        # Re-entrant: a garbage collection inside append can end a span, which appends.
        self._lock = threading.RLock()
        self._process: Process | None = None
        self._file = -1
        self._room = -1
        self._size = 0
        self._sequence = 0
        self._retry_at = 0.0
        self._complained = False
        self.written = 0
        self.lost = 0
        self._lost_unsaid = 0

    @property
    def directory(self) -> Path:
        return self._settings.directory

    @property
    def process(self) -> Process:
        if self._process is None:
            self._process = current_process()
        return self._process

    @property
    def current(self) -> str:
        """The name of the file that is written to."""
        return f"{self.process.id}.{self._sequence - 1:06d}.journal"

    def append(self, payload: bytes, rows: int = 1, *, is_kept: bool = False) -> bool:
        """Write newline-terminated JSON rows; true once the operating system has them. `is_kept`: the caller still has those
        that could not be written, so they are not lost."""
        with self._lock:
            try:
                if self._file < 0:
                    self._open()
                elif self._size > self._settings.rotate_bytes:
                    self._rotate()
                if self._lost_unsaid:
                    # Together: by itself it would fill the last room there is, and the next loss could not be said.
                    self._write(loss_row(_NOT_WRITABLE, self._lost_unsaid) + payload, rows + 1)
                    self._lost_unsaid = 0
                else:
                    self._write(payload, rows)
                self.written += rows
            except OSError as error:
                if not is_kept:
                    self.lost += rows
                    self._lost_unsaid += rows
                self._complain(error, "Spans wait for room." if is_kept else "Spans are lost and counted.")
                return False
            return True

    def report_loss(self, reason: str) -> None:
        """Write down that a row could not be made, so that `turnlog doctor` can show it."""
        self.append(loss_row(reason, 1))

    def show_life(self) -> None:
        """Make the file as young as now: its age is how long ago this process was last known to live, should it be killed."""
        with self._lock, contextlib.suppress(OSError):
            if self._file >= 0:
                os.utime(self._file)

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                if self._lost_unsaid:
                    self._give_room()
                    with contextlib.suppress(OSError):
                        self._write(loss_row(_NOT_WRITABLE, self._lost_unsaid), 1)
                        self._lost_unsaid = 0
                os.close(self._file)
                self._file = -1
            self._give_room()

    def _take_room(self, path: Path) -> None:
        """Keep space in a file without a name, to say at the end what was lost on a full disk."""
        if self._room < 0:
            with contextlib.suppress(OSError):
                self._room = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                path.unlink()
                os.write(self._room, bytes(_ROOM))

    def _give_room(self) -> None:
        if self._room >= 0:
            os.close(self._room)
            self._room = -1

    def _open(self) -> None:
        now = time.monotonic()
        if now < self._retry_at:
            raise BlockingIOError("the journal could not be opened a moment ago")
        self._retry_at = now + _RETRY_AFTER
        folder = self._settings.journals
        # One by one: the mode holds for the last folder only, and all of it is private.
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        name = f"{self.process.id}.{self._sequence:06d}"
        temporary, final = folder / f"{name}.tmp", folder / f"{name}.journal"
        self._file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = 0
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write(process_row(self.process, self.resource), 1)
            temporary.rename(final)
        except OSError:
            os.close(self._file)
            self._file = -1
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        self._sequence += 1
        self._retry_at = 0.0
        self._take_room(folder / f"{name}.room")

    def _rotate(self) -> None:
        """Open the next file before the last is let go: a process always holds a locked journal while it lives.

        Where none can be opened, the last one grows on.
        """
        last, size = self._file, self._size
        try:
            self._open()
        except OSError:
            self._file, self._size = last, size
        else:
            os.close(last)

    def _write(self, payload: bytes, rows: int) -> None:
        frame = encode_frame(payload, rows)
        written = os.write(self._file, frame)
        if written != len(frame):
            os.ftruncate(self._file, self._size)
            raise OSError(28, "the disk took only part of a frame")
        self._size += written
        if self._settings.fsync:
            os.fdatasync(self._file)

    def _complain(self, error: OSError, consequence: str) -> None:
        if not self._complained:
            self._complained = True
            _log.warning("turnlog cannot write its journal in %s: %s. %s", self._settings.journals, error, consequence)

    def after_fork_in_child(self) -> None:
        # Closing our copy leaves the parent's lock in place: a flock ends with its last descriptor.
        if self._file >= 0:
            os.close(self._file)
        self._give_room()
        self._start_over()


def process_row(process: Process, resource: Mapping[str, Any]) -> bytes:
    """What a journal begins with: who writes it."""
    row = {
        "record": "process",
        "host": process.host,
        "boot": process.boot,
        "pid": process.pid,
        "started": process.started,
        "namespace": process.namespace,
        "start_ns": time.time_ns(),
        "attributes": without_secrets({"process.working_directory": _working_directory(), **resource}),
    }
    return dump_json(row) + b"\n"


def _working_directory() -> str:
    """What the files of this process's entries are relative to; a directory can have been removed below a process."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def loss_row(reason: str, count: int) -> bytes:
    return dump_json({"record": "loss", "start_ns": time.time_ns(), "name": reason, "lost": count}) + b"\n"


def _after_fork_in_child() -> None:
    for writer in list(_writers):
        writer.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
