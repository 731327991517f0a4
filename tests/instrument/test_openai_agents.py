"""The OpenAI Agents SDK, with its own tracing off: runs, models, tools, handoffs, guardrails, approvals and compaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

pytest.importorskip("agents", reason="the OpenAI Agents SDK has an environment of its own: tests/frameworks/environments.py")

import agents
import agents.exceptions
import agents.run_internal.run_loop
import agents.run_internal.tool_execution
import agents.tool
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    Model,
    ModelBehaviorError,
    ModelResponse,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    ToolExecutionConfig,
    ToolGuardrailFunctionOutput,
    ToolTimeoutError,
    Usage,
    UserError,
    function_tool,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
)
from agents.mcp import MCPServer
from agents.memory import OpenAIResponsesCompactionSession
from mcp.types import CallToolResult, TextContent, Tool
from openai import AsyncOpenAI
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from opentelemetry import trace

from instrument.recorder import Recorder, identities
from recording import Recording
from turnlog import queries, semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument_all
from turnlog.instrument.openai_agents_messages import asked_starts
from turnlog.settings import Settings

FRAMEWORKS = ("openai", "openai_agents")

Make = Callable[..., Agent]


@pytest.fixture(autouse=True)
def _untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    agents.set_tracing_disabled(True)
    logging.getLogger("openai.agents").setLevel(logging.CRITICAL)


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """An agent on a model of its own that says the given replies."""
    async with AsyncExitStack() as stack:

        def agent(*script: Reply | str, name: str = "A", kind: Any = OpenAIResponsesModel, **how: Any) -> Agent:
            model = stack.enter_context(ScriptedModel(script))
            client = AsyncOpenAI(base_url=model.base_url, api_key="none", max_retries=0)
            stack.push_async_callback(client.close)
            return Agent(name, model=kind("m", client), **how)

        yield agent


@pytest.fixture
def kept(recording: Recording) -> Iterator[Settings]:
    """Hooked, and all that is recorded kept in a store."""
    instrument(*FRAMEWORKS, tracer_provider=recording.provider)
    yield recording.settings
    uninstrument_all()
    assert recording.processor.troubles == {}


def asks(*calls: ToolCall) -> Reply:
    return Reply("I call.", tool_calls=list(calls))


@function_tool
def add(a: int, b: int) -> int:
    """Add."""
    with trace.get_tracer("application").start_as_current_span("inside"):
        return a + b


@function_tool
def fail() -> str:
    """Fail."""
    raise LookupError("kaput")


@function_tool(timeout=0.02)
async def slow() -> str:
    """Wait."""
    await asyncio.sleep(60)
    return "never"


@function_tool(needs_approval=True)
def remove(path: str) -> str:
    """Remove."""
    return f"removed {path}"


def log(settings: Settings, session: str = "s") -> list[tuple[int, str, str, str, str]]:
    """Turn, kind, tool, outcome and error of a session's commits, oldest first."""
    with queries.reading(settings) as db:
        return [(c.turn, c.kind, c.tool, c.outcome, c.error) for c in reversed(queries.log(db, session, limit=100))]


def waiting(settings: Settings, session: str = "s") -> tuple[str, list[tuple[str, str, str]]]:
    """The session's status, and its open work."""
    with queries.reading(settings) as db:
        open_work = [(row.status, row.action_id, row.action) for row in queries.pending(db, session)]
        return queries.session_of(db, session).status, open_work


CALLED = ("invoke_agent A", "chat m"), ("invoke_agent A", "execute_tool add"), ("invoke_agent A", "chat m")


@pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
@pytest.mark.parametrize("how", ["async", "streamed"])
async def test_a_run_is_an_agent_with_one_span_per_model_call_and_tool(
    how: str, kind: Any, make: Make, instrumented: Recorder
) -> None:
    agent = make(asks(ToolCall("add", {"a": 1, "b": 2}, "c1")), "Three.", kind=kind, tools=[add], instructions="Be brief.")
    if how == "async":
        result = await Runner.run(agent, "What is 1 + 2?", session=SQLiteSession("s"))
    else:
        result = Runner.run_streamed(agent, "What is 1 + 2?", session=SQLiteSession("s"))
        async for _ in result.stream_events():
            pass
        await result.run_loop_task
    assert result.final_output == "Three."
    assert instrumented.tree == [(None, "invoke_agent A"), *CALLED]
    run, first, tool, last = instrumented.spans
    assert run.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "A",
        "gen_ai.conversation.id": "s",
    }
    assert run[semconv.GEN_AI_INPUT_MESSAGES] == [said("user", "What is 1 + 2?")]
    assert run[semconv.GEN_AI_OUTPUT_MESSAGES] == [said("assistant", "Three.")]
    assert (first["gen_ai.provider.name"], first["server.address"]) == ("openai", "127.0.0.1")
    assert first[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] == [{"type": "text", "content": "Be brief."}]
    (answer,) = first[semconv.GEN_AI_OUTPUT_MESSAGES]
    asked = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}
    assert answer["parts"] == [{"type": "text", "content": "I call."}, asked]
    assert tool.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
    }
    assert tool[semconv.GEN_AI_TOOL_CALL_RESULT] == 3
    assert [message["role"] for message in last[semconv.GEN_AI_INPUT_MESSAGES]] == ["user", "assistant", "assistant", "tool"]


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


class Own(Model):
    """A model that goes through no SDK; its stream is an iterator and no generator."""

    def __init__(self, *answers: Any, then: Any = None, error: Exception | None = None) -> None:
        self.model = "vendor/own"
        self._answers = list(answers)
        self._then = then
        self._error = error

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        if self._error is not None:
            raise self._error
        said = self._answers.pop(0)
        items = said if isinstance(said, list) else [output(said) if isinstance(said, str) else said]
        return ModelResponse(output=items, usage=Usage(requests=1, input_tokens=5), response_id="r1")

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        return Stream(self._then)


class Stream:
    def __init__(self, then: Any) -> None:
        self._then = then

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Any:
        then, self._then = self._then, None
        return then or await asyncio.sleep(60)


def output(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[part])


async def test_a_model_that_goes_through_no_sdk_is_recorded_too(instrumented: Recorder) -> None:
    assert (await Runner.run(Agent("A", model=Own("Hello.")), "Hi.")).final_output == "Hello."
    assert instrumented.tree == [(None, "invoke_agent A"), ("invoke_agent A", "chat vendor/own")]
    chat = instrumented.one("chat vendor/own")
    assert chat.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vendor",
        "gen_ai.request.model": "vendor/own",
        "gen_ai.response.id": "r1",
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 0,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.reasoning.output_tokens": 0,
    }
    assert chat[semconv.GEN_AI_OUTPUT_MESSAGES] == [said("assistant", "Hello.")]


def test_run_sync_is_recorded_once(instrumented: Recorder) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        assert Runner.run_sync(Agent("A", model=Own("Hello.")), "Hi.").final_output == "Hello."
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert instrumented.tree == [(None, "invoke_agent A"), ("invoke_agent A", "chat vendor/own")]


async def test_a_stream_that_is_cancelled_ends_its_model_call_and_run(kept: Settings) -> None:
    from openai.types.responses import ResponseTextDeltaEvent

    delta = ResponseTextDeltaEvent(
        content_index=0, delta="Hel", item_id="m1", logprobs=[], output_index=0, sequence_number=1,
        type="response.output_text.delta",
    )  # fmt: skip
    result = Runner.run_streamed(Agent("A", model=Own(then=delta)), "Hi.", session=SQLiteSession("s"))
    async for event in result.stream_events():
        if event.type == "raw_response_event":
            result.cancel()
            break
    with pytest.raises(asyncio.CancelledError):
        await result.run_loop_task
    assert log(kept) == [(1, "decision", "", "cancelled", "CancelledError")]


async def test_the_exception_of_a_tool_is_recorded_and_not_what_the_model_is_told(make: Make, kept: Settings) -> None:
    agent = make(asks(ToolCall("fail", {}, "c1"), ToolCall("slow", {}, "c2")), "Neither.", tools=[fail, slow])
    assert (await Runner.run(agent, "Try.", session=SQLiteSession("s"))).final_output == "Neither."
    assert sorted(log(kept)) == [
        (1, "decision", "", "ok", ""),
        (1, "decision", "", "ok", ""),
        (1, "tool", "fail", "error", "LookupError"),
        (1, "tool", "slow", "timeout", "agents.exceptions.ToolTimeoutError"),
    ]
    with queries.reading(kept) as db:
        summaries = {commit.tool: commit.output_summary for commit in queries.log(db, "s", kind="tool")}
    assert summaries == {"fail": "kaput", "slow": "Tool 'slow' timed out after 0.02 seconds."}


async def test_exceptions_reach_the_host_as_the_same_object(make: Make, instrumented: Recorder) -> None:
    error = OSError("gone")

    @function_tool(failure_error_function=None)
    def explode() -> str:
        raise error

    with pytest.raises(agents.UserError) as caught:
        await Runner.run(make(asks(ToolCall("explode", {}, "c1")), tools=[explode]), "Go.")
    assert caught.value.__cause__ is error
    assert instrumented.one("execute_tool explode")["error.type"] == "OSError"
    assert instrumented.one("invoke_agent A")["error.type"] == "agents.exceptions.UserError"

    with pytest.raises(OSError, match="gone") as caught_too:
        await Runner.run(Agent("B", model=Own(error=error)), "Go.")
    assert caught_too.value is error
    assert instrumented.one("chat vendor/own")["error.type"] == "OSError"
    assert instrumented.one("invoke_agent B")["error.type"] == "OSError"

    @function_tool(timeout=0.01, timeout_behavior="raise_exception")
    async def never() -> str:
        await asyncio.sleep(60)
        return ""

    with pytest.raises(ToolTimeoutError):
        await Runner.run(make(asks(ToolCall("never", {}, "c1")), tools=[never]), "Go.")
    assert instrumented.one("execute_tool never")["error.type"] == "agents.exceptions.ToolTimeoutError"


async def test_what_a_tool_does_is_below_it_in_every_thread(make: Make, recording: Recording, kept: Settings) -> None:
    seen: list[Any] = []

    @function_tool
    def here() -> str:
        seen.append(trace.get_current_span().name)
        return ""

    @function_tool
    async def there() -> str:
        seen.append(await asyncio.to_thread(lambda: trace.get_current_span().name))
        return ""

    agent = make(asks(ToolCall("here", {}, "c1")), asks(ToolCall("there", {}, "c2")), "Done.", tools=[here, there])
    await Runner.run(agent, "Go.")
    assert seen == ["execute_tool here", "execute_tool there"]


@pytest.mark.parametrize("how", ["async", "streamed"])
async def test_a_handoff_is_a_tool_and_the_next_agent_is_nested(how: str, make: Make, instrumented: Recorder) -> None:
    back = make(asks(ToolCall("transfer_to_a", {}, "h2")), name="B", tools=[add])
    agent = make(asks(ToolCall("transfer_to_b", {}, "h1")), "Here again.", handoffs=[back])
    back.handoffs.append(agent)
    if how == "async":
        result = await Runner.run(agent, "Ask B.")
    else:
        result = Runner.run_streamed(agent, "Ask B.")
        async for _ in result.stream_events():
            pass
        await result.run_loop_task
    assert result.final_output == "Here again."
    assert instrumented.tree == [
        (None, "invoke_agent A"),
        ("invoke_agent A", "chat m"),
        ("invoke_agent A", "execute_tool transfer_to_b"),
        ("invoke_agent A", "invoke_agent B"),
        ("invoke_agent B", "chat m"),
        ("invoke_agent B", "execute_tool transfer_to_a"),
        ("invoke_agent A", "invoke_agent A"),
        ("invoke_agent A", "chat m"),
    ]
    assert instrumented.one("execute_tool transfer_to_b")[semconv.GEN_AI_TOOL_CALL_RESULT] == '{"assistant": "B"}'


async def test_an_agent_as_a_tool_is_nested_in_its_turn(make: Make, kept: Settings, recording: Recording) -> None:
    inner = make(asks(ToolCall("add", {"a": 1, "b": 1}, "d1")), "Two.", name="B", tools=[add])
    agent = make(asks(ToolCall("ask_b", {"input": "1 + 1?"}, "c1")), "It is two.", tools=[inner.as_tool("ask_b", "Asks B.")])
    await Runner.run(agent, "Ask B.", session=SQLiteSession("s"))
    names = {span.context.span_id: span.name for span in recording.exporter.get_finished_spans()}
    tree = [(names.get(s.parent.span_id) if s.parent else None, s.name) for s in recording.exporter.get_finished_spans()]
    assert ("execute_tool ask_b", "invoke_agent B") in tree
    assert ("invoke_agent B", "execute_tool add") in tree
    assert log(kept) == [
        (1, "decision", "", "ok", ""),
        (1, "decision", "", "ok", ""),
        (1, "tool", "add", "ok", ""),
        (1, "decision", "", "ok", ""),
        (1, "tool", "ask_b", "ok", ""),
        (1, "decision", "", "ok", ""),
    ]


@input_guardrail
async def polite(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput("a rude word", tripwire_triggered="rude" in str(given))


@output_guardrail
async def short(context: Any, agent: Any, answer: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput({"length": len(answer)}, tripwire_triggered=len(answer) > 10)


async def test_a_tripwire_is_recorded_with_its_guardrail(make: Make, kept: Settings) -> None:
    session = SQLiteSession("s")
    agent = make("Much too long an answer.", "Much too long an answer.", input_guardrails=[polite], output_guardrails=[short])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await Runner.run(agent, "Hello.", session=session)
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent, "How rude.", session=session)
    with queries.reading(kept) as db:
        notes = [(row.turn, row.input_summary) for row in reversed(queries.log(db, "s", kind="note"))]
        ends = [(row.turn, row.error) for row in reversed(queries.log(db, "s", kind="lifecycle"))]
    assert notes == [
        (1, 'output guardrail short triggered: {"length":24}'),
        (2, "input guardrail polite triggered: a rude word"),
    ]
    assert ends == [
        (1, "agents.exceptions.OutputGuardrailTripwireTriggered"),
        (2, "agents.exceptions.InputGuardrailTripwireTriggered"),
    ]


async def test_a_call_that_a_tools_guardrail_refuses_was_not_run(make: Make, kept: Settings) -> None:
    @tool_input_guardrail
    async def positive(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("only positive numbers")

    @function_tool(tool_input_guardrails=[positive])
    def root(x: int) -> str:
        raise AssertionError("was run")

    await Runner.run(make(asks(ToolCall("root", {"x": -1}, "c1")), "No.", tools=[root]), "Go.", session=SQLiteSession("s"))
    assert log(kept)[1] == (1, "tool", "root", "error", "guardrail_rejected")
    assert len(log(kept)) == 3


@pytest.mark.parametrize("how", ["async", "streamed"])
async def test_calls_of_an_answer_that_asks_for_an_unknown_tool_have_failed_and_are_no_open_work(
    how: str, make: Make, kept: Settings
) -> None:
    calls = ToolCall("add", {"a": 1, "b": 2}, "c1"), ToolCall("multiply", {}, "c2")
    agent, session = make(asks(*calls), tools=[add]), SQLiteSession("s")
    with pytest.raises(ModelBehaviorError):
        if how == "async":
            await Runner.run(agent, "Go.", session=session)
        else:
            async for _ in Runner.run_streamed(agent, "Go.", session=session).stream_events():
                pass
    error = "agents.exceptions.ModelBehaviorError"
    assert log(kept) == [
        (1, "decision", "", "ok", ""),
        (1, "tool", "add", "error", error),
        (1, "tool", "multiply", "error", error),
    ]
    assert waiting(kept) == ("idle", [])


def test_a_call_that_a_server_has_run_is_not_left_to_run() -> None:
    answer = [
        {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "s1", "output": []},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
    ]
    assert [start.attributes[semconv.GEN_AI_TOOL_CALL_ID] for start in asked_starts(answer)] == ["c1"]


async def test_what_a_failing_tool_keeps_from_running_has_failed_and_what_ran_is_told_once(make: Make, kept: Settings) -> None:
    @function_tool(failure_error_function=None)
    def explode() -> str:
        raise LookupError("kaput")

    calls = ToolCall("add", {"a": 1, "b": 2}, "c1"), ToolCall("explode", {}, "c2"), ToolCall("remove", {"path": "a"}, "c3")
    one_by_one = RunConfig(tool_execution=ToolExecutionConfig(max_function_tool_concurrency=1))
    with pytest.raises(UserError):
        agent = make(asks(*calls), tools=[add, explode, remove])
        await Runner.run(agent, "Go.", session=SQLiteSession("s"), run_config=one_by_one)
    assert log(kept) == [
        (1, "decision", "", "ok", ""),
        (1, "tool", "add", "ok", ""),
        (1, "tool", "explode", "error", "LookupError"),
        (1, "tool", "remove", "error", "agents.exceptions.UserError"),
    ]
    assert waiting(kept) == ("idle", [])


@pytest.mark.parametrize("how", ["async", "streamed"])
async def test_approvals_pause_a_session_and_the_run_on_the_state_resumes_it(how: str, make: Make, kept: Settings) -> None:
    both = asks(ToolCall("remove", {"path": "a"}, "c1"), ToolCall("remove", {"path": "b"}, "c2"))
    agent, session = make(both, "One of them.", tools=[remove]), SQLiteSession("s")

    async def run(given: Any) -> Any:
        if how == "async":
            return await Runner.run(agent, given, session=session)
        result = Runner.run_streamed(agent, given, session=session)
        async for _ in result.stream_events():
            pass
        await result.run_loop_task
        return result

    result = await run("Remove both.")
    status, open_work = waiting(kept)
    assert (status, sorted(open_work)) == (
        "paused",
        [
            ("pending", "c1", 'approve remove {"path": "a"}'),
            ("pending", "c2", 'approve remove {"path": "b"}'),
            ("queued", "c1", "remove"),
            ("queued", "c2", "remove"),
        ],
    )
    # As it would be in another process.
    state = await RunState.from_string(agent, result.to_state().to_string())
    first, second = state.get_interruptions()
    state.approve(first)
    state.reject(second)
    assert (await run(state)).final_output == "One of them."
    assert waiting(kept) == ("idle", [])
    with queries.reading(kept) as db:
        said = [(row.turn, row.state, row.reason, row.effect) for row in reversed(queries.lifecycle(db, "s"))]
        tools = [(row.turn, row.outcome, row.error) for row in reversed(queries.log(db, "s", kind="tool"))]
    assert said == [(1, "paused", "human_input", "applied"), (2, "resumed", "", "applied")]
    assert tools == [(2, "error", "approval_rejected"), (2, "ok", "")]


@pytest.mark.parametrize("name", ["s", ""])
async def test_a_resumed_run_goes_on_with_its_session_and_is_no_retry(name: str, make: Make, kept: Settings) -> None:
    script = (asks(ToolCall("remove", {"path": path}, call)) for path, call in (("a", "c1"), ("b", "c2")))
    agent, session = make(*script, "Done.", tools=[remove]), SQLiteSession(name) if name else None
    result = await Runner.run(agent, "Remove both.", session=session)
    for _ in range(2):
        state = result.to_state()
        state.approve(state.get_interruptions()[0])
        result = await Runner.run(agent, state, session=session)
    assert result.final_output == "Done."
    with queries.reading(kept) as db:
        (found,) = queries.sessions(db)
        turns = [turn.input_summary for turn in queries.turns(db, found.session_id, [1, 2, 3])]
        retried = queries.retries(db, found.session_id)
    assert (found.status, sorted(turns), retried) == ("idle", ["", "", "Remove both."], [])


async def test_an_agent_as_a_tool_that_waits_for_an_approval_has_not_run(make: Make, kept: Settings) -> None:
    inner = make(asks(ToolCall("remove", {"path": "a"}, "d1")), "Gone.", name="B", tools=[remove])
    agent = make(asks(ToolCall("ask_b", {"input": "Remove a."}, "c1")), "B did.", tools=[inner.as_tool("ask_b", "Asks B.")])
    session = SQLiteSession("s")
    state = (await Runner.run(agent, "Go.", session=session)).to_state()
    assert log(kept)[-1][:2] == (1, "lifecycle")
    assert [row for row in log(kept) if row[1] == "tool"] == []
    state.approve(state.get_interruptions()[0])
    await Runner.run(agent, state, session=session)
    assert [row[:4] for row in log(kept) if row[1] == "tool"] == [(2, "tool", "remove", "ok"), (2, "tool", "ask_b", "ok")]
    assert waiting(kept) == ("idle", [])


@pytest.mark.parametrize("mode", ["input", "previous_response_id"])
async def test_compaction_evicts_exactly_what_the_model_no_longer_sees(mode: Any, make: Make, kept: Settings) -> None:
    agent = make(asks(ToolCall("add", {"a": 1, "b": 2}, "c1")), "Three.", Reply("SEALED"), "As I said, three.", tools=[add])
    session = OpenAIResponsesCompactionSession(
        "s",
        SQLiteSession("s"),
        client=agent.model._client,
        compaction_mode=mode,
        should_trigger_compaction=lambda context: len(context["session_items"]) == 5,
    )
    await Runner.run(agent, "What is 1 + 2?", session=session)
    await Runner.run(agent, "Sure?", session=session)
    with queries.reading(kept) as db:
        gone = sorted((row.turn, row.kind, row.summary, row.reason) for row in queries.evictions(db, "s"))
        kinds = [(row.turn, row.kind, row.output_summary) for row in reversed(queries.log(db, "s"))]
    assert kinds == [
        (1, "decision", "I call."),
        (1, "tool", "3"),
        (1, "decision", "Three."),
        (1, "decision", ""),
        (2, "eviction", ""),
        (2, "decision", "As I said, three."),
    ]
    # A compaction of what is sent gives back what the user said; one of what the server keeps, here, nothing.
    lost = [(2, "message", "What is 1 + 2?", "summarised")] if mode == "previous_response_id" else []
    assert gone == [
        (2, "decision", "call add - I call.", "summarised"),
        (2, "message", "I call.", "summarised"),
        (2, "message", "Three.", "summarised"),
        *lost,
        (2, "message", "call add", "summarised"),
        (2, "result", "3", "summarised"),
    ]


class Server(MCPServer):
    """A server of tools, without a wire."""

    name = "calculator"

    async def connect(self) -> None: ...
    async def cleanup(self) -> None: ...
    async def list_prompts(self) -> Any: ...
    async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...

    async def list_tools(self, *args: Any, **kwargs: Any) -> Any:
        return [Tool(name=name, input_schema={"type": "object", "properties": {}}) for name in ("one", "none")]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> Any:
        said = {"one": "1", "none": "there is none"}[tool_name]
        return CallToolResult(content=[TextContent(type="text", text=said)], is_error=tool_name == "none")


async def test_an_error_that_an_mcp_server_answers_with_is_one(make: Make, kept: Settings) -> None:
    agent = make(asks(ToolCall("one", {}, "c1"), ToolCall("none", {}, "c2")), "One.", mcp_servers=[Server()])
    await Runner.run(agent, "Count.", session=SQLiteSession("s"))
    with queries.reading(kept) as db:
        tools = sorted((row.tool, row.outcome, row.error, row.output_summary) for row in queries.log(db, "s", kind="tool"))
    assert tools == [("none", "error", "tool_error", "there is none"), ("one", "ok", "", "1")]


async def test_a_local_shell_is_a_tool_that_the_model_asked_for(make: Make, kept: Settings) -> None:
    from agents import LocalShellTool
    from openai.types.responses.response_output_item import LocalShellCall, LocalShellCallAction

    action = LocalShellCallAction(command=["ls", "-a"], env={}, type="exec")
    call = LocalShellCall(id="l1", call_id="c1", action=action, status="completed", type="local_shell_call")
    agent = Agent("A", model=Own(call, "Nothing."), tools=[LocalShellTool(executor=lambda request: "total 0")])
    assert (await Runner.run(agent, "List.", session=SQLiteSession("s"))).final_output == "Nothing."
    with queries.reading(kept) as db:
        tools = [(row.tool, row.outcome, row.input_summary, row.output_summary) for row in queries.log(db, "s", kind="tool")]
        queued = queries.pending(db, "s")
    assert tools == [("local_shell", "ok", '{"command":["ls","-a"],"env":{},"type":"exec"}', "total 0")]
    assert queued == []


async def test_what_a_hosted_tool_did_is_in_the_answer(instrumented: Recorder) -> None:
    from openai.types.responses import ResponseFunctionWebSearch
    from openai.types.responses.response_function_web_search import ActionSearch

    search = ResponseFunctionWebSearch(
        id="ws1", action=ActionSearch(query="tea", type="search"), status="completed", type="web_search_call"
    )
    await Runner.run(Agent("A", model=Own([search, output("Tea.")])), "Hi.")
    (answer,) = instrumented.one("chat vendor/own")[semconv.GEN_AI_OUTPUT_MESSAGES]
    assert [part["type"] for part in answer["parts"]] == ["web_search_call", "text"]
    assert answer["parts"][0]["action"] == {"query": "tea", "type": "search"}


async def test_interleaved_runs_keep_to_their_sessions(make: Make, kept: Settings) -> None:
    async def talk(name: str) -> None:
        script = [each for _ in range(3) for each in (asks(ToolCall("add", {"a": 1, "b": 2}, "c1")), "Three.")]
        agent, session = make(*script, name=name, tools=[add]), SQLiteSession(name)
        for _ in range(3):
            await Runner.run(agent, "What is 1 + 2?", session=session)

    await asyncio.gather(talk("one"), talk("two"))
    turn = [("decision", "", "ok"), ("tool", "add", "ok"), ("decision", "", "ok")]
    for name in ("one", "two"):
        assert [row[1:4] for row in log(kept, name)] == turn * 3
        assert [row[0] for row in log(kept, name)] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


async def test_the_session_is_the_conversation_or_the_group_where_there_is_no_session(
    make: Make, instrumented: Recorder
) -> None:
    await Runner.run(make("Hello."), "Hi.", run_config=RunConfig(group_id="group"))
    await Runner.run(make("Hello."), "Hi.", conversation_id="conv_1", run_config=RunConfig(group_id="group"))
    runs = [span for span in instrumented.spans if span.name == "invoke_agent A"]
    assert [span["gen_ai.conversation.id"] for span in runs] == ["group", "conv_1"]


async def test_a_conversation_that_the_server_keeps_is_one_session(make: Make, kept: Settings) -> None:
    agent = make(asks(ToolCall("add", {"a": 1, "b": 2}, "c1")), "Three.", "Sure.", tools=[add])
    result = await Runner.run(agent, "What is 1 + 2?", auto_previous_response_id=True)
    await Runner.run(agent, "Sure?", previous_response_id=result.last_response_id)
    with queries.reading(kept) as db:
        (session,) = queries.sessions(db)
    assert [row[:4] for row in log(kept, session.session_id)] == [
        (1, "decision", "", "ok"),
        (1, "tool", "add", "ok"),
        (1, "decision", "", "ok"),
        (2, "decision", "", "ok"),
    ]


async def test_the_sdks_own_traces_are_what_they_are_without_turnlog(make: Make, provider: Any) -> None:
    class Names(agents.TracingProcessor):
        def __init__(self) -> None:
            self.names: list[Any] = []

        def on_trace_start(self, trace: Any) -> None: ...
        def on_trace_end(self, trace: Any) -> None: ...
        def on_span_start(self, span: Any) -> None: ...
        def on_span_end(self, span: Any) -> None:
            data = span.span_data.export() or {}
            self.names.append((data.get("type"), data.get("name"), data.get("output"), span.error))

        def shutdown(self) -> None: ...
        def force_flush(self) -> None: ...

    async def traced() -> list[Any]:
        names = Names()
        agents.set_trace_processors([names])
        agents.set_tracing_disabled(False)
        calls = ToolCall("add", {"a": 1, "b": 2}, "c1"), ToolCall("fail", {}, "c2")
        await Runner.run(make(asks(*calls), "Three.", tools=[add, fail]), "Go.")
        agents.set_trace_processors([])
        return sorted(names.names, key=str)

    without = await traced()
    instrument(*FRAMEWORKS, tracer_provider=provider)
    within = await traced()
    uninstrument_all()
    assert len(without) > 5
    assert within == without


async def test_undo_restores_everything(make: Make, provider: Any, complaints: list[str]) -> None:
    run, loop, execution = agents.run, agents.run_internal.run_loop, agents.run_internal.tool_execution
    owners = [run, run.AgentRunner, loop, execution, agents.tool, agents.exceptions.ToolTimeoutError, OpenAIResponsesModel]
    owners.append(agents.tracing.spans.SpanImpl)
    before = [identities(owner) for owner in owners]
    instrument(*FRAMEWORKS, tracer_provider=provider)
    await Runner.run(make("Hello."), "Hi.")
    hooked = [identities(owner) for owner in owners]
    uninstrument_all()
    assert [one != other for one, other in zip(before, hooked, strict=True)] == [True] * len(owners)
    assert [identities(owner) for owner in owners] == before
    assert complaints == []
