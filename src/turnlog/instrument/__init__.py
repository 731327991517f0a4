"""Which frameworks are recorded. Importing this imports none of them."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import TracerProvider

from turnlog.instrument import threads
from turnlog.instrument.agent_framework import AGENT_FRAMEWORK
from turnlog.instrument.anthropic import ANTHROPIC
from turnlog.instrument.claude_agent_sdk import CLAUDE_AGENT_SDK
from turnlog.instrument.core import FrameworkStatus, Instrumentation
from turnlog.instrument.crewai import CREWAI
from turnlog.instrument.fastmcp import FASTMCP
from turnlog.instrument.google_adk import GOOGLE_ADK
from turnlog.instrument.langchain import LANGCHAIN
from turnlog.instrument.langgraph import LANGGRAPH
from turnlog.instrument.llama_index import LLAMA_INDEX
from turnlog.instrument.mcp import MCP
from turnlog.instrument.openai import OPENAI
from turnlog.instrument.openai_agents import OPENAI_AGENTS
from turnlog.instrument.pydantic_ai import PYDANTIC_AI
from turnlog.instrument.strands import STRANDS

__all__ = [
    "FRAMEWORKS",
    "FrameworkStatus",
    "check",
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
    OPENAI_AGENTS,
    CLAUDE_AGENT_SDK,
    MCP,
    FASTMCP,
    STRANDS,
    AGENT_FRAMEWORK,
    PYDANTIC_AI,
    GOOGLE_ADK,
    LLAMA_INDEX,
    CREWAI,
)

_instrumentations = {framework.name: Instrumentation(framework) for framework in FRAMEWORKS}


def instrument(*names: str, tracer_provider: TracerProvider | None = None) -> None:
    """Record the named frameworks, now or as soon as they are imported. A second time changes nothing."""
    threads.follow()
    for name in names:
        _instrumentations[name].apply(tracer_provider)


def uninstrument(*names: str) -> None:
    for name in names:
        _instrumentations[name].undo()
    if not any(instrumentation.active for instrumentation in _instrumentations.values()):
        threads.leave()


def instrument_all(tracer_provider: TracerProvider | None = None) -> None:
    instrument(*_instrumentations, tracer_provider=tracer_provider)


def uninstrument_all() -> None:
    uninstrument(*_instrumentations)


def status() -> list[FrameworkStatus]:
    return [instrumentation.status() for instrumentation in _instrumentations.values()]


def check() -> list[FrameworkStatus]:
    """Hook every framework that is installed here, for real, and say what could not be hooked. Imports all of them."""
    instrument_all()
    for instrumentation in _instrumentations.values():
        instrumentation.import_all()
    found = status()
    uninstrument_all()
    return found


def __getattr__(name: str) -> Any:
    # OpenTelemetry's instrumentor base costs 70 ms to import; only its own entry points need it.
    if name.endswith("Instrumentor"):
        from turnlog.instrument.entry_points import INSTRUMENTORS

        if name in INSTRUMENTORS:
            return INSTRUMENTORS[name]
    raise AttributeError(name)
