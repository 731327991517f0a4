"""Every attribute that a run emits is in the registry, with the type that the registry gives it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anthropic
import orjson
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import turnlog
from turnlog import semconv
from turnlog.demo import coder
from turnlog.demo.script import REPLIES
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

_TYPES: dict[str, Any] = {
    "string": str,
    "int": int,
    "double": float,
    "boolean": bool,
    "string[]": (tuple, list),
    "any": (str, tuple, list, dict),
}
# What the Anthropic SDK says by itself on the spans that it makes.
_THEIRS = ("anthropic.", "http.", "url.")


@anthropic.beta_tool
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


def use_anthropic(telemetry: Any) -> None:
    script = [Reply("I add.", reasoning="A sum.", tool_calls=[ToolCall("add", {"a": 1, "b": 2})], cached_tokens=3), "3", "4"]
    with ScriptedModel(script) as model, anthropic.Anthropic(base_url=model.url, api_key="none", **telemetry) as client:
        given: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "1 + 2?"}], "system": "Be brief."}
        client.beta.messages.tool_runner(**given, tools=[add]).until_done()
        list(client.messages.create(**given, stream=True))


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The demo's agent, the Anthropic SDK and the by-hand API, with message content on spans: every extractor has to speak."""
    folder = tmp_path_factory.mktemp("conformance")
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        os.chdir(folder)
        turnlog.init(directory=folder / "store", tracer_provider=provider, capture="full")
        try:
            with ScriptedModel(REPLIES) as model:
                coder.main(model.base_url, "conformance")
            use_anthropic({"open_telemetry": {"tracer_provider": provider}})
            use_anthropic({"open_telemetry": False})
            with turnlog.session("hand"), turnlog.turn(input="x", agent="a") as turn:
                turnlog.note("fact")
                turnlog.pending("action").resolve()
                turn.answer("done")
        finally:
            turnlog.shutdown()
            os.chdir(before)
    return exporter.get_finished_spans()


def test_every_attribute_is_registered_with_its_type(spans: Any) -> None:
    wrong = {
        (key, type(value).__name__)
        for span in spans
        for key, value in span.attributes.items()
        if not key.startswith(_THEIRS)
        if key not in semconv.ATTRIBUTE_TYPES or not isinstance(value, _TYPES[semconv.ATTRIBUTE_TYPES[key]])
    }
    assert wrong == set()


def test_every_enumerated_value_is_registered(spans: Any) -> None:
    wrong = {
        (key, value)
        for span in spans
        for key, value in span.attributes.items()
        if key in semconv.ATTRIBUTE_VALUES and value not in set(semconv.ATTRIBUTE_VALUES[key])
    }
    assert wrong == set()


def test_every_span_has_a_session_and_a_turn(spans: Any) -> None:
    assert [span.name for span in spans if not {semconv.SESSION_ID, semconv.TURN_ID} <= set(span.attributes)] == []


def test_every_delta_is_valid(spans: Any) -> None:
    from jsonschema import Draft202012Validator

    schema = orjson.loads((Path(__file__).parent.parent / "semconv/model/delta.schema.json").read_bytes())
    deltas = [orjson.loads(span.attributes[semconv.COMMIT_DELTA]) for span in spans if semconv.COMMIT_DELTA in span.attributes]
    assert len(deltas) > 10
    for delta in deltas:
        Draft202012Validator(schema).validate(delta)


def test_content_is_on_spans_because_it_was_asked_for(spans: Any) -> None:
    assert any("wordcount.py" in span.attributes.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS, "") for span in spans)
