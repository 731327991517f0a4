"""Which frameworks are recorded. Importing this imports none of them."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import TracerProvider

from turnlog import semconv
from turnlog.instrument.anthropic import ANTHROPIC
from turnlog.instrument.core import FrameworkStatus, Instrumentation
from turnlog.instrument.langchain import LANGCHAIN
from turnlog.instrument.langgraph import LANGGRAPH
from turnlog.instrument.openai import OPENAI

__all__ = [
    "FRAMEWORKS",
    "FrameworkStatus",
    "instrument",
    "instrument_all",
    "status",
    "uninstrument",
    "uninstrument_all",
]

FRAMEWORKS = (
    OPENAI,
    ANTHROPIC,
    LANGCHAIN,
    LANGGRAPH,
)

_instrumentations = {framework.name: Instrumentation(framework) for framework in FRAMEWORKS}


def instrument(*names: str, tracer_provider: TracerProvider | None = None) -> None:
    """Record the named frameworks, now or as soon as they are imported. A second time changes nothing."""
    tracer = tracer_provider.get_tracer("turnlog", schema_url=semconv.SCHEMA_URL) if tracer_provider else None
    for name in names:
        _instrumentations[name].apply(tracer)


def uninstrument(*names: str) -> None:
    for name in names:
        _instrumentations[name].undo()


def instrument_all(tracer_provider: TracerProvider | None = None) -> None:
    instrument(*_instrumentations, tracer_provider=tracer_provider)


def uninstrument_all() -> None:
    uninstrument(*_instrumentations)


def status() -> list[FrameworkStatus]:
    return [instrumentation.status() for instrumentation in _instrumentations.values()]


def __getattr__(name: str) -> Any:
    # OpenTelemetry's instrumentor base costs 70 ms to import; only its own entry points need it.
    if name.endswith("Instrumentor"):
        from turnlog.instrument.entry_points import INSTRUMENTORS

        if name in INSTRUMENTORS:
            return INSTRUMENTORS[name]
    raise AttributeError(name)
