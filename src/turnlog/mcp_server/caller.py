"""Whose question it is: clients send the trace context of the span in which they ask, and a recorded agent's spans are here."""

from __future__ import annotations

from opentelemetry.trace import format_span_id, format_trace_id, get_current_span

from turnlog.queries import Database, session_of_span


def callers_session(db: Database) -> str:
    """The session of the agent that asks; empty when the client sent no trace context, or one of spans that are not here."""
    context = get_current_span().get_span_context()
    if not context.is_valid:
        return ""
    return session_of_span(db, format_trace_id(context.trace_id), format_span_id(context.span_id))
