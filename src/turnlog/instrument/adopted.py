"""A span that the framework makes by itself, taken for an operation so that turnlog makes no second one for the call.

What the framework says on it stands, turnlog adds what is missing. It ends when the framework ends it; while the framework's
code is still running for the call, that waits for the end of the step, when it is known what the call returned. The span of
another instrumentation, which cannot know when our hook has read the call to its end, waits for that. One that is made inside
the call is expected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from opentelemetry.trace import Span

from turnlog import semconv
from turnlog.instrument.late import end, wait_for_other
from turnlog.operation import Content, Operation, accompany, adopt, error_type, hear, innermost, unwrapped
from turnlog.span_attributes import set_attributes


class _Run(Protocol):
    @property
    def stepping(self) -> bool: ...
    def finish(self, error: BaseException | None = None) -> None: ...


class Adopted(Operation):
    __slots__ = ("__weakref__", "_done", "_end", "_operation", "_over", "_said", "run", "waits")

    def __init__(self, span: Span, content: Content, said: dict[str, Any] | None = None, waits: bool = False) -> None:
        super().__init__(span, content)
        self.run: _Run | None = None
        self.waits = waits
        self._done = 0
        self._over: int | None = None
        self._said = said
        self._operation = super().known().get(semconv.GEN_AI_OPERATION_NAME)
        self._end = span.end
        span.end = self._framework_ends  # type: ignore[method-assign]
        span._turnlog = self  # type: ignore[attr-defined]

    @classmethod
    def take(cls, span: Span, attributes: Mapping[str, Any], content: Content, waits: bool = False) -> Adopted | None:
        """Adopt a span that somebody else has started for the operation; not one whose spans do not come to us. One that
        `waits` ends when both it and the operation are told to."""
        said = {key: value for key, value in attributes.items() if value is not None}
        return cls(span, content, said, waits) if adopt(span, said, content) else None

    def stand_for(self, span: Any) -> None:
        """One more span of somebody else is about this call."""
        accompany(span, self.span)  # type: ignore[arg-type]
        span._turnlog = self

    def known(self) -> Mapping[str, Any]:
        known = {**(self._said or {}), **super().known()}
        if self._operation:
            known[semconv.GEN_AI_OPERATION_NAME] = self._operation
        return known

    def set(self, attributes: Mapping[str, Any] | None = None, content: Content | None = None) -> None:
        attributes = {key: value for key, value in (attributes or {}).items() if value is not None}
        if self.waits and semconv.ERROR_TYPE in attributes:
            self.content[semconv.ERROR_TYPE] = attributes[semconv.ERROR_TYPE]
        if self._said is None:
            known = self.known()
            attributes = {key: value for key, value in attributes.items() if key not in known}
        else:
            # Beside the span until it ends: its instrumentation may yet fill it.
            self._said.update(attributes)
            attributes = {}
        super().set(attributes, content)

    def fail(self, error: BaseException) -> None:
        """The status is the framework's to set: for some, a call that was cancelled has not failed."""
        self.set({semconv.ERROR_TYPE: error_type(error)}, {semconv.EXCEPTION_MESSAGE: str(error)})

    def end(self, end_ns: int | None = None) -> None:
        self._done = self._done or time.time_ns()
        if self._over is not None and not self._ended:
            self._ended = True
            self.run = None
            for name in ("end", "_turnlog"):
                vars(self.span).pop(name, None)
            if self.waits:
                # What our hook saw is what the commit says.
                self.content.setdefault(semconv.ERROR_TYPE, "")
            if self._operation and super().known().get(semconv.GEN_AI_OPERATION_NAME) not in (None, self._operation):
                # Where others keep the framework from making a span of a call inside, it writes of that call here.
                set_attributes(self.span, {semconv.GEN_AI_OPERATION_NAME: self._operation})
            self._end(self._over)
        elif self.waits and not self._ended:
            if self.content.get(semconv.ERROR_TYPE):
                # The agent around may end, and pass the failure on, before the other instrumentation hears of it.
                hear(self)
            wait_for_other(self)

    def give_up(self) -> None:
        """The call is over and its instrumentation will not hear of it, or has forgotten it: end the span in its place."""
        if not self._ended:
            self._over = self._over or self._done or time.time_ns()
            end(self)
            self.span.end = self._framework_ends  # type: ignore[method-assign]

    def __del__(self) -> None:
        """Whoever forgets a span has not ended it."""
        if self.waits and self._done and not self._ended:
            self._over = self._done
            end(self)

    def _framework_ends(self, end_time: int | None = None) -> None:
        if self._ended:
            return
        self._over = end_time or time.time_ns()
        run = self.run
        if self.waits:
            if self._done:
                end(self)
        elif run is None or not run.stepping:
            if run is not None:
                run.finish()
            end(self)


class Expected(Operation):
    """An operation for which another instrumentation makes a span when the call has begun. It begins when somebody asks for its
    span: theirs if it is there by then, else ours."""

    __slots__ = ("_around", "_begin", "_begun")

    def __init__(self, begin: Callable[[], Operation], content: Content) -> None:
        self.content = content
        self._around = innermost.get()
        self._begin = begin
        self._begun: Operation | None = None

    @property
    def span(self) -> Span:  # type: ignore[override]
        return self._operation.span

    @property
    def _operation(self) -> Operation:
        if self._begun is None:
            itself = innermost.set(self._around)
            try:
                self._begun = self._begin()
            finally:
                innermost.reset(itself)
        return self._begun

    def known(self) -> Mapping[str, Any]:
        return self._operation.known()

    def set(self, attributes: Mapping[str, Any] | None = None, content: Content | None = None) -> None:
        self._operation.set(attributes, content)

    def fail(self, error: BaseException) -> None:
        self._operation.fail(error)

    def fail_with(self, kind: str, message: str = "") -> None:
        self._operation.fail_with(kind, message)

    def end(self, end_ns: int | None = None) -> None:
        self._operation.end(end_ns)


def adopted(span: Any) -> Adopted | None:
    """The operation that a framework's span was taken for, if it was."""
    found = getattr(unwrapped(span), "_turnlog", None)
    return found if isinstance(found, Adopted) else None
