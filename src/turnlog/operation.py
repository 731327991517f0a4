"""One running GenAI operation: a span, and beside it the content that the span itself must not carry.

Instrumentations and the by-hand API start operations; the SessionProcessor reads the content at span start and just
before span end, so that state can be derived without a prompt or a result ever becoming an attribute.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol, overload

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, Status, StatusCode

from turnlog import semconv
from turnlog.span_attributes import attributes_of, set_attributes
from turnlog.unsampled import in_context, record_unsampled

SCOPE = "turnlog"
Content = dict[str, Any]

# The record of a tool call that came to no function of a tool: whoever answered it does so again in a replay.
UNRUN = {"unrun": True}

_MOST_STARTED = 16

_starting = threading.local()
# The operation whose code runs here. Another instrumentation may replace OpenTelemetry's context, but not this.
innermost: ContextVar[Operation | None] = ContextVar("turnlog_innermost", default=None)


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
            tracer = tracer or default_tracer()
            parent = _known_parent() if parent is None else parent
            options: dict[str, Any] = {"kind": kind, "attributes": dict(attributes), "links": links, "start_time": start_ns}
            span = tracer.start_span(name, context=parent, **options)
            if not span.is_recording():
                span = record_unsampled(span, tracer, processors, name, parent, **options)
        finally:
            _starting.content = outer
        return cls(span, content)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Make the span current for one call. Never hold this across a `yield` of the caller's."""
        token, before = attach(in_context(self.span)), innermost.set(self)
        try:
            yield
        finally:
            # A block can be left in another context than it was entered in: there is nothing to put back then.
            with contextlib.suppress(ValueError):
                innermost.reset(before)
            detach(token)

    def known(self) -> Mapping[str, Any]:
        """What its attributes are so far."""
        span = unwrapped(self.span)
        return attributes_of(span) if isinstance(span, ReadableSpan) else {}

    def set(self, attributes: Mapping[str, Any] | None = None, content: Content | None = None) -> None:
        if attributes:
            set_attributes(self.span, {key: value for key, value in attributes.items() if value is not None})
        if content:
            self.content.update(content)

    def fail(self, error: BaseException) -> None:
        """Record how the operation failed. The message stays content: the processor puts its redacted form on the span."""
        self.fail_with(error_type(error), error_text(error))

    def fail_with(self, kind: str, message: str = "") -> None:
        self.set({semconv.ERROR_TYPE: kind}, {semconv.EXCEPTION_MESSAGE: message} if message else None)
        self.span.set_status(Status(StatusCode.ERROR))

    def end(self, end_ns: int | None = None) -> None:
        if not self._ended:
            self._ended = True
            self.span.end(end_ns)


def _known_parent() -> Context | None:
    """The operation around, where the current span is one that does not come to us: sampled out, or another provider's."""
    outer = innermost.get()
    if outer is None or not outer.span.is_recording():
        return None
    here, there = trace.get_current_span(), outer.span
    return trace.set_span_in_context(there) if not has_come(here) and has_come(there) else None


def has_come(span: trace.Span) -> bool:
    """Whether a span is one of those that turnlog records."""
    span_id = span.get_span_context().span_id
    return any(processor.has_seen(span_id) for processor in list(processors))


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
    @property
    def store(self) -> str: ...
    def knows(self, span: ReadableSpan) -> bool: ...
    def adopt(self, span: ReadableSpan, content: Content, said: Mapping[str, Any]) -> None: ...
    def hear(self, span: ReadableSpan) -> None: ...
    def stamp_of(self, span: ReadableSpan) -> Mapping[str, Any]: ...
    def accompany(self, span: ReadableSpan, adopted: ReadableSpan) -> None: ...
    def has_seen(self, span_id: int) -> bool: ...


# Scopes whose spans stand for calls that our own hooks see too, by how many frameworks await them.
awaited: Counter[str] = Counter()
processors: weakref.WeakSet[_Processor] = weakref.WeakSet()


def unwrapped(span: Any) -> Any:
    """The span itself: some instrumentations have proxies of their spans current."""
    while (inner := getattr(span, "__wrapped__", None)) is not None:
        span = inner
    return span


def note_started(span: ReadableSpan) -> None:
    """A span of an awaited scope has started on this thread: if its instrumentation is a callback, it is current nowhere."""
    started = getattr(_starting, "spans", None)
    if started is None:
        started = _starting.spans = deque(maxlen=_MOST_STARTED)
    started.append(span)


def claim_started() -> list[ReadableSpan]:
    """The spans of awaited scopes that have started on this thread since this was last asked, newest first."""
    started = getattr(_starting, "spans", None)
    if not started:
        return []
    found = list(reversed(started))
    started.clear()
    return found


def adopt(span: trace.Span, said: Mapping[str, Any], content: Content) -> bool:
    """Take a running span of an awaited scope for an operation. What it says stands; what is in `said` when it ends is added.
    False when its spans do not come to us."""
    if not isinstance(span, ReadableSpan) or not span.is_recording():
        return False
    takers = [processor for processor in list(processors) if processor.knows(span)]
    for processor in takers:
        processor.adopt(span, content, said)
    return bool(takers)


def accompany(span: ReadableSpan, adopted: ReadableSpan) -> None:
    """One more span stands for the call of an adopted one: it is no commit, and is where the other is."""
    for processor in list(processors):
        if processor.knows(span):
            processor.accompany(span, adopted)


def hear(operation: Operation) -> None:
    """What a call has come to so far counts already: a tool that a model asked for starts before its call is over, and an agent
    ends before the span of the tool that failed in it."""
    if isinstance(operation.span, ReadableSpan):
        for processor in list(processors):
            processor.hear(operation.span)


def stamp_of(operation: Operation) -> Mapping[str, Any]:
    """What was said of an operation when it began: its session and turn, the context it sees, the hash of its input."""
    span = unwrapped(operation.span)
    stamps = (processor.stamp_of(span) for processor in list(processors)) if isinstance(span, ReadableSpan) else ()
    return next(filter(None, stamps), {})


_chosen: trace.TracerProvider | None = None
_tracers: dict[str, tuple[trace.TracerProvider, trace.Tracer]] = {}


def use_provider(provider: trace.TracerProvider | None) -> None:
    """Where operations go from now on; None is whatever provider is global."""
    global _chosen
    _chosen = provider


def default_tracer(scope: str = SCOPE) -> trace.Tracer:
    """The current provider's tracer; kept, because asking the SDK for one costs as much as a span."""
    provider = _chosen or trace.get_tracer_provider()
    known = _tracers.get(scope)
    if known is None or known[0] is not provider:
        known = _tracers[scope] = (provider, provider.get_tracer(scope, schema_url=semconv.SCHEMA_URL))
    return known[1]


def error_text(error: BaseException) -> str:
    """Its message; none of one that cannot say it."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the application's own error must reach it
        return ""


def error_type(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__ if kind.__module__ in {"builtins", "asyncio.exceptions"} else f"{kind.__module__}.{kind.__qualname__}"
    )
