"""What an agent reports of itself: decisions, facts and open work, derived and journaled as what it states in process is.

The rows go to a journal of this process and are marked. They are said in the turn that the session is in, and open none.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import format_span_id, format_trace_id

from turnlog import semconv
from turnlog.content import SUMMARY_LIMIT, ContentPolicy
from turnlog.errors import StoreNotWritable, TurnlogError
from turnlog.identity import Sessions
from turnlog.journal.writer import JournalWriter
from turnlog.operation import Operation
from turnlog.processor import SessionProcessor
from turnlog.settings import Capture, Settings
from turnlog.stating import Statement


class Reports:
    """The statements of one server process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._journal = JournalWriter(settings)
        processor = SessionProcessor(ContentPolicy(settings), Sessions(), self._journal, tells_starts=False)
        self._provider = TracerProvider(sampler=ALWAYS_ON, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._lock = threading.Lock()

    def state(self, session: str, turn_id: str, statement: Statement) -> str:
        """Write a statement down, and give the id of its commit. Raises StoreNotWritable."""
        if self._settings.disabled:
            raise TurnlogError("nothing is kept: TURNLOG_DISABLED or OTEL_SDK_DISABLED is set for this server. Unset it.")
        attributes = {
            semconv.SESSION_ID: session,
            semconv.COMMIT_KIND: statement.kind.value,
            semconv.COMMIT_SELF_REPORTED: True,
        }
        if turn_id:
            attributes[semconv.TURN_ID] = turn_id
        with self._lock:
            lost = self._journal.lost
            operation = Operation.start(
                statement.name, attributes, statement.content, tracer=self._provider.get_tracer("turnlog")
            )
            operation.end()
            if self._journal.lost > lost:
                raise StoreNotWritable(f"cannot write in {self._settings.journals}: nothing was recorded. Make room there.")
        return commit_id(self._journal.process.id, operation.span)

    def close(self) -> None:
        self._journal.close()


def unkept(settings: Settings, texts: Iterable[str]) -> str:
    """What an agent must know that relies on its words being there later."""
    if settings.capture is Capture.NONE:
        return ". Its words are not kept: this server runs with TURNLOG_CAPTURE=none"
    if any(len(text) > SUMMARY_LIMIT for text in texts):
        return f". Only {SUMMARY_LIMIT} characters of a text are kept: say it shorter, or in several"
    return ""


def commit_id(process: str, span: Any) -> str:
    """The id that the store will give to a span of a process (`stage.sql`)."""
    context = span.get_span_context()
    name = f"{process}{format_trace_id(context.trace_id)}{format_span_id(context.span_id)}{span.start_time}"
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()[:16]
