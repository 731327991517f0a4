"""`OTEL_TRACES_EXPORTER=turnlog`: the exporter that OpenTelemetry's zero-code set-up constructs without arguments.

Its real work is to switch the journal on. Spans that the SessionProcessor has seen are in the journal by the time a batch
comes here; only spans of a provider without it are derived and written now.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from turnlog import runtime
from turnlog.ingest import with_state
from turnlog.journal.record import span_row


class TurnlogExporter(SpanExporter):
    def __init__(self) -> None:
        self._runtime = runtime.start()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """SUCCESS means that every span of the batch is in the journal."""
        active = self._runtime
        if active is None or active.is_attached:
            return SpanExportResult.SUCCESS
        rows = [span_row(with_state(span, active.policy), "end", active.policy) for span in spans]
        return SpanExportResult.SUCCESS if active.journal.append(b"".join(rows), len(rows)) else SpanExportResult.FAILURE

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True

    def shutdown(self) -> None:
        if self._runtime is not None:
            self._runtime.journal.close()
