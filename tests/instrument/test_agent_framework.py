"""Real agents of Microsoft's Agent Framework with its OpenAI client: its own spans adopted where they come to us, ours where
they do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

pytest.importorskip(
    "agent_framework", reason="agent-framework is not installed: python tests/frameworks/environments.py agent-framework"
)

from agent_framework import (
    Agent,
    BaseChatClient,
    FunctionTool,
    Message,
    RawAgent,
    SlidingWindowStrategy,
    SummarizationStrategy,
    Workflow,
    WorkflowBuilder,
    observability,
    tool,
)
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient

from instrument.recorder import Recorder, identities, text
from instrument.state import log, stands
from recording import Recording
from turnlog import queries, semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument, uninstrument_all

FRAMEWORKS = ("openai", "agent_framework")
CALLING = Reply("I will add.", tool_calls=[ToolCall("add", {"a": 1, "b": 2}, "c1")], cached_tokens=3)
TREE = [
    (None, "invoke_agent adder"),
    ("invoke_agent adder", "chat m"),
    ("invoke_agent adder", "execute_tool add"),
    ("invoke_agent adder", "chat m"),
]


@tool(approval_mode="never_require")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(approval_mode="never_require")
def boom() -> str:
    """Fail."""
    raise ValueError("kaput")


@tool(approval_mode="always_require")
def remove(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


@pytest.fixture
async def client(model: ScriptedModel) -> AsyncIterator[OpenAIChatCompletionClient]:
    client = OpenAIChatCompletionClient(model="m", base_url=model.base_url, api_key="none")
    yield client
    await client.client.close()


@pytest.fixture
def recorded(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    """Hooked, and the framework's own spans come to the same provider."""
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: recording.provider)
    instrument(*FRAMEWORKS, tracer_provider=recording.provider)
    yield recording
    uninstrument_all()
    assert recording.processor.troubles == {}


@pytest.fixture
def disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework makes no spans itself."""
    monkeypatch.setattr(observability.OBSERVABILITY_SETTINGS, "_enable_instrumentation", False, raising=False)
    assert not observability.OBSERVABILITY_SETTINGS.ENABLED


def agent_of(client: Any, *tools: Any, name: str = "adder", **how: Any) -> Agent:
    return Agent(client=client, name=name, tools=list(tools), **how)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_turn_is_one_tree_of_agent_chat_and_tool_spans(
    instrumented: Recorder, disabled: None, model: Any, client: Any, streamed: bool
) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    agent = agent_of(client, add, instructions="Be brief.", default_options={"temperature": 0.5})
    if streamed:
        assert "".join([update.text async for update in agent.run("Add 1 and 2.", stream=True)]) == "I will add.The sum is 3."
    else:
        assert (await agent.run("Add 1 and 2.")).messages[-1].text == "The sum is 3."
    assert instrumented.tree == TREE
    spans = instrumented.spans
    assert (spans[0].attributes, spans[0].content) == (
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "adder"},
        {
            semconv.GEN_AI_INPUT_MESSAGES: [text("user", "Add 1 and 2.")],
            semconv.GEN_AI_OUTPUT_MESSAGES: [text("assistant", "The sum is 3.")],
        },
    )
    first = spans[1]
    assert first.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.5,
        **({"gen_ai.request.stream": True} if streamed else {}),
        "gen_ai.response.id": first["gen_ai.response.id"],
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": first["gen_ai.usage.input_tokens"],
        "gen_ai.usage.output_tokens": first["gen_ai.usage.output_tokens"],
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "server.address": "127.0.0.1",
        "server.port": first["server.port"],
    }
    asked = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}
    said = {"role": "assistant", "parts": [{"type": "text", "content": "I will add."}, asked]}
    assert first.content == {
        semconv.GEN_AI_SYSTEM_INSTRUCTIONS: [{"type": "text", "content": "Be brief."}],
        semconv.GEN_AI_INPUT_MESSAGES: [text("user", "Add 1 and 2.")],
        semconv.GEN_AI_OUTPUT_MESSAGES: [{**said, "finish_reason": "tool_calls"}],
    }
    assert spans[2].content == {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: {"a": 1, "b": 2}, semconv.GEN_AI_TOOL_CALL_RESULT: 3}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}]}
    assert spans[3].content[semconv.GEN_AI_INPUT_MESSAGES] == [text("user", "Add 1 and 2."), said, result]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_each_call_has_one_span_and_it_is_the_frameworks(
    recorded: Recording, model: Any, client: Any, streamed: bool
) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    agent = agent_of(client, add)
    if streamed:
        await agent.run("Add 1 and 2.", stream=True).get_final_response()
    else:
        await agent.run("Add 1 and 2.")
    assert sorted((span.name, span.instrumentation_scope.name) for span in recorded.spans) == [
        ("chat m", "agent_framework"),
        ("chat m", "agent_framework"),
        ("execute_tool add", "agent_framework"),
        ("invoke_agent adder", "agent_framework"),
    ]
    assert len({span.attributes[semconv.TURN_ID] for span in recorded.spans}) == 1
    assert log(recorded.settings) == [(1, "decision", "", "ok"), (1, "tool", "add", "ok"), (1, "decision", "", "ok")]


async def test_responses_that_the_server_keeps_are_one_session(recorded: Recording, model: Any) -> None:
    client = OpenAIChatClient(model="m", base_url=model.base_url, api_key="none")
    agent = agent_of(client, add)
    session = agent.create_session(session_id="kept")
    model.script[:] = [CALLING, "The sum is 3.", "You are welcome."]
    await agent.run("Add 1 and 2.", session=session)
    await agent.run("Thanks.", session=session)
    await client.client.close()
    assert log(recorded.settings, "kept") == [
        (1, "decision", "", "ok"),
        (1, "tool", "add", "ok"),
        (1, "decision", "", "ok"),
        (2, "decision", "", "ok"),
    ]


async def test_interleaved_sessions_stay_apart(recorded: Recording, model: Any, client: Any) -> None:
    model.script[:] = ["Hello."] * 4
    agent = agent_of(client)
    sessions = [agent.create_session(session_id=name) for name in ("one", "two")]
    for said in ("first", "second"):
        await asyncio.gather(*(agent.run(said, session=session) for session in sessions))
    for name in ("one", "two"):
        assert log(recorded.settings, name) == [(1, "decision", "", "ok"), (2, "decision", "", "ok")]


async def test_a_failing_tool_keeps_its_own_exception(recorded: Recording, model: Any, client: Any) -> None:
    model.script[:] = [Reply("", tool_calls=[ToolCall("boom", {}, "c1")]), "It failed."]
    await agent_of(client, boom).run("Fail.")
    assert log(recorded.settings)[1] == (1, "tool", "boom", "error")
    with queries.reading(recorded.settings) as db:
        (failed,) = queries.log(db, queries.find_session(db), kind="tool")
    assert (failed.error, failed.output_summary) == ("ValueError", "kaput")


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_failing_model_raises_the_same_error_and_is_recorded_once(
    recorded: Recording, client: Any, monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    raised = RuntimeError("no model")

    class Broken(OpenAIChatCompletionClient):
        def _inner_get_response(self, *, stream: bool, **kwargs: Any) -> Any:
            async def pieces() -> Any:
                raise raised
                yield

            async def whole() -> Any:
                raise raised

            return self._build_response_stream(pieces()) if stream else whole()

    agent = agent_of(Broken(model="m", base_url="http://127.0.0.1:1", api_key="none"))
    with pytest.raises(RuntimeError) as caught:
        await (agent.run("Hello.", stream=True).get_final_response() if streamed else agent.run("Hello."))
    assert caught.value is raised
    assert log(recorded.settings) == [(1, "decision", "", "error")]


async def test_what_a_tool_does_is_below_its_span(
    instrumented: Recorder, model: Any, client: Any, provider: TracerProvider
) -> None:
    tracer = provider.get_tracer("app")

    @tool(approval_mode="never_require")
    def look() -> str:
        """Look."""
        with tracer.start_as_current_span("looking"):
            return "seen"

    @tool(approval_mode="never_require")
    async def look_async() -> str:
        """Look."""
        with tracer.start_as_current_span("looking on"):
            return "seen"

    calls = [ToolCall("look", {}, "c1"), ToolCall("look_async", {}, "c2")]
    model.script[:] = [Reply("", tool_calls=calls), "Seen."]
    await agent_of(client, look, look_async).run("Look.")
    assert set(instrumented.tree[2:-1]) == {
        ("invoke_agent adder", "execute_tool look"),
        ("invoke_agent adder", "execute_tool look_async"),
        ("execute_tool look", "looking"),
        ("execute_tool look_async", "looking on"),
    }


async def test_an_agent_as_a_tool_is_part_of_the_turn(recorded: Recording, model: Any, client: Any) -> None:
    helper = agent_of(client, add, name="helper").as_tool()
    model.script[:] = [
        Reply("", tool_calls=[ToolCall("helper", {"task": "What is 1 + 2?"}, "c0")]),
        CALLING,
        "3",
        "The helper says 3.",
    ]
    await agent_of(client, helper, name="boss").run("Add.")
    assert log(recorded.settings) == [
        (1, "decision", "", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "add", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "helper", "ok"),
        (1, "decision", "", "ok"),
    ]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_workflow_is_one_turn_with_its_agents_inside(
    recorded: Recording, model: Any, client: Any, streamed: bool
) -> None:
    writer, critic = (agent_of(client, name=name) for name in ("writer", "critic"))
    workflow = WorkflowBuilder(start_executor=writer, output_from="all", name="poems").add_edge(writer, critic).build()
    model.script[:] = ["A poem.", "A good poem."]
    if streamed:
        await workflow.run("Write a poem.", stream=True).get_final_response()
    else:
        await workflow.run("Write a poem.")
    assert log(recorded.settings) == [(1, "decision", "", "ok"), (1, "decision", "", "ok")]
    with queries.reading(recorded.settings) as db:
        (session,) = queries.sessions(db)
        assert [turn.input_summary for turn in queries.turns(db, session.session_id)] == ["Write a poem."]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_an_approval_is_pending_until_it_is_given(recorded: Recording, model: Any, client: Any, streamed: bool) -> None:
    agent = agent_of(client, remove)
    session = agent.create_session(session_id="s")
    model.script[:] = [Reply("I remove it.", tool_calls=[ToolCall("remove", {"path": "a"}, "c1")]), "Done."]

    async def run(given: Any) -> Any:
        if streamed:
            return await agent.run(given, session=session, stream=True).get_final_response()
        return await agent.run(given, session=session)

    (asked,) = (await run("Remove a.")).user_input_requests
    question = '{"name":"remove","arguments":{"path":"a"}}'
    assert stands(recorded.settings) == ("paused", [("queued", 1, "remove"), ("pending", 1, question)])
    await run(Message("user", [asked.to_function_approval_response(True)]))
    assert stands(recorded.settings) == ("idle", [])
    assert log(recorded.settings) == [
        (1, "decision", "", "ok"),
        (1, "lifecycle", "", "ok"),
        (2, "lifecycle", "", "ok"),
        (2, "tool", "remove", "ok"),
        (2, "decision", "", "ok"),
    ]
    with queries.reading(recorded.settings) as db:
        assert [turn.input_summary for turn in queries.turns(db, "s")] == ["approved: remove", "Remove a."]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_messages_that_a_compaction_takes_out_are_evictions(
    recorded: Recording, model: Any, client: Any, streamed: bool
) -> None:
    agent = agent_of(client, compaction_strategy=SlidingWindowStrategy(keep_last_groups=3))
    session = agent.create_session(session_id="s")
    for said in ("one", "two", "three"):
        model.script[:] = [f"You said {said}."]
        run = agent.run(said, session=session, stream=streamed)
        await (run.get_final_response() if streamed else run)
    with queries.reading(recorded.settings) as db:
        found = queries.evictions(db, "s")
    assert [(row.turn, row.summary, row.introduced_in, row.reason) for row in found] == [
        (3, "one", 1, "trimmed"),
        (3, "You said one.", 1, "trimmed"),
    ]


async def test_messages_that_a_summary_replaces_are_evictions(recorded: Recording, model: Any, client: Any) -> None:
    agent = agent_of(client, compaction_strategy=SummarizationStrategy(client=client, target_count=2, threshold=2))
    session = agent.create_session(session_id="s")
    model.script[:] = ["You said one.", "You said two.", "In short: one.", "You said three."]
    for said in ("one", "two", "three"):
        await agent.run(said, session=session)
    with queries.reading(recorded.settings) as db:
        found = queries.evictions(db, "s")
        evicted = {(row.turn, row.summary, row.reason) for row in found}
    assert evicted >= {(3, "one", "summarised"), (3, "You said one.", "summarised")}


async def test_a_stream_that_is_left_keeps_what_was_read(recorded: Recording, model: Any, client: Any) -> None:
    model.script[:] = ["A long answer that nobody reads to its end."]
    async with agent_of(client).run("Talk.", stream=True) as updates:
        async for update in updates:
            if update.text:
                break
    assert [span.name for span in recorded.spans] == ["chat m", "invoke_agent adder"]
    with queries.reading(recorded.settings) as db:
        (said,) = queries.log(db, queries.find_session(db))
    assert (said.outcome, said.output_summary) == ("ok", "A")


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_cancelled_model_call_is_cancelled_and_over(recorded: Recording, streamed: bool) -> None:
    started = asyncio.Event()

    class Slow(OpenAIChatCompletionClient):
        def _inner_get_response(self, *, stream: bool, **kwargs: Any) -> Any:
            async def pieces() -> Any:
                await whole()
                yield

            async def whole() -> Any:
                started.set()
                await asyncio.sleep(60)

            return self._build_response_stream(pieces()) if stream else whole()

    agent = agent_of(Slow(model="m", base_url="http://127.0.0.1:1", api_key="none"))

    async def run() -> Any:
        return await (agent.run("Wait.", stream=True).get_final_response() if streamed else agent.run("Wait."))

    task = asyncio.ensure_future(run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log(recorded.settings) == [(1, "decision", "", "cancelled")]


async def test_undo_restores_every_attribute(model: Any, client: Any, provider: TracerProvider, recorder: Recorder) -> None:
    owners: list[Any] = [RawAgent, Agent, BaseChatClient, FunctionTool, Workflow, *OpenAIChatCompletionClient.__mro__[:-1]]
    before = [identities(owner) for owner in owners]
    instrument(*FRAMEWORKS, tracer_provider=provider)
    model.script[:] = ["One.", "Two."]
    agent = agent_of(client)
    await agent.run("first")
    assert [identities(owner) for owner in owners] != before
    started = recorder.started
    uninstrument(*FRAMEWORKS)
    assert [identities(owner) for owner in owners] == before
    await agent.run("second")
    assert (started, recorder.started) == (2, 2)
