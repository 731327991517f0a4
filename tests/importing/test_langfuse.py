"""Langfuse's traces and observations in GenAI words."""

from __future__ import annotations

import json
from typing import Any

from importing.reading import given, lines, said

START = "2026-03-01T10:00:00.000Z"
END = "2026-03-01T10:00:02.500Z"


def observation(id: str, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "id": id,
        "traceId": "t-1",
        "type": kind,
        "name": id,
        "startTime": START,
        "endTime": END,
        "level": "DEFAULT",
        **more,
    }


AGENT = observation("planner", "AGENT", input={"messages": [{"role": "user", "content": "weather?"}]}, output="It is warm.")
CHAT = observation(
    "generation",
    "GENERATION",
    parentObservationId="planner",
    model="gpt-5",
    input=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "weather?"}],
    output={
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}],
    },
    usageDetails={"input": 20, "output": 5, "total": 25, "input_cached_tokens": 4},
)
TOOL = observation(
    "weather",
    "TOOL",
    parentObservationId="planner",
    input={"city": "Rome"},
    output=None,
    level="ERROR",
    statusMessage="no such city",
)
PLAIN = observation("step", "SPAN", parentObservationId="planner")
TRACE = {"id": "t-1", "timestamp": START, "name": "turn", "sessionId": "chat-7", "observations": [AGENT, CHAT, TOOL, PLAIN]}


def test_a_trace_of_the_api_is_an_agents_turn() -> None:
    found = given(json.dumps(TRACE).encode())
    agent, chat, tool, plain = found.spans
    assert (found.format, found.bad) == ("langfuse", [])
    assert len({span.trace_id for span in found.spans}) == 1
    assert [span.parent_id for span in found.spans] == ["", *[agent.span_id] * 3]
    assert {span.attributes["session.id"] for span in found.spans} == {"chat-7"}
    assert chat.end_ns - chat.start_ns == 2_500_000_000
    assert [said(message) for message in agent.attributes["gen_ai.output.messages"]] == ["assistant: It is warm."]
    assert [said(message) for message in chat.attributes["gen_ai.input.messages"]] == ["system: Be brief.", "user: weather?"]
    assert chat.attributes["gen_ai.output.messages"] == [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Rome"}}],
        }
    ]
    assert {key: value for key, value in chat.attributes.items() if "messages" not in key} == {
        "session.id": "chat-7",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5",
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 4,
    }
    assert dict(tool.attributes) == {
        "session.id": "chat-7",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.arguments": {"city": "Rome"},
        "error.type": "error",
    }
    assert (tool.status, tool.status_message) == ("error", "no such city")
    assert dict(plain.attributes) == {"session.id": "chat-7"}


def test_rows_of_the_blob_storage_say_the_same() -> None:
    row = {
        "id": "generation",
        "trace_id": "t-1",
        "type": "GENERATION",
        "name": "generation",
        "start_time": "2026-03-01 10:00:00.000000",
        "end_time": "2026-03-01 10:00:02.500000",
        "parent_observation_id": "planner",
        "session_id": "chat-7",
        "provided_model_name": "gpt-5",
        "input": json.dumps(CHAT["input"]),
        "output": json.dumps(CHAT["output"]),
        "usage_details": {"input": 20, "output": 5, "input_cached_tokens": 4},
        "level": "DEFAULT",
        "status_message": None,
    }
    assert given(lines([row])).spans == [given(json.dumps(TRACE).encode()).spans[1]]


def test_observations_after_their_trace_have_its_session() -> None:
    listed = {**TRACE, "observations": ["generation"]}
    found = given(json.dumps({"data": [listed, CHAT], "meta": {"page": 1}}).encode())
    assert [span.attributes["session.id"] for span in found.spans] == ["chat-7"]


def test_an_observation_without_a_time_is_told() -> None:
    found = given(lines([CHAT, {**CHAT, "startTime": None}, {"id": "a score"}]))
    assert (len(found.spans), [bad.place for bad in found.bad]) == (1, [2, 3])
