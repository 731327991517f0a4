"""A span that the framework makes by itself, taken for an operation so that turnlog makes no second one for the call.

What the framework says on it stands, turnlog adds what is missing. It ends when the framework ends it; while the framework's
code is still running for the call, that waits for the end of the step, when it is known what the call returned.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Span

from turnlog import semconv
from turnlog.instrument.late import end
from turnlog.operation import Content, Operation, adopt, error_type
from turnlog.span_attributes import attributes_of


class _Run(Protocol):
    @property
    def stepping(self) -> bool: ...
    def finish(self, error: BaseException | None = None) -> None: ...


class Adopted(Operation):
    __slots__ = ("_end", "_over", "run")

    def __init__(self, span: Span, content: Content) -> None:
        super().__init__(span, content)
        self.run: _Run | None = None
        self._over: int | None = None
        self._end = span.end
        span.end = self._framework_ends  # type: ignore[method-assign]

    @classmethod
    def take(cls, span: Span, attributes: Mapping[str, Any], content: Content) -> Adopted | None:
        """Adopt a span that somebody else has started for the operation; not one whose spans do not come to us."""
        return cls(span, content) if adopt(span, attributes, content) else None

    def set(self, attributes: Mapping[str, Any] | None = None, content: Content | None = None) -> None:
        known = attributes_of(self.span) if isinstance(self.span, ReadableSpan) else {}
        super().set({key: value for key, value in (attributes or {}).items() if key not in known}, content)

    def fail(self, error: BaseException) -> None:
        """The status is the framework's to set: for some, a call that was cancelled has not failed."""
        self.set({semconv.ERROR_TYPE: error_type(error)}, {semconv.EXCEPTION_MESSAGE: str(error)})

    def end(self, end_ns: int | None = None) -> None:
        if self._over is not None and not self._ended:
            self._ended = True
            self.run = None
            vars(self.span).pop("end", None)
            self._end(self._over)

    def _framework_ends(self, end_time: int | None = None) -> None:
        self._over = end_time or time.time_ns()
        run = self.run
        if run is None or not run.stepping:
            if run is not None:
                run.finish()
            end(self)


def adopted(span: Any) -> Adopted | None:
    """The operation that a framework's span was taken for, if it was."""
    found = getattr(getattr(span, "end", None), "__self__", None)
    return found if isinstance(found, Adopted) else None
