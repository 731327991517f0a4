"""Rows of lifecycle commits that no traced program makes: what `turnlog pause` or `close` say, and claims by one writer."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from turnlog import semconv
from turnlog.content import dump_json, entry_key
from turnlog.errors import StoreNotWritable
from turnlog.journal.writer import JournalWriter
from turnlog.semconv import CommitKind, LifecycleState, Outcome
from turnlog.settings import Settings

_COLUMNS = {column.key: column.name for column in semconv.COLUMNS}


def transition_row(session: str, *, state: LifecycleState | None = None, reason: str = "", pinned: bool | None = None) -> bytes:
    return _row(
        f"session {state or ('pinned' if pinned else 'unpinned')}",
        {
            semconv.SESSION_ID: session,
            semconv.LIFECYCLE_STATE: state,
            semconv.LIFECYCLE_PAUSE_REASON: entry_key(reason) or None,
            semconv.LIFECYCLE_PINNED: pinned,
        },
    )


def lease_row(session: str, *, epoch: int = 0, holder: str = "", fences: Sequence[str] = ()) -> bytes:
    """A claim; or, without a holder, only that what those processes do in the session from now on does not count."""
    done = ("taken over by" if fences else "claimed by") if holder else "fenced:"
    return _row(
        f"session {'claimed' if holder else 'fenced'}",
        {
            semconv.SESSION_ID: session,
            semconv.COMMIT_INPUT_SUMMARY: f"{done} process {os.getpid()}",
            semconv.LEASE_EPOCH: epoch or None,
            semconv.LEASE_HOLDER: holder or None,
            semconv.LEASE_FENCES: list(fences) or None,
        },
    )


def append_alone(settings: Settings, row: bytes) -> None:
    """Write a row into a journal of its own; raises StoreNotWritable."""
    writer = JournalWriter(settings)
    written = writer.append(row)
    writer.close()
    if not written:
        raise StoreNotWritable(f"cannot write in {settings.journals}. Set TURNLOG_DIR to a directory you can write.")


def _row(name: str, said: dict[str, Any]) -> bytes:
    """A span that began and ended now, in no turn: the loader puts it into the session's turn of that time."""
    now = time.time_ns()
    said |= {semconv.COMMIT_KIND: CommitKind.LIFECYCLE, semconv.COMMIT_OUTCOME: Outcome.OK}
    row = {
        "record": "end",
        "trace_id": os.urandom(16).hex(),
        "span_id": os.urandom(8).hex(),
        "name": name,
        "span_kind": "internal",
        "start_ns": now,
        "end_ns": now,
        "status": "unset",
        "scope": "turnlog",
        **{_COLUMNS[key]: value for key, value in said.items() if value is not None},
    }
    return dump_json(row) + b"\n"
