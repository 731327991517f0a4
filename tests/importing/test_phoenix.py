"""Phoenix's spans, in every form that it hands them out, come to the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importing.reading import given, lines
from turnlog.received import ReceivedEvent

CONTEXT = {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7"}
FLAT = {
    "llm.model_name": "gpt-5",
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "hello",
    "llm.token_count.prompt": 8,
    "tag.tags": ["a", "b"],
}
NESTED = {
    "llm": {
        "model_name": "gpt-5",
        "input_messages": [{"message": {"role": "user", "content": "hello"}}],
        "token_count": {"prompt": 8},
        "cost": None,
    },
    "tag": {"tags": ["a", "b"]},
}
TIMES = {"start_time": "2026-03-01T10:00:00.000001+00:00", "end_time": "2026-03-01T10:00:01+00:00"}
SPAN: dict[str, Any] = {
    "id": "U3Bhbjox",
    "name": "ChatCompletion",
    "context": CONTEXT,
    "span_kind": "LLM",
    "parent_id": "00f067aa0ba902b1",
    **TIMES,
    "status_code": "ERROR",
    "status_message": "no",
    "attributes": FLAT,
    "events": [
        {"name": "exception", "timestamp": "2026-03-01T10:00:00.5+00:00", "attributes": {"exception.type": "ValueError"}}
    ],
}


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"data": [SPAN], "next_cursor": None}, indent=2).encode(),
        json.dumps([SPAN]).encode(),
        lines([SPAN]),
        lines([{**SPAN, "attributes": NESTED}]),
        json.dumps([{"traceId": CONTEXT["trace_id"], "rootSpan": SPAN, "spans": [SPAN]}]).encode(),
        lines([{**SPAN, "context": None, "context.trace_id": CONTEXT["trace_id"], "context.span_id": CONTEXT["span_id"]}]),
        lines([{**SPAN, "attributes": None, **{f"attributes.{key}": value for key, value in NESTED.items()}}]),
        lines([{**SPAN, "start_time": 1_772_359_200_000, "end_time": 1_772_359_201_000}]),
    ],
    ids=["REST", "list", "lines", "nested", "CLI", "frame", "columns", "milliseconds"],
)
def test_every_form_gives_the_span(data: bytes) -> None:
    found = given(data)
    (span,) = found.spans
    start = 1_772_359_200_000_000_000
    assert (found.format, found.bad) == ("phoenix", [])
    assert (span.trace_id, span.span_id, span.parent_id, span.name) == (*CONTEXT.values(), "00f067aa0ba902b1", "ChatCompletion")
    assert (span.start_ns // 1_000_000, span.end_ns) == (start // 1_000_000, start + 1_000_000_000)
    assert (span.status, span.status_message) == ("error", "no")
    assert span.attributes == {**FLAT, "openinference.span.kind": "LLM"}
    assert span.events == (ReceivedEvent("exception", start + 500_000_000, {"exception.type": "ValueError"}),)


def test_spans_of_the_otlp_route_are_read() -> None:
    raw = {
        "trace_id": CONTEXT["trace_id"],
        "span_id": CONTEXT["span_id"],
        "name": "a",
        "start_time_unix_nano": "5",
        "end_time_unix_nano": 6,
        "attributes": [{"key": "openinference.span.kind", "value": {"string_value": "TOOL"}}],
    }
    (span,) = given(json.dumps({"data": [raw], "next_cursor": None}).encode()).spans
    assert (span.span_id, span.start_ns, span.attributes) == (CONTEXT["span_id"], 5, {"openinference.span.kind": "TOOL"})


def test_a_span_without_a_time_is_told() -> None:
    found = given(lines([SPAN, {**SPAN, "start_time": "yesterday"}]))
    assert (len(found.spans), [bad.place for bad in found.bad]) == (1, [2])


def test_what_a_real_phoenix_answered_is_read() -> None:
    """`GET /v1/projects/default/spans` of Phoenix 20.26.1, asked for three spans that it had got over OTLP."""
    found = given((Path(__file__).parent / "phoenix_spans.json").read_bytes())
    assert (found.format, found.bad) == ("phoenix", [])
    assert [(span.name, span.attributes["openinference.span.kind"], span.status) for span in found.spans] == [
        ("agent", "AGENT", "unset"),
        ("weather", "TOOL", "error"),
        ("ChatCompletion", "LLM", "unset"),
    ]
    agent, tool, chat = found.spans
    assert (tool.parent_id, chat.parent_id) == (agent.span_id, agent.span_id)
    assert chat.attributes["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"] == "weather"
