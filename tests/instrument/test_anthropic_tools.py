"""The Anthropic SDK's tool runner: every tool that it runs is one execute_tool span, the SDK's own or turnlog's."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import _base_client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from instrument.recorder import Recorder, Seen
from turnlog import semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

if not hasattr(_base_client, "start_api_call_span"):
    pytest.skip("the tool runner can be followed since 1.14", allow_module_level=True)

FRAMEWORKS = ("anthropic",)
SCRIPT = [
    Reply("Both at once.", tool_calls=[ToolCall("add", {"a": 1, "b": 2}, "c1"), ToolCall("add", {"a": 9, "b": 2}, "c2")]),
    Reply("Three, and too slow."),
]
GIVEN: Any = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "Add."}]}
CREATE, RUNNER, TOOL = "anthropic.messages.create", "anthropic.messages.tool_runner", "anthropic.custom_tool_use add"


def add(a: int, b: int) -> str:
    """Adds two numbers."""
    trace.get_current_span().set_attribute("seen.by.tool", True)
    if a == 9:
        raise TimeoutError("too slow")
    return str(a + b)


async def add_later(a: int, b: int) -> str:
    """Adds two numbers."""
    return add(a, b)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The runner logs every failure of a tool."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(params=["turnlog's", "the SDK's"])
def options(request: pytest.FixtureRequest, provider: TracerProvider) -> Iterator[dict[str, Any]]:
    telemetry = {"tracer_provider": provider} if request.param == "the SDK's" else False
    with ScriptedModel(SCRIPT) as model:
        yield {"base_url": model.url, "api_key": "none", "max_retries": 0, "timeout": 5, "open_telemetry": telemetry}


def tools(recorder: Recorder) -> list[Seen]:
    return [span for span in recorder.spans if span[semconv.GEN_AI_OPERATION_NAME] == "execute_tool"]


def assert_both_tools_are_recorded(recorder: Recorder, native: bool) -> None:
    fine, slow = tools(recorder)
    for span, call_id, a in ((fine, "c1", 1), (slow, "c2", 9)):
        assert span.name == (TOOL if native else "execute_tool add")
        assert (span["gen_ai.tool.name"], span["gen_ai.tool.call.id"], span["gen_ai.tool.type"]) == ("add", call_id, "function")
        assert span["gen_ai.tool.call.arguments"] == {"a": a, "b": 2}
        assert span["seen.by.tool"]
    assert (fine["gen_ai.tool.call.result"], fine.failed, fine.attributes.get("error.type")) == ("3", False, None)
    assert slow["gen_ai.tool.call.result"] == slow["exception.message"] == "TimeoutError('too slow')"
    assert (slow.failed, slow.content["error.type"]) == (True, "TimeoutError")
    assert slow.attributes["error.type"] == ("tool_error" if native else "TimeoutError")


def test_every_tool_of_a_run_is_recorded(instrumented: Recorder, options: dict[str, Any]) -> None:
    native = bool(options["open_telemetry"])
    with anthropic.Anthropic(**options) as client:
        client.beta.messages.tool_runner(**GIVEN, tools=[anthropic.beta_tool(name="add")(add)]).until_done()
    assert_both_tools_are_recorded(instrumented, native)
    assert instrumented.tree == (
        [(None, RUNNER), (RUNNER, CREATE), (RUNNER, TOOL), (RUNNER, TOOL), (RUNNER, CREATE)]
        if native
        else [(None, "chat m"), (None, "execute_tool add"), (None, "execute_tool add"), (None, "chat m")]
    )


def test_a_run_of_the_sdks_says_what_it_was_given(instrumented: Recorder, options: dict[str, Any]) -> None:
    with anthropic.Anthropic(**options) as client:
        tool = anthropic.beta_tool(name="add")(add)
        client.beta.messages.tool_runner(**GIVEN, tools=[tool], system="Be brief.").until_done()
    runs = [span.content for span in instrumented.spans if span[semconv.GEN_AI_OPERATION_NAME] == "invoke_agent"]
    given = {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Add."}]}],
        "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
    }
    assert runs == ([given] if options["open_telemetry"] else [])


def test_the_model_is_told_what_the_tools_gave(instrumented: Recorder, options: dict[str, Any]) -> None:
    with anthropic.Anthropic(**options) as client:
        client.beta.messages.tool_runner(**GIVEN, tools=[anthropic.beta_tool(name="add")(add)]).until_done()
    last = [span for span in instrumented.spans if span[semconv.GEN_AI_OPERATION_NAME] == "chat"][-1]
    response = {"type": "tool_call_response"}
    assert last["gen_ai.input.messages"][-1] == {
        "role": "tool",
        "parts": [
            {**response, "id": "c1", "response": "3"},
            {**response, "id": "c2", "response": "TimeoutError('too slow')", "is_error": True},
        ],
    }


def test_a_streaming_run_is_recorded_too(instrumented: Recorder, options: dict[str, Any]) -> None:
    with anthropic.Anthropic(**options) as client:
        runner = client.beta.messages.tool_runner(**GIVEN, tools=[anthropic.beta_tool(name="add")(add)], stream=True)
        said = ["".join(stream.text_stream) for stream in runner]
    assert said == ["Both at once.", "Three, and too slow."]
    assert_both_tools_are_recorded(instrumented, bool(options["open_telemetry"]))


async def test_an_async_run_is_recorded_too(instrumented: Recorder, options: dict[str, Any]) -> None:
    async with anthropic.AsyncAnthropic(**options) as client:
        tool = anthropic.beta_async_tool(name="add")(add_later)
        await client.beta.messages.tool_runner(**GIVEN, tools=[tool]).until_done()
    assert_both_tools_are_recorded(instrumented, bool(options["open_telemetry"]))


def test_a_run_that_is_left_early_ends(instrumented: Recorder, options: dict[str, Any]) -> None:
    with anthropic.Anthropic(**options) as client:
        for _ in client.beta.messages.tool_runner(**GIVEN, tools=[anthropic.beta_tool(name="add")(add)]):
            break
        # The SDK's runner refers to itself: it ends when it is collected, and what a collection ends waits for a call.
        gc.collect()
        client.messages.create(**GIVEN)
    assert instrumented.names == ([RUNNER, CREATE, CREATE] if options["open_telemetry"] else ["chat m", "chat m"])


def test_a_tool_that_is_interrupted_says_so(instrumented: Recorder, options: dict[str, Any]) -> None:
    def interrupt(a: int, b: int) -> str:
        raise KeyboardInterrupt

    with anthropic.Anthropic(**options) as client, pytest.raises(KeyboardInterrupt):
        client.beta.messages.tool_runner(**GIVEN, tools=[anthropic.beta_tool(name="add")(interrupt)]).until_done()
    (tool,) = tools(instrumented)
    assert (tool["error.type"], "gen_ai.tool.call.result" in tool.content) == ("KeyboardInterrupt", False)
