"""Spans that the application's sampler leaves out: sampling is about what is exported, and the state of a session has no gaps.

Such an operation gets a span under the very ids that the sampler refused, not sampled, which only turnlog's own processors see.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any

from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision, StaticSampler
from opentelemetry.trace import Span, SpanContext, Tracer, get_current_span, set_span_in_context

_WITHIN = otel.create_key("turnlog-unsampled")
_refused = threading.local()
_tracers: weakref.WeakKeyDictionary[Any, tuple[tuple[int, ...], Tracer]] = weakref.WeakKeyDictionary()


class _RefusedIds(IdGenerator):
    def generate_trace_id(self) -> int:
        context: SpanContext = _refused.context
        return context.trace_id

    def generate_span_id(self) -> int:
        context: SpanContext = _refused.context
        return context.span_id


def record_unsampled(
    refused: Span, tracer: Tracer, processors: Iterable[Any], name: str, parent: Context | None, **options: Any
) -> Span:
    """The span to use in place of one that is not recording: itself, unless it was a sampler that refused it."""
    context = refused.get_span_context()
    above = get_current_span(parent).get_span_context()
    # A tracer that is switched off passes on its parent's context: nobody was asked.
    if not context.is_valid or context.span_id == above.span_id:
        return refused
    beside = _tracer_beside(getattr(tracer, "_tracer", tracer), processors)
    if beside is None:
        return refused
    within = otel.get_value(_WITHIN, parent)
    if isinstance(within, Span) and not any(each.has_seen(above.span_id) for each in processors):
        # The application's spans in between were refused too.
        parent = set_span_in_context(within, parent)
    _refused.context = context
    return beside.start_span(name, context=parent, **options)


def in_context(span: Span) -> Context:
    """The context in which a span's code runs."""
    context = set_span_in_context(span)
    sampled = span.get_span_context().trace_flags.sampled or not span.is_recording()
    return context if sampled else otel.set_value(_WITHIN, span, context)


def _tracer_beside(tracer: Any, processors: Iterable[Any]) -> Tracer | None:
    served = getattr(tracer, "span_processor", None)
    ours = [each for each in processors if each is served or each in getattr(served, "_span_processors", ())]
    ours = [each for each in ours if not each.is_retired and isinstance(each, SpanProcessor)]
    if not ours:
        return None
    known, found = _tracers.get(tracer, ((), None))
    if found is None or known != tuple(map(id, ours)):
        sampler = StaticSampler(Decision.RECORD_ONLY)
        provider = TracerProvider(sampler, Resource.get_empty(), False, id_generator=_RefusedIds())
        for each in ours:
            provider.add_span_processor(each)
        found = provider.get_tracer("turnlog")
        # Turnlog can have been shut down and started anew on the same provider.
        _tracers[tracer] = tuple(map(id, ours)), found
    return found
