"""`OTEL_TRACES_EXPORTER=turnlog`: the exporter that OpenTelemetry's zero-code set-up constructs without arguments.

Its real work is to switch the journal on. Spans that the SessionProcessor has seen are in the journal by the time a batch
comes here; only spans of a provider without it are taken in now, as if they had been sent from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from turnlog import runtime
from turnlog.intake import Intake, IntakeFull
from turnlog.otlp.sdk import from_sdk


class TurnlogExporter(SpanExporter):
    def __init__(self) -> None:
        self._runtime = runtime.start()
        self._intake: Intake | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """SUCCESS means that every span of the batch is safe."""
        active = self._runtime
        if active is None:
            return SpanExportResult.SUCCESS
        spans = [span for span in spans if not active.has_seen(span)]
        if not spans:
            return SpanExportResult.SUCCESS
        if self._intake is None:
            self._intake = Intake(active.settings)
            self._intake.start()
        try:
            self._intake.take([from_sdk(span) for span in spans])
        except IntakeFull:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True

    def shutdown(self) -> None:
        if self._intake is not None:
            self._intake.close()
            self._intake = None
        if self._runtime is not None:
            self._runtime.journal.close()
