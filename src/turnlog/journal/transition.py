"""The row of a lifecycle commit that no traced program makes: `turnlog pause` or `close` append it to a journal of its own."""

from __future__ import annotations

import os
import time
from typing import Any

from turnlog import semconv
from turnlog.content import dump_json, entry_key
from turnlog.semconv import CommitKind, LifecycleState, Outcome

_COLUMNS = {column.key: column.name for column in semconv.COLUMNS}


def transition_row(session: str, *, state: LifecycleState | None = None, reason: str = "", pinned: bool | None = None) -> bytes:
    """A span that began and ended now, in no turn: the loader puts it into the session's turn of that time."""
    now = time.time_ns()
    said: dict[str, Any] = {
        semconv.SESSION_ID: session,
        semconv.COMMIT_KIND: CommitKind.LIFECYCLE,
        semconv.COMMIT_OUTCOME: Outcome.OK,
        semconv.LIFECYCLE_STATE: state,
        semconv.LIFECYCLE_PAUSE_REASON: entry_key(reason) or None,
        semconv.LIFECYCLE_PINNED: pinned,
    }
    row = {
        "record": "end",
        "trace_id": os.urandom(16).hex(),
        "span_id": os.urandom(8).hex(),
        "name": f"session {state or ('pinned' if pinned else 'unpinned')}",
        "span_kind": "internal",
        "start_ns": now,
        "end_ns": now,
        "status": "unset",
        "scope": "turnlog",
        **{_COLUMNS[key]: value for key, value in said.items() if value is not None},
    }
    return dump_json(row) + b"\n"
