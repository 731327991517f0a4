"""The spans that a processor has seen start, until they end and for a while after: whose they are, what is known of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from turnlog.derive.sight import Ask, Sight
from turnlog.identity import Identity
from turnlog.operation import Content

# Spans that an application starts and never ends must not pile up here, prompts and all.
MOST_RUNNING = 16_384
MOST_REMEMBERED = 4096


class Running:
    """What the processor knows of a span between its start and its end. `aside`: another span stands for the same call.
    `call` is what a span directly inside says too when it is about the same call. `said` is what an operation says besides what
    the span that it adopted does; it grows. `inside` are the requests of models that it and the spans around it fulfil."""

    __slots__ = (
        *("aside", "ask", "beside", "call", "content", "identity", "inside", "is_foreign", "is_ours", "key"),
        *("said", "session", "sight", "stamp", "turn"),
    )

    def __init__(self, identity: Identity, content: Content | None = None, aside: bool = False, call: str = "") -> None:
        self.identity = identity
        self.aside = aside
        self.call = call
        self.is_ours = content is not None
        self.content: Content = {} if content is None else content
        self.key = (0, 0)
        self.stamp: Mapping[str, Any] = {}
        self.said: Mapping[str, Any] = {}
        self.beside: Mapping[str, Any] | None = None
        self.is_foreign = content is None
        self.session = identity.session
        self.turn = identity.turn
        self.sight: Sight | None = None
        self.ask: Ask | None = None
        self.inside: tuple[Ask, ...] = ()


class KnownSpans:
    """Several processors may share one: what one of them saw start can be the parent of what another sees."""

    def __init__(self) -> None:
        # By id and start: an application that seeds `random` in each of its threads has two running spans of one id.
        self.running: dict[tuple[int, int], Running] = {}
        self._by_id: dict[int, Running] = {}
        self._ended: OrderedDict[int, Identity] = OrderedDict()

    def copy(self) -> KnownSpans:
        """Those that have ended, to go on from elsewhere."""
        known = KnownSpans()
        known._ended = self._ended.copy()
        return known

    def __contains__(self, span_id: int) -> bool:
        return span_id in self._by_id or span_id in self._ended

    def add(self, span: ReadableSpan, running: Running) -> Running:
        running.key = key_of(span)
        self.running[running.key] = running
        self._by_id[running.key[0]] = running
        if len(self.running) > MOST_RUNNING:
            oldest = next(iter(self.running))
            self.running.pop(oldest, None)
            self._by_id.pop(oldest[0], None)
        return running

    def by_id(self, span_id: int) -> Running | None:
        return self._by_id.get(span_id)

    def identity(self, span_id: int) -> Identity | None:
        running = self._by_id.get(span_id)
        return running.identity if running is not None else self._ended.get(span_id)

    def end(self, span: ReadableSpan) -> Running | None:
        running = self.running.pop(key_of(span), None)
        if running is not None:
            self._by_id.pop(running.key[0], None)
            self.remember(running.key[0], running.identity)
        return running

    def remember(self, span_id: int, identity: Identity) -> None:
        self._ended[span_id] = identity
        if len(self._ended) > MOST_REMEMBERED:
            self._ended.popitem(last=False)

    def forget_running(self) -> None:
        for span_id, running in self._by_id.items():
            self.remember(span_id, running.identity)
        self._by_id.clear()
        self.running.clear()


def key_of(span: ReadableSpan) -> tuple[int, int]:
    context = span._context
    return (context.span_id if context else 0, span._start_time or 0)
