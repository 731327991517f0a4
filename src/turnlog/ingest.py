"""Spans that ended without a SessionProcessor: identity and commit from what they carry, by the same deriver.

For the exporter when it is used alone, and for whatever else receives finished spans.
"""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode, format_span_id, format_trace_id

from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.derive import derive


def with_state(span: ReadableSpan, policy: ContentPolicy) -> ReadableSpan:
    """The span with session, turn and commit. Nothing is known beyond the span itself, so a trace stands for a turn, and for
    the session too when nobody named one."""
    context = span.get_span_context()
    attributes: dict[str, Any] = dict(span.attributes or {})
    if context is None or semconv.TURN_ID in attributes:
        return span
    trace = format_trace_id(context.trace_id)
    failed = span.status.status_code is StatusCode.ERROR
    commit = derive(format_span_id(context.span_id), attributes, {}, failed, policy)
    attributes[semconv.SESSION_ID] = (
        attributes.get(semconv.SESSION_ID) or attributes.get(semconv.GEN_AI_CONVERSATION_ID) or trace
    )
    attributes[semconv.TURN_ID] = trace
    if commit is not None:
        attributes |= commit.attributes()
    return ReadableSpan(
        name=span.name,
        context=context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
