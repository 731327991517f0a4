"""The sessions that this process is the one writer of: a locked file each, below `leases/`, that says who holds it.

The lock ends with its holder, so one that was killed blocks nobody. Files only: who may claim a session is decided in
`turnlog.lease`.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from turnlog.content import dump_json
from turnlog.journal.process import Process
from turnlog.journal.transition import lease_row
from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings

_log = logging.getLogger("turnlog")
_LONGEST = 65_536
_UNKNOWN = Process("", "", "", 0, 0)
_held: dict[str, Lease] = {}
_counting = threading.Lock()


class Holder(NamedTuple):
    """What a lease's file says. `taken_from`: the processes that wrote the session until then, and lived."""

    session: str
    epoch: int
    since_ns: int
    process: Process = _UNKNOWN
    taken_from: tuple[str, ...] = ()


class Lease:
    """A session that this process holds; or, when it is not its own, that its parent held when it began."""

    __slots__ = ("_descriptor", "_path", "_users", "epoch", "is_noticed", "session", "taken_from")

    def __init__(self, folder: Path, session: str, epoch: int, descriptor: int = -1, taken_from: tuple[str, ...] = ()) -> None:
        self.session = session
        self.epoch = epoch
        self.taken_from = taken_from
        self.is_noticed = False
        self._path = _path(folder, session, epoch)
        self._descriptor = descriptor
        self._users = 1
        _held[session] = self

    @property
    def folder(self) -> Path:
        return self._path.parent

    @property
    def is_own(self) -> bool:
        return self._descriptor >= 0

    @property
    def is_lost(self) -> bool:
        """Whether another has claimed the session since. Who does removes the files of those before."""
        return not self._path.exists() and newest_epoch(self.folder, self.session) > self.epoch

    def hand_over(self) -> str:
        """Give the lock to the program that replaces this process, which finds it by this value of TURNLOG_LEASE."""
        os.set_inheritable(self._descriptor, True)
        return f"{self._descriptor}:{self.epoch}:{self.session}"

    def join(self) -> bool:
        """Hold it for one more part of this process; false when it was given up meanwhile."""
        with _counting:
            if not self._users:
                return False
            self._users += 1
            return True

    def release(self) -> None:
        """Let others claim the session, once every part of this process that holds it has said so."""
        with _counting:
            self._users -= 1
            if self._users > 0:
                return
        self.give_up()

    def give_up(self) -> None:
        if _held.get(self.session) is self:
            del _held[self.session]
        if self.is_own:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            self.let_go()

    def let_go(self) -> None:
        """Close the lock, of which a forked child has a copy."""
        with _counting:
            descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def held(session: str) -> Lease | None:
    return _held.get(session)


def newest_epoch(folder: Path, session: str) -> int:
    return max((int(path.suffix[1:]) for path in _files(folder, session)), default=0)


def holder_of(folder: Path, session: str) -> Holder | None:
    """Who holds a session now. What a holder that is gone has left is no lease."""
    for path in _files(folder, session):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            holder = _read(descriptor) or Holder(session, 0, 0)
            # A child that a C library forked can hold the lock of a holder that is long dead.
            if not holder.process.is_gone():
                return holder
        finally:
            os.close(descriptor)
    return None


def take(folder: Path, holder: Holder) -> Lease:
    """Hold a session from now on, whoever did before. One process at a time may call this."""
    before = _files(folder, holder.session)
    final = _path(folder, holder.session, holder.epoch)
    unborn = final.with_name(f"{final.name}.tmp")
    descriptor = os.open(unborn, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write(descriptor, holder)
        unborn.rename(final)
    except BaseException:
        os.close(descriptor)
        raise
    for path in before:
        path.unlink(missing_ok=True)
    return Lease(folder, holder.session, holder.epoch, descriptor, holder.taken_from)


def adopt(settings: Settings, journal: JournalWriter) -> None:
    """Go on with the lease that `turnlog run` took before it became this program, or one that started this."""
    if settings.lease is None or settings.lease[2] != settings.session:
        return
    descriptor, epoch, session = settings.lease
    own = _is_open(descriptor, _path(settings.leases, session, epoch))
    lease = Lease(settings.leases, session, epoch, descriptor if own else -1)
    if own:
        os.set_inheritable(descriptor, False)
        holder = _read(descriptor) or Holder(session, epoch, 0)
        lease.taken_from = holder.taken_from
        with suppress(OSError):
            _write(descriptor, holder._replace(process=journal.process))
        journal.append(lease_row(session, epoch=epoch, holder=journal.process.id))


def notice_loss(session: str, journal: JournalWriter) -> None:
    """Warn once when another process has taken a session over. A process that it did not know of fences itself."""
    lease = _held.get(session)
    if lease is None or lease.is_noticed or not lease.is_lost:
        return
    lease.is_noticed = True
    holder = holder_of(lease.folder, session)
    _log.warning(
        "turnlog: session %s was taken over%s. This program goes on and is recorded; in that session it changes no state.",
        session,
        f" by process {holder.process.pid} on {holder.process.host}" if holder else "",
    )
    if holder is None or journal.process.id not in holder.taken_from:
        journal.append(lease_row(session, fences=[journal.process.id]))


def release_all() -> None:
    for lease in list(_held.values()):
        lease.give_up()


def _path(folder: Path, session: str, epoch: int) -> Path:
    return folder / f"{hashlib.sha256(session.encode(errors='replace')).hexdigest()[:32]}.{epoch}"


def _files(folder: Path, session: str) -> list[Path]:
    return [path for path in folder.glob(f"{_path(folder, session, 0).stem}.*") if path.suffix[1:].isdigit()]


def _is_open(descriptor: int, path: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def _read(descriptor: int) -> Holder | None:
    try:
        said = orjson.loads(os.pread(descriptor, _LONGEST, 0))
        process = Process(**said["process"])
        return Holder(said["session"], said["epoch"], said["since_ns"], process, tuple(said["taken_from"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(descriptor: int, holder: Holder) -> None:
    said = dump_json(holder._asdict() | {"process": holder.process._asdict()})
    os.pwrite(descriptor, said, 0)
    os.ftruncate(descriptor, len(said))


def _let_go_in_child() -> None:
    global _counting
    _counting = threading.Lock()
    for lease in _held.values():
        lease.let_go()


os.register_at_fork(after_in_child=_let_go_in_child)
