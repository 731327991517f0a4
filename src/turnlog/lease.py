"""One writer: a session that a process resumes is leased to it, and nobody else may resume it meanwhile.

A process that records without having claimed anything is never refused; but while it lives, nobody else resumes its sessions.
Whoever takes a session over fences those that wrote it: what they do in it afterwards is kept and does not count.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from turnlog.content import entry_key
from turnlog.errors import SessionLeased
from turnlog.journal import holding
from turnlog.journal.holding import Holder, Lease
from turnlog.journal.process import Process, command_of, current_process
from turnlog.journal.reader import list_journals
from turnlog.journal.transition import append_alone, lease_row
from turnlog.settings import Settings

# Of a process on another machine all that is known is when it was heard of.
_HEARD_LATELY = 60 * 10**9
_RECEIVED = "received:"


def claim(settings: Settings, session: str, *, process_id: str, take_over: bool = False) -> Lease:
    """Make this process, which writes its journal as `process_id`, the one writer of a session until it ends or releases it.

    Raises SessionLeased while another process writes the session, unless that is to be taken over.
    """
    lease, is_new = _hold(settings, session, process_id, take_over)
    if is_new:
        _record(settings, lease, process_id)
    return lease


def claim_for_program(settings: Settings, session: str, *, take_over: bool = False) -> str:
    """As `claim`, for the program that will replace this process: the TURNLOG_LEASE by which it finds the lease, which it
    records itself when it begins. A fence holds from now on."""
    process_id = current_process().id
    lease, _ = _hold(settings, session, process_id, take_over)
    if lease.taken_from:
        _record(settings, lease, process_id)
    return lease.hand_over()


def _hold(settings: Settings, session: str, process_id: str, take_over: bool) -> tuple[Lease, bool]:
    """The lease, and whether it is new. Threads of one process ask at once too, so all is decided under the lock."""
    from turnlog.store.lock import side_lock

    with side_lock(settings.leases / "lock", exclusive=True, patience=settings.patience):
        held = holding.held(session)
        if held is not None and held.is_own and not held.is_lost and held.join():
            return held, False
        writers, epoch = _known(settings, session, process_id)
        holder = holding.holder_of(settings.leases, session)
        if holder is not None and holder.process.id == process_id:
            holder = None
        others = {writer.process.id: writer for writer in (*writers, *([holder] if holder else ()))}
        if others and not take_over:
            raise SessionLeased(_refusal(holder or writers[0]))
        process = current_process()._replace(id=process_id)
        epoch = 1 + max(epoch, holding.newest_epoch(settings.leases, session))
        if held is not None:
            held.let_go()
        return holding.take(settings.leases, Holder(session, epoch, time.time_ns(), process, tuple(others))), True


def _record(settings: Settings, lease: Lease, process_id: str) -> None:
    try:
        append_alone(settings, lease_row(lease.session, epoch=lease.epoch, holder=process_id, fences=lease.taken_from))
    except BaseException:
        lease.release()
        raise


def _known(settings: Settings, session: str, process_id: str) -> tuple[list[Holder], int]:
    """The other processes that write the session now without having claimed it, and how often it was claimed."""
    from turnlog import queries

    with queries.reading(settings) as db:
        epoch = max((known.epoch for known in queries.leases(db, session)), default=0)
        found = queries.writers(db, session)
    live = {journal.process_id for journal in list_journals(settings.journals) if not journal.finished}
    heard = time.time_ns() - _HEARD_LATELY
    return [
        Holder(session, 0, writer.since_ns, Process(writer.process_id, writer.host, "", writer.pid, 0))
        for writer in found
        if writer.process_id != process_id
        and (writer.process_id in live or (writer.process_id.startswith(_RECEIVED) and writer.last_ns > heard))
    ], epoch


def _refusal(holder: Holder) -> str:
    return " ".join(_said_of(holder)) + (
        f". Let it end, or take the session over: turnlog run --resume {holder.session} --take-over COMMAND, "
        f"or turnlog.resume({holder.session!r}, take_over=True); what that process does in it afterwards then no longer counts."
    )


def _said_of(holder: Holder) -> Iterator[str]:
    process = holder.process
    yield f"session {holder.session} is being written by"
    yield f"process {process.pid}" if process.pid else "another process"
    program = entry_key(command_of(process.pid)) if process.host == platform.node() else ""
    if program:
        yield f"({program})"
    if process.host:
        yield f"on {process.host}"
    if holder.since_ns:
        yield f"since {datetime.fromtimestamp(holder.since_ns // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"
