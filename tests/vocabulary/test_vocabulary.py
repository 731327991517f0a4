"""What spans say in GenAI words, where no instrumentation that runs in our tests says it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnlog import semconv
from turnlog.received import ReceivedEvent, ReceivedSpan
from turnlog.vocabulary import CONVENTIONS, Told, told
from turnlog.vocabulary.together import complete

Json = dict[str, Any]

ARGUMENTS = {"path": "a.md"}
ASKED = {"role": "user", "parts": [{"type": "text", "content": "Read a.md."}]}
CALL = {"type": "tool_call", "id": "c1", "name": "read_file", "arguments": ARGUMENTS}
WISH = {"role": "assistant", "parts": [{"type": "text", "content": "I look."}, CALL]}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "hello"}]}


def span(attributes: Json, *events: tuple[str, Json], **more: Any) -> ReceivedSpan:
    received = [ReceivedEvent(name, 0, said) for name, said in events]
    return ReceivedSpan("a" * 32, "b" * 16, "", "a span", 1, 2, attributes=attributes, events=received, **more)


def said(attributes: Json, *events: tuple[str, Json], is_root: bool = False, **more: Any) -> Told:
    return told(span(attributes, *events, **more), is_root=is_root)


def conversation(found: Told) -> tuple[Any, Any]:
    return found.content.get(semconv.GEN_AI_INPUT_MESSAGES), found.content.get(semconv.GEN_AI_OUTPUT_MESSAGES)


def test_a_span_of_no_agent_says_nothing() -> None:
    request = {"http.request.method": "POST", "url.full": "https://api.example.com/v1", "session.id": "s"}
    failure = ("exception", {"exception.type": "ValueError", "exception.message": "kaput"})
    assert said(request, failure, status="error", is_root=True) == Told({}, {})


CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.md"}'}}
FORMS: dict[str, tuple[Json, list[tuple[str, Json]]]] = {
    "structured": ({"gen_ai.input.messages": [ASKED, WISH, RESULT], "gen_ai.output.messages": [WISH]}, []),
    "JSON text": (
        {"gen_ai.input.messages": json.dumps([ASKED, WISH, RESULT]), "gen_ai.output.messages": json.dumps([WISH])},
        [],
    ),
    "with what emitters add": (
        {
            "gen_ai.input.messages": [{**ASKED, "name": None}, WISH, {**RESULT, "name": "read_file"}],
            "gen_ai.output.messages": [{**WISH, "finish_reason": ""}],
        },
        [],
    ),
    "an API's messages": (
        {
            "gen_ai.input.messages": [
                {"role": "user", "content": "Read a.md."},
                {"role": "assistant", "content": "I look.", "tool_calls": [OPENAI_CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": "hello"},
            ],
            "gen_ai.output.messages": [{"role": "assistant", "content": "I look.", "tool_calls": [OPENAI_CALL]}],
        },
        [],
    ),
    "another API's blocks": (
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "Read a.md.",
            "gen_ai.prompt.1.role": "assistant",
            "gen_ai.prompt.1.content": json.dumps(
                [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "read_file", "input": ARGUMENTS},
                ]
            ),
            "gen_ai.prompt.2.role": "user",
            "gen_ai.prompt.2.content": json.dumps([{"type": "tool_result", "tool_use_id": "c1", "content": "hello"}]),
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "I look.",
            "gen_ai.completion.0.tool_calls.0.id": "c1",
            "gen_ai.completion.0.tool_calls.0.name": "read_file",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"path": "a.md"}',
        },
        [],
    ),
    "events": (
        {},
        [
            ("gen_ai.user.message", {"content": "Read a.md."}),
            ("gen_ai.assistant.message", {"content": "I look.", "tool_calls": json.dumps([OPENAI_CALL])}),
            ("gen_ai.tool.message", {"content": "hello", "id": "c1"}),
            ("gen_ai.choice", {"index": 0, "message": json.dumps({"content": "I look.", "tool_calls": [OPENAI_CALL]})}),
        ],
    ),
    "events with one field": (
        {},
        [
            ("gen_ai.user.message", {"gen_ai.event.content": '{"content": "Read a.md.", "role": "user"}'}),
            (
                "gen_ai.assistant.message",
                {"gen_ai.event.content": json.dumps({"content": "I look.", "tool_calls": [OPENAI_CALL]})},
            ),
            ("gen_ai.tool.message", {"gen_ai.event.content": '{"content": "hello", "id": "c1"}'}),
            (
                "gen_ai.choice",
                {"gen_ai.event.content": json.dumps({"message": {"content": "I look.", "tool_calls": [OPENAI_CALL]}})},
            ),
        ],
    ),
    "the first events": (
        {},
        [
            (
                "gen_ai.content.prompt",
                {
                    "gen_ai.prompt": json.dumps(
                        [
                            {"role": "user", "content": "Read a.md."},
                            {"role": "assistant", "content": "I look.", "tool_calls": [OPENAI_CALL]},
                            {"role": "tool", "tool_call_id": "c1", "content": "hello"},
                        ]
                    )
                },
            ),
            (
                "gen_ai.content.completion",
                {"gen_ai.completion": json.dumps([{"role": "assistant", "content": "I look.", "tool_calls": [OPENAI_CALL]}])},
            ),
        ],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_messages_are_the_same_in_whatever_form_they_come(form: str) -> None:
    attributes, events = FORMS[form]
    assert conversation(said(CHAT | attributes, *events)) == ([ASKED, WISH, RESULT], [WISH])


def test_plain_texts_are_what_was_said() -> None:
    texts = {"gen_ai.prompt": "Read a.md.", "gen_ai.completion": "{no}", "gen_ai.system_instructions": '{"be": "brief"}'}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "{no}"}]}
    found = said(CHAT | texts)
    assert conversation(found) == ([ASKED], [answer])
    assert found.content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] == [{"type": "text", "content": '{"be": "brief"}'}]


def test_names_of_before_are_those_of_today() -> None:
    found = said(
        {
            "gen_ai.system": "OpenAI",
            "gen_ai.request.model": "m",
            "gen_ai.usage.prompt_tokens": 9,
            "gen_ai.usage.completion_tokens": 4,
            "gen_ai.usage.cache_read_input_tokens": 3,
            "gen_ai.usage.cache_creation.input_tokens": 2,
            "gen_ai.usage.reasoning_tokens": 1,
        }
    )
    assert found.attributes == {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: "openai",
        semconv.GEN_AI_USAGE_INPUT_TOKENS: 9,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: 4,
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 3,
        semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: 2,
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: 1,
    }


@pytest.mark.parametrize(
    ("status", "said_type", "events", "expected"),
    [
        ("error", {}, [("exception", {"exception.type": "ValueError", "exception.message": "kaput"})], ("ValueError", "kaput")),
        ("error", {"error.type": "timeout"}, [], (None, "it failed")),
        ("error", {}, [], (None, "it failed")),
        ("ok", {}, [("exception", {"exception.type": "ValueError", "exception.message": "handled"})], (None, None)),
    ],
)
def test_a_failure_is_told_by_its_exception_else_by_the_status(
    status: str, said_type: Json, events: list[tuple[str, Json]], expected: tuple[Any, Any]
) -> None:
    found = said({**CHAT, **said_type}, *events, status=status, status_message="it failed" if status == "error" else "")
    assert (found.attributes.get(semconv.ERROR_TYPE), found.content.get(semconv.EXCEPTION_MESSAGE)) == expected


@pytest.mark.parametrize(
    ("attributes", "is_root", "operation"),
    [
        ({"openinference.span.kind": "CHAIN"}, True, "invoke_agent"),
        ({"openinference.span.kind": "CHAIN"}, False, None),
        ({"openinference.span.kind": "AGENT"}, False, "invoke_agent"),
        ({"openinference.span.kind": "RETRIEVER"}, False, "retrieval"),
        ({"openinference.span.kind": "GUARDRAIL"}, True, None),
        ({"traceloop.span.kind": "workflow"}, True, "invoke_agent"),
        ({"traceloop.span.kind": "task"}, True, None),
        ({"traceloop.span.kind": "task", "gen_ai.operation.name": "execute_task"}, False, None),
        ({"gen_ai.operation.name": "create_agent"}, True, None),
        ({"gen_ai.operation.name": "invoke_workflow"}, True, "invoke_workflow"),
        ({"gen_ai.tool.name": "read_file"}, False, "execute_tool"),
        ({"llm.request.type": "embedding", "gen_ai.request.model": "m"}, False, "embeddings"),
    ],
)
def test_what_a_span_stands_for(attributes: Json, is_root: bool, operation: str | None) -> None:
    assert said(attributes, is_root=is_root).attributes.get(semconv.GEN_AI_OPERATION_NAME) == operation


def test_the_session_is_the_one_that_the_application_named() -> None:
    properties = {"traceloop.span.kind": "tool", "traceloop.association.properties.session_id": "s"}
    assert said(properties).attributes[semconv.SESSION_ID] == "s"
    metadata = {"openinference.span.kind": "TOOL", "metadata": '{"thread_id": 7}'}
    assert said(metadata).attributes[semconv.GEN_AI_CONVERSATION_ID] == "7"


def test_a_decorated_function_is_told_by_its_arguments_and_its_result() -> None:
    tool = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "read_file",
        "traceloop.entity.input": '{"args": [], "kwargs": {"path": "a.md"}}',
        "traceloop.entity.output": '"hello"',
    }
    assert said(tool).content == {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: ARGUMENTS, semconv.GEN_AI_TOOL_CALL_RESULT: "hello"}
    workflow = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.name": "answer",
        "traceloop.entity.input": '{"args": ["Read a.md."], "kwargs": {}}',
        "traceloop.entity.output": '"It says hello."',
    }
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "It says hello."}]}
    found = said(workflow, is_root=True)
    assert (conversation(found), found.attributes[semconv.GEN_AI_AGENT_NAME]) == (([ASKED], [answer]), "answer")


def test_a_tool_that_failed_for_langchain_failed() -> None:
    dumped = {"type": "tool", "data": {"type": "tool", "content": "no", "status": "error", "tool_call_id": "c1"}}
    found = said({"openinference.span.kind": "TOOL", "tool.name": "t", "output.value": json.dumps(dumped)}, status="ok")
    assert found.attributes[semconv.ERROR_TYPE] == "tool_error"
    assert found.attributes[semconv.GEN_AI_TOOL_CALL_ID] == "c1"
    assert found.content == {semconv.GEN_AI_TOOL_CALL_RESULT: "no", semconv.EXCEPTION_MESSAGE: "no"}


def test_what_a_span_leaves_unsaid_others_of_its_trace_say() -> None:
    agent = ReceivedSpan("a" * 32, "1" * 16, "", "agent", 1, 9, attributes={"gen_ai.operation.name": "invoke_agent"})
    agent = replace(agent, attributes={**agent.attributes, "gen_ai.agent.name": "notes"})
    asks = {**CHAT, "gen_ai.output.messages": [WISH]}
    model = replace(agent, span_id="2" * 16, parent_id="1" * 16, start_ns=2, attributes=asks)
    chain = replace(model, span_id="3" * 16, start_ns=3, attributes={"openinference.span.kind": "CHAIN"})
    runs = {"openinference.span.kind": "TOOL", "tool.name": "read_file", "input.value": "a.md"}
    tool = replace(chain, span_id="4" * 16, parent_id="3" * 16, start_ns=4, attributes=runs)
    spoken = [(each, told(each, is_root=each is agent)) for each in (tool, chain, model, agent)]
    complete(spoken)
    assert spoken[0][1].content == {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: ARGUMENTS}
    named = [found.attributes.get(semconv.GEN_AI_AGENT_NAME) for _, found in spoken]
    assert named == ["notes", None, "notes", None]


KEYS = (
    *("gen_ai.operation.name", "gen_ai.system", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt"),
    *("gen_ai.prompt.0.role", "gen_ai.prompt.0.content", "gen_ai.prompt.x.y", "gen_ai.prompt.0.tool_calls.0.id"),
    *("gen_ai.completion", "gen_ai.system_instructions", "gen_ai.tool.name", "gen_ai.tool.call.arguments"),
    *("gen_ai.tool.call.result", "openinference.span.kind", "metadata", "input.value", "output.value", "tool.parameters"),
    *("llm.input_messages", "llm.input_messages.0.message", "llm.input_messages.0.message.tool_calls.0.tool_call"),
    *("llm.input_messages.0.message.contents.0.message_content.type", "llm.invocation_parameters", "llm.finish_reason"),
    *("traceloop.span.kind", "traceloop.entity.input", "traceloop.entity.output", "gen_ai.workflow.nodes"),
    "." * 3000,
    "gen_ai.prompt" + ".0" * 3000,
)
WORDS = st.sampled_from(
    [*("chat", "execute_tool", "invoke_agent", "LLM", "TOOL", "CHAIN", "AGENT", "tool", "workflow", "text", "[[", '{"a":', "")]
)
NAMES = st.sampled_from(
    [
        *("role", "parts", "type", "content", "text", "tool_calls", "function", "arguments", "messages", "inputs", "outputs"),
        *("output", "args", "kwargs", "data", "lc", "id", "status", "metadata", "generations", "llm_output", "message"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES | VALUES.map(json.dumps), max_size=8),
    st.lists(
        st.tuples(
            st.sampled_from(["gen_ai.choice", "gen_ai.user.message", "gen_ai.content.prompt", "exception"]),
            st.dictionaries(
                st.sampled_from(["message", "content", "gen_ai.prompt", "gen_ai.event.content"]), VALUES, max_size=2
            ),
        ),
        max_size=2,
    ),
    st.booleans(),
)
def test_nothing_that_anybody_sends_breaks_it(attributes: Json, events: list[tuple[str, Json]], is_root: bool) -> None:
    for convention in CONVENTIONS:
        convention.speaks(span(attributes, *events))
    sent = span(attributes, *events, status="error")
    found = told(sent, is_root=is_root)
    complete([(sent, found), (replace(sent, span_id="c" * 16, parent_id=sent.span_id), told(sent, is_root=False))])
    for key in (semconv.GEN_AI_INPUT_MESSAGES, semconv.GEN_AI_OUTPUT_MESSAGES):
        assert all(isinstance(message["parts"], list) for message in found.content.get(key, ()))
