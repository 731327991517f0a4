"""What a thread takes along from where it was started: the session that was named there, the operation and the span around.

Only turnlog's own variables. OpenTelemetry's context stays behind as Python leaves it: with turnlog or without, an
application's own spans have the same parents.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

from opentelemetry import trace

from turnlog.identity import named_session
from turnlog.operation import Operation, has_come, innermost

# The id of the span inside which somebody handed over what runs here.
origin: ContextVar[int] = ContextVar("turnlog_origin", default=0)
_VARIABLES: tuple[ContextVar[Any], ...] = (named_session, innermost, origin)


class Carried(NamedTuple):
    session: str
    operation: Operation | None
    span_id: int


NOTHING = Carried("", None, 0)


def carried_from_here() -> Carried | None:
    """What code takes along that is handed over here; None when that is nothing."""
    session, operation, span_id = named_session.get(), innermost.get(), origin.get()
    current = trace.get_current_span()
    if current is not trace.INVALID_SPAN and has_come(current):
        span_id = current.get_span_context().span_id
    elif operation is not None:
        span_id = operation.span.get_span_context().span_id
    return Carried(session, operation, span_id) if session or operation is not None or span_id else None


def is_here() -> bool:
    """Whether this code has something already: Python itself can hand a context over."""
    return any(variable.get() for variable in _VARIABLES)


def run_with(carried: Carried, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    tokens = [variable.set(value) for variable, value in zip(_VARIABLES, carried, strict=True)]
    try:
        return function(*args, **kwargs)
    finally:
        for variable, token in zip(_VARIABLES, tokens, strict=True):
            variable.reset(token)
