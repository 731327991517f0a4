"""What OpenTelemetry's zero-code loader calls: one instrumentor per framework, around the same instrumentation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

from turnlog.instrument import FRAMEWORKS, instrument, uninstrument


class _Instrumentor(BaseInstrumentor):  # type: ignore[misc]
    """BaseInstrumentor makes one instance per class, so each framework needs a class."""

    names: tuple[str, ...] = ()

    def instrumentation_dependencies(self) -> Collection[str]:
        return [framework.requires for framework in FRAMEWORKS if framework.name in self.names][:1]

    def _instrument(self, **kwargs: Any) -> None:
        from turnlog import runtime

        provider = kwargs.get("tracer_provider")
        runtime.attach(provider)
        instrument(*self.names, tracer_provider=provider)

    def _uninstrument(self, **kwargs: Any) -> None:
        uninstrument(*self.names)


class OpenAIInstrumentor(_Instrumentor):
    names = ("openai",)


class AnthropicInstrumentor(_Instrumentor):
    names = ("anthropic",)


class LangChainInstrumentor(_Instrumentor):
    names = ("langchain", "langgraph")
