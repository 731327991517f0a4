"""Real Strands agents with its real OpenAI model: its own spans adopted where they come to us, ours where they do not."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

pytest.importorskip("strands", reason="strands-agents is not installed: python tests/frameworks/environments.py strands")

from strands import Agent, ToolContext, tool
from strands.agent import agent as agent_module
from strands.agent.conversation_manager import SlidingWindowConversationManager, SummarizingConversationManager
from strands.event_loop import event_loop
from strands.hooks import BeforeToolCallEvent
from strands.models import Model
from strands.models.openai import OpenAIModel
from strands.multiagent import GraphBuilder, Swarm
from strands.multiagent.graph import Graph
from strands.session.file_session_manager import FileSessionManager
from strands.telemetry import tracer as telemetry
from strands.tools.executors import _executor

from instrument.recorder import Recorder, identities, text
from instrument.state import log, stands
from recording import Recording
from turnlog import queries, semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument, uninstrument_all

FRAMEWORKS = ("openai", "strands")
ADD = ToolCall("add", {"a": 1, "b": 2}, "c1")
CALLING = Reply("I will add.", tool_calls=[ADD], cached_tokens=3)
TREE = [
    (None, "invoke_agent adder"),
    ("invoke_agent adder", "chat m"),
    ("invoke_agent adder", "execute_tool add"),
    ("invoke_agent adder", "chat m"),
]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def boom() -> str:
    """Fail."""
    raise ValueError("kaput")


@tool
async def sleep(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "rested"


@tool
def remove(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


@tool(context=True)
def ask_first(path: str, tool_context: ToolContext) -> str:
    """Remove a file, if that is allowed."""
    return f"{tool_context.interrupt('approval', reason={'remove': path})}, removed {path}"


@pytest.fixture
def chat(model: ScriptedModel) -> OpenAIModel:
    client = {"base_url": model.base_url, "api_key": "none", "max_retries": 0}
    return OpenAIModel(client_args=client, model_id="m", params={"temperature": 0.5})


@pytest.fixture
def recorded(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    """Hooked, and Strands' own spans come to the same provider."""
    monkeypatch.setattr(telemetry, "_tracer_instance", None)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: recording.provider)
    instrument(*FRAMEWORKS, tracer_provider=recording.provider)
    yield recording
    uninstrument_all()
    assert recording.processor.troubles == {}


def agent_of(chat: Model, *tools: Any, name: str = "adder", **how: Any) -> Agent:
    return Agent(model=chat, tools=list(tools), name=name, callback_handler=None, **how)


def test_a_turn_is_one_tree_of_agent_chat_and_tool_spans(instrumented: Recorder, model: Any, chat: OpenAIModel) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    assert str(agent_of(chat, add, system_prompt="Be brief.")("Add 1 and 2.")) == "The sum is 3.\n"
    assert instrumented.tree == TREE
    agent, first, called, second = instrumented.spans
    assert (agent.attributes, agent.content) == (
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "adder"},
        {
            semconv.GEN_AI_INPUT_MESSAGES: [text("user", "Add 1 and 2.")],
            semconv.GEN_AI_OUTPUT_MESSAGES: [{**text("assistant", "The sum is 3."), "finish_reason": "end_turn"}],
        },
    )
    assert first.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.finish_reasons": ("tool_use",),
        "gen_ai.usage.input_tokens": first["gen_ai.usage.input_tokens"],
        "gen_ai.usage.output_tokens": first["gen_ai.usage.output_tokens"],
        "gen_ai.usage.cache_read.input_tokens": 3,
        "server.address": "127.0.0.1",
        "server.port": first["server.port"],
    }
    asked = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}
    said = {"role": "assistant", "parts": [{"type": "text", "content": "I will add."}, asked]}
    assert first.content == {
        semconv.GEN_AI_SYSTEM_INSTRUCTIONS: [{"type": "text", "content": "Be brief."}],
        semconv.GEN_AI_INPUT_MESSAGES: [text("user", "Add 1 and 2.")],
        semconv.GEN_AI_OUTPUT_MESSAGES: [{**said, "finish_reason": "tool_use"}],
    }
    # Up to 1.61, Strands says more of the tool on whatever span is current.
    described = {"gen_ai.tool.description", "gen_ai.tool.json_schema"}
    assert {key: value for key, value in called.attributes.items() if key not in described} == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
    }
    assert called.content == {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: {"a": 1, "b": 2}, semconv.GEN_AI_TOOL_CALL_RESULT: "3"}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}]}
    assert second.content[semconv.GEN_AI_INPUT_MESSAGES] == [text("user", "Add 1 and 2."), said, result]


def test_each_call_has_one_span_and_it_is_the_one_of_strands(recorded: Recording, model: Any, chat: OpenAIModel) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    agent_of(chat, add)("Add 1 and 2.")
    assert sorted((span.name, span.instrumentation_scope.name) for span in recorded.spans) == [
        ("chat", "strands.telemetry.tracer"),
        ("chat", "strands.telemetry.tracer"),
        ("execute_event_loop_cycle", "strands.telemetry.tracer"),
        ("execute_event_loop_cycle", "strands.telemetry.tracer"),
        ("execute_tool add", "strands.telemetry.tracer"),
        ("invoke_agent adder", "strands.telemetry.tracer"),
    ]
    assert len({span.attributes[semconv.TURN_ID] for span in recorded.spans}) == 1
    assert log(recorded.settings) == [(1, "decision", "", "ok"), (1, "tool", "add", "ok"), (1, "decision", "", "ok")]


def test_turns_of_an_agent_without_a_session_manager_are_one_session(
    recorded: Recording, model: Any, chat: OpenAIModel
) -> None:
    model.script[:] = ["One.", "Two."]
    agent, other = agent_of(chat), agent_of(chat, name="other")
    agent("first")
    agent("second")
    model.script[:] = ["Three."]
    other("a third")
    with queries.reading(recorded.settings) as db:
        assert [(each.turns, each.commits) for each in queries.sessions(db)] == [(1, 1), (2, 2)]


async def test_interleaved_sessions_stay_apart(recorded: Recording, model: Any, chat: OpenAIModel, tmp_path: Any) -> None:
    model.script[:] = ["Hello."] * 4
    agents = [
        agent_of(chat, session_manager=FileSessionManager(name, storage_dir=str(tmp_path / "kept"))) for name in ("one", "two")
    ]
    for said in ("first", "second"):
        await asyncio.gather(*(agent.invoke_async(said) for agent in agents))
    for name in ("one", "two"):
        assert log(recorded.settings, name) == [(1, "decision", "", "ok"), (2, "decision", "", "ok")]


def test_a_failing_tool_keeps_its_own_exception(instrumented: Recorder, model: Any, chat: OpenAIModel) -> None:
    model.script[:] = [Reply("", tool_calls=[ToolCall("boom", {}, "c1")]), "It failed."]
    agent_of(chat, boom)("Fail.")
    span = instrumented.one("execute_tool boom")
    assert (span.failed, span[semconv.ERROR_TYPE], span[semconv.EXCEPTION_MESSAGE]) == (True, "ValueError", "kaput")


def test_a_failing_model_raises_the_same_error_and_is_recorded_once(recorded: Recording) -> None:
    raised = RuntimeError("no model")

    class Broken(OpenAIModel):
        async def stream(self, *args: Any, **kwargs: Any) -> Any:
            raise raised
            yield

    with pytest.raises(RuntimeError) as caught:
        agent_of(Broken(model_id="m"))("Hello.")
    assert caught.value is raised
    assert log(recorded.settings) == [(1, "decision", "", "error")]


def test_what_a_tool_does_is_below_its_span(
    instrumented: Recorder, model: Any, chat: OpenAIModel, provider: TracerProvider
) -> None:
    tracer = provider.get_tracer("app")

    @tool
    def look() -> str:
        """Look."""
        with tracer.start_as_current_span("looking"):
            return threading.current_thread().name

    @tool
    async def look_async() -> str:
        """Look."""
        with tracer.start_as_current_span("looking on"):
            return "seen"

    calls = [ToolCall("look", {}, "c1"), ToolCall("look_async", {}, "c2")]
    model.script[:] = [Reply("", tool_calls=calls), "Seen."]
    agent_of(chat, look, look_async)("Look.")
    assert set(instrumented.tree[2:-1]) == {
        ("invoke_agent adder", "execute_tool look"),
        ("invoke_agent adder", "execute_tool look_async"),
        ("execute_tool look", "looking"),
        ("execute_tool look_async", "looking on"),
    }


def test_an_agent_as_a_tool_is_part_of_the_turn(recorded: Recording, model: Any, chat: OpenAIModel) -> None:
    helper = agent_of(chat, add, name="helper")

    @tool
    def delegate(task: str) -> str:
        """Hand over."""
        return str(helper(task))

    asks = Reply("", tool_calls=[ToolCall("delegate", {"task": "Add 1 and 2."}, "c0")])
    model.script[:] = [asks, CALLING, "3", "The helper says 3."]
    agent_of(chat, delegate, name="boss")("Add.")
    assert log(recorded.settings) == [
        (1, "decision", "", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "add", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "delegate", "ok"),
        (1, "decision", "", "ok"),
    ]


@pytest.mark.parametrize("kind", ["graph", "swarm"])
def test_a_graph_or_a_swarm_is_one_turn_with_its_agents_inside(
    recorded: Recording, model: Any, chat: OpenAIModel, kind: str
) -> None:
    agents = [agent_of(chat, name=name) for name in ("writer", "critic")]
    if kind == "graph":
        builder = GraphBuilder()
        for agent in agents:
            builder.add_node(agent, agent.name)
        builder.add_edge("writer", "critic")
        builder.set_max_node_executions(5)
        model.script[:] = ["A poem.", "A good poem."]
        builder.build()("Write a poem.")
    else:
        handoff = ToolCall("handoff_to_agent", {"agent_name": "critic", "message": "Judge it."}, "c1")
        model.script[:] = [Reply("A poem.", tool_calls=[handoff]), "Over to you.", "A good poem."]
        Swarm(agents)("Write a poem.")
    handed = [(1, "tool", "handoff_to_agent", "ok"), (1, "decision", "", "ok")] if kind == "swarm" else []
    assert log(recorded.settings) == [(1, "decision", "", "ok"), *handed, (1, "decision", "", "ok")]
    with queries.reading(recorded.settings) as db:
        (session,) = queries.sessions(db)
        assert [turn.input_summary for turn in queries.turns(db, session.session_id)] == ["Write a poem."]


def test_an_interrupt_before_a_tool_pauses_until_it_is_answered(recorded: Recording, model: Any, chat: OpenAIModel) -> None:
    def approve(event: BeforeToolCallEvent) -> None:
        if event.interrupt("approval", reason="Remove a?") != "yes":
            event.cancel_tool = "denied"

    agent = agent_of(chat, remove)
    agent.hooks.add_callback(BeforeToolCallEvent, approve)
    model.script[:] = [Reply("I remove it.", tool_calls=[ToolCall("remove", {"path": "a"}, "c1")]), "Done."]
    (asked,) = agent("Remove a.").interrupts
    assert stands(recorded.settings) == ("paused", [("queued", 1, "remove"), ("pending", 1, "Remove a?")])
    agent([{"interruptResponse": {"interruptId": asked.id, "response": "yes"}}])
    assert stands(recorded.settings) == ("idle", [])
    assert log(recorded.settings) == [
        (1, "decision", "", "ok"),
        (1, "lifecycle", "", "ok"),
        (2, "lifecycle", "", "ok"),
        (2, "tool", "remove", "ok"),
        (2, "decision", "", "ok"),
    ]


def test_an_interrupt_inside_a_tool_is_no_failure(recorded: Recording, model: Any, chat: OpenAIModel) -> None:
    agent = agent_of(chat, ask_first)
    model.script[:] = [Reply("", tool_calls=[ToolCall("ask_first", {"path": "a"}, "c1")]), "Done."]
    (asked,) = agent("Remove a.").interrupts
    assert stands(recorded.settings) == ("paused", [("queued", 1, "ask_first"), ("pending", 1, '{"remove":"a"}')])
    agent([{"interruptResponse": {"interruptId": asked.id, "response": "yes"}}])
    assert stands(recorded.settings) == ("idle", [])
    assert [row for row in log(recorded.settings) if row[1] == "tool"] == [(2, "tool", "ask_first", "ok")]


def test_messages_that_a_window_drops_are_evictions(recorded: Recording, model: Any, chat: OpenAIModel) -> None:
    agent = agent_of(chat, conversation_manager=SlidingWindowConversationManager(window_size=2))
    for said in ("one", "two", "three"):
        model.script[:] = [f"You said {said}."]
        agent(said)
    with queries.reading(recorded.settings) as db:
        found = queries.evictions(db, queries.find_session(db))
    assert [(row.turn, row.summary, row.introduced_in, row.reason) for row in found] == [
        (3, "one", 1, "trimmed"),
        (3, "You said one.", 1, "trimmed"),
    ]


def test_messages_that_a_summary_replaces_are_evictions(recorded: Recording, model: Any, chat: OpenAIModel) -> None:
    agent = agent_of(chat, conversation_manager=SummarizingConversationManager(summary_ratio=0.8, preserve_recent_messages=2))
    for said in ("one", "two", "three"):
        model.script[:] = [f"You said {said}."]
        agent(said)
    model.script[:] = ["In short: one and two.", "You said four."]
    agent.conversation_manager.reduce_context(agent)
    agent("four")
    with queries.reading(recorded.settings) as db:
        session = max(queries.sessions(db), key=lambda each: each.turns).session_id
        found = queries.evictions(db, session)
    assert [(row.turn, row.summary, row.reason) for row in found] == [
        # Asked for between two turns, the summary is one by itself.
        (5, "one", "summarised"),
        (5, "You said one.", "summarised"),
        (5, "two", "summarised"),
        (5, "You said two.", "summarised"),
    ]


async def test_leaving_a_stream_ends_its_spans_and_keeps_what_was_read(
    recorded: Recording, model: Any, chat: OpenAIModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Strands itself holds contexts across its yields, and OpenTelemetry complains of each.
    monkeypatch.setattr(logging.getLogger("opentelemetry.context"), "disabled", True)
    model.script[:] = ["A long answer that nobody reads to its end."]
    async with contextlib.aclosing(agent_of(chat).stream_async("Talk.")) as events:
        async for event in events:
            if "data" in event:
                break
    async with asyncio.timeout(5):
        # Its generators are closed one by one, each in a task of its own.
        while "chat" not in {span.name for span in recorded.spans}:
            await asyncio.sleep(0.01)
    assert log(recorded.settings) == [(1, "decision", "", "ok")]
    assert [span.name for span in recorded.spans if span.name != "execute_event_loop_cycle"] == ["invoke_agent adder", "chat"]


async def test_a_cancelled_model_call_is_cancelled_and_over(recorded: Recording, model: Any, chat: OpenAIModel) -> None:
    started = asyncio.Event()

    class Slow(OpenAIModel):
        async def stream(self, *args: Any, **kwargs: Any) -> Any:
            started.set()
            await asyncio.sleep(60)
            yield {}

    task = asyncio.ensure_future(agent_of(Slow(model_id="m")).invoke_async("Wait."))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log(recorded.settings) == [(1, "decision", "", "cancelled")]


def test_undo_restores_every_attribute_and_silences_agents_that_were_made(
    model: Any, chat: OpenAIModel, provider: TracerProvider, recorder: Recorder
) -> None:
    owners: list[Any] = [Agent, Graph, Swarm, _executor.ToolExecutor, _executor, event_loop, agent_module]
    before = [identities(owner) for owner in owners]
    instrument(*FRAMEWORKS, tracer_provider=provider)
    agent = agent_of(chat, ask_first)
    changed = [identities(owner) != kept for owner, kept in zip(owners, before, strict=True)]
    uninstrument(*FRAMEWORKS)
    assert changed[:3] == [True, True, True]
    assert [identities(owner) for owner in owners] == before
    model.script[:] = [Reply("", tool_calls=[ToolCall("ask_first", {"path": "a"}, "c1")])]
    assert agent("Remove a.").stop_reason == "interrupt"
    assert recorder.started == 0
