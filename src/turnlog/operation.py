"""One running GenAI operation: a span, and beside it the content that the span itself must not carry.

Instrumentations and the by-hand API start operations; the SessionProcessor reads the content at span start and just
before span end, so that state can be derived without a prompt or a result ever becoming an attribute.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, overload

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, Status, StatusCode

from turnlog import semconv
from turnlog.span_attributes import attributes_of

Content = dict[str, Any]

_starting = threading.local()


class Messages(Sequence[Mapping[str, Any]]):
    """A framework's messages, read in place and converted to the GenAI form one at a time, only when asked for.

    A model call repeats its whole history; converting all of it on every call is where peers spend their time.
    """

    __slots__ = ("_convert", "_last", "_mark", "_raw", "follows")

    def __init__(
        self,
        raw: Sequence[Any],
        convert: Callable[[Any], Mapping[str, Any]],
        *,
        mark: Callable[[Any], Any] | None = None,
        follows: bool = False,
    ) -> None:
        """`mark` gives what a message can be compared by, unless it compares well itself. `follows`: these come after a history
        that the server keeps."""
        self._raw = raw
        self._convert = convert
        self._mark = mark
        self._last: tuple[int, Any, Mapping[str, Any]] | None = None
        self.follows = follows

    def marks(self) -> list[Any]:
        """Something per message that is equal for equal messages and quick to compare."""
        return list(self._raw) if self._mark is None else [self._mark(raw) for raw in self._raw]

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        if isinstance(index, slice):
            return [self._convert(raw) for raw in self._raw[index]]
        raw = self._raw[index]
        last = self._last
        if last is None or last[0] != index or last[1] is not raw:
            last = self._last = (index, raw, self._convert(raw))
        return last[2]


class Operation:
    """A span that is started, made current only around calls, and ended exactly once."""

    __slots__ = ("_ended", "content", "span")

    def __init__(self, span: trace.Span, content: Content) -> None:
        self.span = span
        self.content = content
        self._ended = False

    @classmethod
    def start(
        cls,
        name: str,
        attributes: Mapping[str, Any],
        content: Content | None = None,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        parent: Context | None = None,
        links: Sequence[trace.Link] = (),
        tracer: trace.Tracer | None = None,
        start_ns: int | None = None,
    ) -> Operation:
        content = {} if content is None else content
        outer = getattr(_starting, "content", None)
        _starting.content = content
        try:
            span = (tracer or default_tracer()).start_span(
                name, context=parent, kind=kind, attributes=dict(attributes), links=links, start_time=start_ns
            )
        finally:
            _starting.content = outer
        return cls(span, content)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Make the span current for one call. Never hold this across a `yield` of the caller's."""
        with trace.use_span(self.span, end_on_exit=False, record_exception=False, set_status_on_exception=False):
            yield

    def set(self, attributes: Mapping[str, Any] | None = None, content: Content | None = None) -> None:
        if attributes:
            self.span.set_attributes({key: value for key, value in attributes.items() if value is not None})
        if content:
            self.content.update(content)

    def fail(self, error: BaseException) -> None:
        """Record how the operation failed. The message stays content: the processor puts its redacted form on the span."""
        self.fail_with(error_type(error), str(error))

    def fail_with(self, kind: str, message: str = "") -> None:
        self.set({semconv.ERROR_TYPE: kind}, {semconv.EXCEPTION_MESSAGE: message} if message else None)
        self.span.set_status(Status(StatusCode.ERROR))

    def end(self, end_ns: int | None = None) -> None:
        if not self._ended:
            self._ended = True
            self.span.end(end_ns)


@contextlib.contextmanager
def lent(content: Content) -> Iterator[None]:
    """A span that a framework starts in this block has this content."""
    _starting.content = content
    try:
        yield
    finally:
        _starting.content = None


def claim_content() -> Content | None:
    """The content of the operation whose span is starting on this thread; nothing for a foreign span."""
    content: Content | None = getattr(_starting, "content", None)
    return content


class _Processor(Protocol):
    def knows(self, span: ReadableSpan) -> bool: ...
    def adopt(self, span: ReadableSpan, content: Content) -> None: ...


# Scopes whose spans stand for calls that our own hooks see too, by how many frameworks await them.
awaited: Counter[str] = Counter()
processors: weakref.WeakSet[_Processor] = weakref.WeakSet()


def adopt(span: trace.Span, attributes: Mapping[str, Any], content: Content) -> bool:
    """Take a running span of an awaited scope for an operation. What it says stands, the rest is added; false when its spans
    do not come to us."""
    if not isinstance(span, ReadableSpan) or not span.is_recording():
        return False
    takers = [processor for processor in list(processors) if processor.knows(span)]
    if takers:
        known = attributes_of(span)
        span.set_attributes({key: value for key, value in attributes.items() if value is not None and key not in known})
    for processor in takers:
        processor.adopt(span, content)
    return bool(takers)


_chosen: trace.TracerProvider | None = None
_tracers: tuple[trace.TracerProvider, trace.Tracer] | None = None


def use_provider(provider: trace.TracerProvider | None) -> None:
    """Where operations go from now on; None is whatever provider is global."""
    global _chosen
    _chosen = provider


def default_tracer() -> trace.Tracer:
    """The current provider's tracer; kept, because asking the SDK for one costs as much as a span."""
    global _tracers
    provider = _chosen or trace.get_tracer_provider()
    if _tracers is None or _tracers[0] is not provider:
        _tracers = (provider, provider.get_tracer("turnlog", schema_url=semconv.SCHEMA_URL))
    return _tracers[1]


def error_type(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__ if kind.__module__ in {"builtins", "asyncio.exceptions"} else f"{kind.__module__}.{kind.__qualname__}"
    )
