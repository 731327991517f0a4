"""Frameworks that make spans by themselves: each call has one span, and where theirs come to turnlog, it is theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opentelemetry.trace import NonRecordingSpan, Span, Tracer

from turnlog.instrument.adopted import Adopted
from turnlog.instrument.calls import Account, Start, is_model_call, owner, suppressed
from turnlog.operation import claim_started, lent


def start_native(account: Account, tracer: Tracer, start: Start, make: Callable[[], Span | None]) -> Span | None:
    """Let the framework make its span with `tracer`, and adopt it with what is known of the operation."""
    if suppressed() or not meet(tracer, account.tracer):
        return make()
    outer = owner() if is_model_call(start.attributes) else None
    if outer is not None:
        # The framework goes on as ever, and sends the trace context of the span that stands for the call.
        return NonRecordingSpan(outer.span.get_span_context())
    with lent(start.content):
        span = make()
    if span is not None and span.is_recording():
        account.ask("adopting a span", _adopt, span, start, account.scopes)
    return span


def _adopt(span: Span, start: Start, scopes: tuple[str, ...]) -> None:
    native = Adopted(span, start.content)
    native.set(start.attributes)
    for other in claim_started():
        if other.instrumentation_scope is not None and other.instrumentation_scope.name in scopes:
            native.stand_for(other)


def meet(one: Tracer, other: Tracer) -> bool:
    """Whether the spans of two tracers come to the same processor."""
    first, second = (getattr(getattr(tracer, "_tracer", tracer), "span_processor", None) for tracer in (one, other))
    if first is None or second is None:
        return False
    shared = {id(each) for each in _members(first)} & {id(each) for each in _members(second)}
    return bool(shared)


def _members(processor: Any) -> tuple[Any, ...]:
    return (processor, *getattr(processor, "_span_processors", ()))
