"""Other instrumentations of the OpenAI SDK and LangChain, each switched on as its documentation says, with an exporter that
throws away what it is given.

They need a virtual environment of their own: `python3 -m venv V && V/bin/pip install -e '.[demo]' -r tests/bench/peers.txt`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib.metadata import distributions
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult


class Discard(SpanExporter):
    def export(self, spans: Sequence[Any]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def discarding_provider() -> TracerProvider:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(Discard()))
    trace.set_tracer_provider(provider)
    return provider


def official() -> None:
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    provider = discarding_provider()
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    LangChainInstrumentor().instrument(tracer_provider=provider)


def official_content() -> None:
    """The same, told to put messages on its spans, as the other peers do unasked."""
    os.environ |= {
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    }
    official()


def openinference() -> None:
    from openinference.instrumentation.langchain import LangChainInstrumentor
    from openinference.instrumentation.openai import OpenAIInstrumentor

    provider = discarding_provider()
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    LangChainInstrumentor().instrument(tracer_provider=provider)


def openllmetry() -> None:
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    provider = discarding_provider()
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    LangchainInstrumentor().instrument(tracer_provider=provider)


def openlit() -> None:
    import openlit

    discarding_provider()
    openlit.init(disable_metrics=True, disable_events=True)


def logfire() -> None:
    import logfire

    logfire.configure(
        send_to_logfire=False, console=False, metrics=False, additional_span_processors=[SimpleSpanProcessor(Discard())]
    )
    logfire.instrument_openai()
    # Its way to LangChain is LangSmith's own OpenTelemetry export.
    os.environ |= {"LANGSMITH_TRACING": "true", "LANGSMITH_TRACING_MODE": "otel", "LANGSMITH_API_KEY": "none"}


def langfuse() -> None:
    from langchain_core.tracers.context import register_configure_hook
    from langfuse import Langfuse
    from langfuse.langchain import CallbackHandler

    Langfuse(public_key="pk", secret_key="sk", host="http://127.0.0.1:9", span_exporter=Discard())
    import langfuse.openai  # noqa: F401 - importing it patches the SDK

    handler = CallbackHandler()
    register_configure_hook(ContextVar("langfuse", default=handler), inheritable=True)


def mlflow() -> None:
    os.environ |= {"MLFLOW_TRACKING_URI": os.environ["TURNLOG_DIR"], "MLFLOW_ALLOW_FILE_STORE": "true"}
    import mlflow.langchain
    import mlflow.openai
    from mlflow.tracing.export.mlflow_v3 import MlflowV3SpanExporter

    MlflowV3SpanExporter.export = Discard.export
    mlflow.openai.autolog()
    mlflow.langchain.autolog()


PEERS: dict[str, Callable[[], None]] = {
    each.__name__: each for each in (official, official_content, openinference, openllmetry, openlit, logfire, langfuse, mlflow)
}
_DISTRIBUTIONS = {
    "official": "opentelemetry-instrumentation-genai-langchain",
    "official_content": "opentelemetry-instrumentation-genai-langchain",
    "openinference": "openinference-instrumentation-langchain",
    "openllmetry": "opentelemetry-instrumentation-langchain",
    "mlflow": "mlflow-skinny",
}


def installed_peers() -> list[str]:
    there = {distribution.name for distribution in distributions()}
    return [name for name in PEERS if _DISTRIBUTIONS.get(name, name) in there]
