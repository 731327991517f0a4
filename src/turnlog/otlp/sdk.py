"""A span of OpenTelemetry's Python SDK as a received one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from turnlog.received import ReceivedEvent, ReceivedLink, ReceivedSpan

_KINDS = {kind: kind.name.lower() for kind in SpanKind}
_STATUSES = {code: code.name.lower() for code in StatusCode}


def from_sdk(span: ReadableSpan) -> ReceivedSpan:
    context = span.get_span_context()
    if context is None or span.start_time is None or span.end_time is None:
        raise ValueError("only a span that has ended can be received")
    return ReceivedSpan(
        trace_id=format_trace_id(context.trace_id),
        span_id=format_span_id(context.span_id),
        parent_id=format_span_id(span.parent.span_id) if span.parent else "",
        name=span.name,
        start_ns=span.start_time,
        end_ns=span.end_time,
        kind=_KINDS[span.kind],
        status=_STATUSES[span.status.status_code],
        status_message=span.status.description or "",
        scope=span.instrumentation_scope.name if span.instrumentation_scope else "",
        attributes=_plain(span.attributes or {}),
        events=[ReceivedEvent(event.name, event.timestamp, _plain(event.attributes or {})) for event in span.events],
        links=[
            ReceivedLink(format_trace_id(link.context.trace_id), format_span_id(link.context.span_id)) for link in span.links
        ],
        resource=_plain(span.resource.attributes),
    )


def _plain(value: Any) -> Any:
    """Sequences as lists and mappings as dicts, as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value
