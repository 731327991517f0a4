"""Real LangChain agents on LangGraph with the real OpenAI client: agent, chat and tool spans, and nothing twice."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any
from uuid import uuid4

import openai
import pytest
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, ToolException, tool
from langchain_core.tracers import context as tracers
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.pregel._loop import PregelLoop
from langgraph.types import Command, interrupt
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import TracerProvider
from pydantic import BaseModel

from instrument.recorder import Recorder, identities, text
from instrument.state import stands
from recording import Recording
from turnlog import queries, semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import LangChainInstrumentor, instrument, runs, uninstrument
from turnlog.instrument.calls import Account, Start

FRAMEWORKS = ("openai", "langchain", "langgraph")
ADD = ToolCall("add", {"a": 1, "b": 2}, "c1")
CALLING = Reply("I will add.", tool_calls=[ADD], cached_tokens=3)
ASK: Any = {"messages": [("user", "Add 1 and 2.")]}


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


@pytest.fixture
def chat(model: ScriptedModel) -> ChatOpenAI:
    return ChatOpenAI(model="m", base_url=model.base_url, api_key="none", temperature=0.5, max_retries=0)


def test_a_turn_of_an_agent_is_one_tree_of_agent_chat_and_tool_spans(
    instrumented: Recorder, model: Any, chat: ChatOpenAI
) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    agent = create_agent(chat, [add], name="adder", system_prompt="Be brief.")
    agent.invoke(ASK, {"configurable": {"thread_id": "t-1"}})
    assert instrumented.tree == [
        (None, "invoke_agent adder"),
        ("invoke_agent adder", "chat m"),
        ("invoke_agent adder", "execute_tool add"),
        ("invoke_agent adder", "chat m"),
    ]
    turn, first, called, second = instrumented.spans
    common = {"gen_ai.conversation.id": "t-1", "gen_ai.agent.name": "adder"}
    assert turn.attributes == {"gen_ai.operation.name": "invoke_agent", **common}
    assert turn.content == {
        "gen_ai.input.messages": [text("user", "Add 1 and 2.")],
        "gen_ai.output.messages": [text("assistant", "The sum is 3.")],
    }
    assert (first.kind, first.attributes) == (
        "CLIENT",
        {
            "gen_ai.operation.name": "chat",
            **common,
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "m",
            "gen_ai.request.temperature": 0.5,
            "server.address": "127.0.0.1",
            "server.port": int(model.base_url.split(":")[2].split("/")[0]),
            "gen_ai.response.id": "chatcmpl-1",
            "gen_ai.response.model": "m",
            "gen_ai.response.finish_reasons": ("tool_calls",),
            "gen_ai.usage.input_tokens": 11,
            "gen_ai.usage.output_tokens": 7,
            "gen_ai.usage.cache_read.input_tokens": 3,
            "gen_ai.usage.reasoning.output_tokens": 0,
        },
    )
    call = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}
    calling = [{"type": "text", "content": "I will add."}, call]
    assert first.content == {
        "gen_ai.input.messages": [text("system", "Be brief."), text("user", "Add 1 and 2.")],
        "gen_ai.output.messages": [{"role": "assistant", "parts": calling, "finish_reason": "tool_calls"}],
    }
    assert (called.kind, called.attributes, called.content) == (
        "INTERNAL",
        {
            "gen_ai.operation.name": "execute_tool",
            **common,
            "gen_ai.tool.name": "add",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": "c1",
        },
        {"gen_ai.tool.call.arguments": {"a": 1, "b": 2}, "gen_ai.tool.call.result": "3"},
    )
    assert second.content["gen_ai.input.messages"][2:] == [
        {"role": "assistant", "parts": calling},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}]},
    ]


def test_two_turns_of_a_thread_are_two_roots_of_one_conversation(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = ["one", "two"]
    agent = create_agent(chat, [], name="a", checkpointer=InMemorySaver())
    for words in ("first", "second"):
        agent.invoke({"messages": words}, {"configurable": {"thread_id": 7}})
    agent.update_state({"configurable": {"thread_id": 7}}, {"messages": [("user", "edited")]})
    turns = [span for span in instrumented.spans if span.name == "invoke_agent a"]
    assert [(span.name, span["gen_ai.conversation.id"]) for span in instrumented.spans if span.name != "checkpoint"] == [
        *[("invoke_agent a", "7"), ("chat m", "7")] * 2,
        ("update_state", "7"),
    ]
    assert [span.content["gen_ai.input.messages"] for span in turns] == [
        [text("user", "first")],
        [text("user", "second")],
    ]
    assert [span.content["gen_ai.output.messages"] for span in turns] == [
        [text("assistant", "one")],
        [text("assistant", "two")],
    ]


def test_without_a_thread_no_conversation_is_made_up(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = ["hello"]
    create_agent(chat, []).invoke(ASK)
    assert instrumented.names == ["invoke_agent LangGraph", "chat m"]
    assert not any(semconv.GEN_AI_CONVERSATION_ID in span.attributes for span in instrumented.spans)


def test_a_failing_tool_fails_its_span_and_the_turn_as_it_fails_the_host(
    instrumented: Recorder, model: Any, chat: ChatOpenAI
) -> None:
    model.script[:] = [Reply(tool_calls=[ToolCall("boom")])]
    with pytest.raises(ValueError, match="kaput"):
        create_agent(chat, [boom], name="a").invoke(ASK)
    assert [(span.name, span.failed) for span in instrumented.spans] == [
        ("invoke_agent a", True),
        ("chat m", False),
        ("execute_tool boom", True),
    ]
    failed = instrumented.one("execute_tool boom")
    assert (failed[semconv.ERROR_TYPE], failed[semconv.EXCEPTION_MESSAGE]) == ("ValueError", "kaput")


def test_a_tool_that_answers_with_an_error_is_marked_though_nothing_was_raised(instrumented: Recorder) -> None:
    @tool
    def refuse() -> str:
        """Refuse."""
        raise ToolException("not today")

    refuse.handle_tool_error = True
    refuse.invoke({"type": "tool_call", "name": "refuse", "args": {}, "id": "c9"})
    (span,) = instrumented.spans
    assert (span.failed, span[semconv.ERROR_TYPE], span[semconv.GEN_AI_TOOL_CALL_ID]) == (True, "tool_error", "c9")
    assert span.content == {
        "gen_ai.tool.call.arguments": {},
        "gen_ai.tool.call.result": "not today",
        "exception.message": "not today",
    }


def test_handled_tool_errors_keep_the_turn_going(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [Reply(tool_calls=[ToolCall("boom")]), "It failed."]
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [chat.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([boom], handle_tool_errors=True))
    graph.add_edge(START, "model")
    graph.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].tool_calls else "__end__", ["tools", "__end__"]
    )
    graph.add_edge("tools", "model")
    graph.compile(name="g").invoke(ASK)
    assert [(span.parent, span.name, span.failed) for span in instrumented.spans] == [
        (None, "invoke_agent g", False),
        ("invoke_agent g", "chat m", False),
        ("invoke_agent g", "execute_tool boom", True),
        ("invoke_agent g", "chat m", False),
    ]


def test_parallel_tools_are_siblings_that_overlap(
    instrumented: Recorder, model: Any, chat: ChatOpenAI, provider: TracerProvider
) -> None:
    together = threading.Barrier(3, timeout=60)

    @tool
    def meet(name: str) -> str:
        """Wait for the others."""
        together.wait()
        with provider.get_tracer("app").start_as_current_span(f"inside {name}"):
            return name

    calls = [ToolCall("meet", {"name": name}, name) for name in "abc"]
    model.script[:] = [Reply(tool_calls=calls), "met"]
    create_agent(chat, [meet], name="a").invoke(ASK)
    met = [span for span in instrumented.spans if span.name == "execute_tool meet"]
    assert {span.parent for span in met} == {"invoke_agent a"}
    assert sorted((span["gen_ai.tool.call.id"], span["gen_ai.tool.call.result"]) for span in met) == [
        ("a", "a"),
        ("b", "b"),
        ("c", "c"),
    ]
    inside = sorted(pair for pair in instrumented.tree if pair[1].startswith("inside"))
    assert inside == [("execute_tool meet", f"inside {name}") for name in "abc"]


async def test_async_agents_and_tools_are_recorded_like_sync_ones(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [Reply(tool_calls=[ToolCall("sleep", {"seconds": 0}, "c1"), ADD]), "done"]
    await create_agent(chat, [sleep, add], name="a").ainvoke(ASK)
    assert sorted(instrumented.tree, key=str) == [
        ("invoke_agent a", "chat m"),
        ("invoke_agent a", "chat m"),
        ("invoke_agent a", "execute_tool add"),
        ("invoke_agent a", "execute_tool sleep"),
        (None, "invoke_agent a"),
    ]


def test_a_streamed_agent_is_the_same_tree(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    agent = create_agent(chat, [add], name="a")
    current = {trace.get_current_span() for _ in agent.stream(ASK, stream_mode=["messages", "updates"])}
    assert current == {trace.INVALID_SPAN}
    assert instrumented.tree == [
        (None, "invoke_agent a"),
        ("invoke_agent a", "chat m"),
        ("invoke_agent a", "execute_tool add"),
        ("invoke_agent a", "chat m"),
    ]
    last = instrumented.spans[3].content["gen_ai.output.messages"]
    assert last == [{**text("assistant", "The sum is 3."), "finish_reason": "stop"}]


def test_a_streamed_model_outside_any_agent_is_a_root(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [CALLING]
    list(chat.stream("Add 1 and 2.", stream_usage=True))
    (span,) = instrumented.spans
    assert (span.name, span.parent, span[semconv.GEN_AI_USAGE_OUTPUT_TOKENS]) == ("chat m", None, 7)


def test_the_responses_api_keeps_reasoning_apart(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [Reply("Yes.", reasoning="It is so.", tool_calls=[ADD])]
    chat.model_copy(update={"use_responses_api": True}).invoke("Well?")
    (span,) = instrumented.spans
    assert span.content["gen_ai.output.messages"][0]["parts"] == [
        {"type": "reasoning", "content": "It is so."},
        {"type": "text", "content": "Yes."},
        {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}},
    ]


def test_breaking_out_of_a_stream_ends_every_span(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = ["one two three", CALLING, "done"]
    for chunk in chat.stream("count"):
        if chunk.content == "two ":
            break
    (span,) = instrumented.spans
    assert (span.failed, span.content["gen_ai.output.messages"][0]) == (False, text("assistant", "one two "))
    for _ in create_agent(chat, [add], name="a").stream(ASK, stream_mode="updates"):
        break
    assert [(span.name, span.failed) for span in instrumented.spans[1:]] == [
        ("invoke_agent a", False),
        ("chat m", False),
    ]


async def test_breaking_out_of_an_async_stream_ends_every_span(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = ["one two three", CALLING, "done"]
    async for _ in chat.astream("count"):
        break
    async for _ in create_agent(chat, [add], name="a").astream(ASK, stream_mode="updates"):
        break
    await asyncio.sleep(0.05)
    assert [(span.name, span.failed) for span in instrumented.spans] == [
        ("chat m", False),
        ("invoke_agent a", False),
        ("chat m", False),
    ]


@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
async def test_a_stream_of_events_is_one_call_and_current_only_while_it_is_read(
    instrumented: Recorder, model: Any, chat: ChatOpenAI
) -> None:
    model.script[:] = [CALLING, "one two", "one two", "one two three", Reply("no", status=400)]
    bound = chat.bind_tools([add])
    outside = [trace.get_current_span() for _ in bound.stream_events("Add 1 and 2.", version="v3")]
    assert set(outside) == {trace.INVALID_SPAN}
    assert str(chat.stream_events("count", version="v3").text) == "one two"
    assert await (await chat.astream_events("count", version="v3")).text == "one two"
    async with await chat.astream_events("count", version="v3") as left:
        async for _ in left.text:
            break
    stream = chat.stream_events("count", version="v3")
    with pytest.raises(openai.BadRequestError) as raised:
        list(stream)
    assert raised.value is stream._error
    # Whether the one that was left had been read to its end by the task that reads it is a race.
    calling, counted, awaited, _left, failed = instrumented.spans
    assert instrumented.tree == [(None, "chat m")] * 5
    assert calling.content["gen_ai.output.messages"][0]["parts"][-1]["name"] == "add"
    assert counted.content == awaited.content
    assert [span.failed for span in (calling, counted, awaited, failed)] == [False, False, False, True]


@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
def test_a_stream_of_events_that_nobody_reads_on_ends(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = ["one two three", "done"]
    next(iter(chat.stream_events("count", version="v3")))
    gc.collect()
    chat.invoke("And?")
    assert [(span.name, span.failed) for span in instrumented.spans] == [("chat m", False)] * 2


async def test_a_cancelled_turn_ends_all_that_was_running_in_it(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [Reply(tool_calls=[ToolCall("sleep", {"seconds": 5})])]
    task = asyncio.create_task(create_agent(chat, [sleep], name="a").ainvoke(ASK))
    while instrumented.started < 3:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(span.name, span.attributes.get(semconv.ERROR_TYPE)) for span in instrumented.spans] == [
        ("invoke_agent a", "CancelledError"),
        ("chat m", None),
        ("execute_tool sleep", "CancelledError"),
    ]


async def test_a_timeout_in_the_same_task_ends_the_call_and_leaves_the_context_clean(
    instrumented: Recorder, model: Any, chat: ChatOpenAI
) -> None:
    model.script[:] = [Reply(delay=5)]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await chat.ainvoke("hello")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await sleep.ainvoke({"seconds": 5})
    assert [(span.name, span[semconv.ERROR_TYPE]) for span in instrumented.spans] == [
        ("chat m", "CancelledError"),
        ("execute_tool sleep", "CancelledError"),
    ]
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_model_that_times_out_fails_the_chat_span(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [Reply(delay=5)]
    impatient = ChatOpenAI(model="m", base_url=model.base_url, api_key="none", max_retries=0, timeout=0.1)
    with pytest.raises(openai.APITimeoutError):
        impatient.invoke("hello")
    (span,) = instrumented.spans
    assert span[semconv.ERROR_TYPE].endswith("TimeoutError")


def test_an_agent_inside_a_tool_is_an_agent_of_its_own(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    helper = create_agent(chat, [add], name="helper")

    @tool
    def ask(question: str) -> str:
        """Ask the helper."""
        return str(helper.invoke({"messages": question})["messages"][-1].content)

    model.script[:] = [Reply(tool_calls=[ToolCall("ask", {"question": "sum?"})]), CALLING, "3", "It is 3."]
    create_agent(chat, [ask], name="boss").invoke(ASK)
    assert instrumented.tree == [
        (None, "invoke_agent boss"),
        ("invoke_agent boss", "chat m"),
        ("invoke_agent boss", "execute_tool ask"),
        ("execute_tool ask", "invoke_agent helper"),
        ("invoke_agent helper", "chat m"),
        ("invoke_agent helper", "execute_tool add"),
        ("invoke_agent helper", "chat m"),
        ("invoke_agent boss", "chat m"),
    ]


def test_an_interrupt_and_its_resume_are_two_turns_without_an_error(instrumented: Recorder) -> None:
    @tool
    def approve(action: str) -> str:
        """Ask a person."""
        return f"{action}: {interrupt('ok?')}"

    graph = StateGraph(MessagesState)
    call = {"name": "approve", "args": {"action": "rm"}, "id": "c1"}
    graph.add_node("model", lambda state: {"messages": [AIMessage("", tool_calls=[call])]})
    graph.add_node("tools", ToolNode([approve]))
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    agent = graph.compile(checkpointer=InMemorySaver(), name="g")
    config: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke(ASK, config)
    agent.invoke(Command(resume="yes"), config)
    spans = [span for span in instrumented.spans if span.name != "checkpoint"]
    assert [(span.parent, span.name, span.failed) for span in spans] == [
        (None, "invoke_agent g", False),
        ("invoke_agent g", "execute_tool approve", False),
        ("invoke_agent g", "session paused", False),
        (None, "invoke_agent g", False),
        ("invoke_agent g", "session resumed", False),
        ("invoke_agent g", "execute_tool approve", False),
    ]
    assert spans[3].content["gen_ai.input.messages"] == [text("user", "yes")]
    assert spans[5]["gen_ai.tool.call.result"] == "rm: yes"


def test_the_bare_sdk_and_own_spans_inside_a_node_belong_to_the_agent(
    instrumented: Recorder, model: Any, chat: ChatOpenAI, provider: TracerProvider
) -> None:
    def node(state: Any) -> Any:
        with (
            provider.get_tracer("app").start_as_current_span("step"),
            openai.OpenAI(base_url=model.base_url, api_key="none") as client,
        ):
            client.chat.completions.create(model="bare", messages=[{"role": "user", "content": "x"}])
            return {"messages": [chat.invoke("y")]}

    model.script[:] = ["one", "two"]
    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(name="g")
    graph.invoke(ASK)
    assert instrumented.tree == [
        (None, "invoke_agent g"),
        ("invoke_agent g", "step"),
        ("step", "chat bare"),
        ("step", "chat m"),
    ]


def test_a_plain_chain_is_one_turn_around_its_model_calls(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = ["hello"]
    chain = RunnableLambda(lambda words: words.upper()) | chat
    chain.invoke("hi", {"run_name": "greet"})
    assert instrumented.tree == [(None, "invoke_agent greet"), ("invoke_agent greet", "chat m")]
    assert instrumented.spans[0].content == {
        "gen_ai.input.messages": [text("user", "hi")],
        "gen_ai.output.messages": [text("assistant", "hello")],
    }


def test_suppressed_instrumentation_records_nothing(instrumented: Recorder, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [CALLING, "3"]
    with suppress_instrumentation():
        create_agent(chat, [add]).invoke(ASK)
    assert instrumented.started == 0


def test_the_host_sees_the_same_results_and_errors_with_and_without(
    model: Any, chat: ChatOpenAI, provider: TracerProvider, complaints: list[str]
) -> None:
    def look() -> list[Any]:
        agent = create_agent(chat, [add, boom], name="a")
        model.script[:] = [CALLING, "3", CALLING, "3", Reply(tool_calls=[ToolCall("boom")])]
        result = agent.invoke(ASK)
        chunks = list(agent.stream(ASK, stream_mode="values"))
        with pytest.raises(ValueError, match="kaput") as caught:
            agent.invoke(ASK)
        direct = add.invoke({"a": 1, "b": 2})
        seen = [(type(each), each.content) for each in result["messages"]]
        return [seen, type(chunks[-1]), len(chunks), type(caught.value), caught.value.args, direct]

    bare = look()
    instrument(*FRAMEWORKS, tracer_provider=provider)
    hooked = look()
    uninstrument(*FRAMEWORKS)
    assert hooked == bare == look()
    assert complaints == []


def test_uninstrumenting_restores_the_frameworks_and_silences_a_handler_still_in_use(
    model: Any, chat: ChatOpenAI, provider: TracerProvider, recorder: Recorder
) -> None:
    classes: list[type] = [BaseChatModel, BaseTool, Pregel, PregelLoop]
    before = [identities(each) for each in classes], list(tracers._configure_hooks)
    instrument(*FRAMEWORKS, tracer_provider=provider)
    assert ([identities(each) for each in classes], list(tracers._configure_hooks)) != before
    model.script[:] = [CALLING, "3"]
    stream = create_agent(chat, [add], name="a").stream(ASK, stream_mode="updates")
    next(stream)
    uninstrument(*FRAMEWORKS)
    assert ([identities(each) for each in classes], list(tracers._configure_hooks)) == before
    list(stream)
    assert [(span.name, span.failed) for span in recorder.spans] == [("invoke_agent a", False), ("chat m", False)]
    assert recorder.started == 2


def test_runs_that_are_never_told_to_end_do_not_pile_up(
    provider: TracerProvider, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_MOST_OPEN", 3)
    account = Account("test")
    account.use(provider)
    open_runs = runs.Runs(account)
    for number in range(5):
        open_runs.enter(uuid4(), None, Start(f"run {number}"), None)
    assert recorder.names == ["run 0", "run 1"]


def test_the_entry_point_names_the_tested_range() -> None:
    assert LangChainInstrumentor().instrumentation_dependencies() == ["langchain-core >= 1.4, < 2"]


class Sum(BaseModel):
    """A sum."""

    total: int


@pytest.mark.parametrize("include_raw", [False, True])
async def test_a_call_that_gives_the_answer_its_form_is_the_answer_and_leaves_no_call_open(
    recorded: Recording, model: Any, chat: ChatOpenAI, include_raw: bool
) -> None:
    model.script[:] = [Reply(tool_calls=[ToolCall("Sum", {"total": 3}, f"c{number}")]) for number in range(3)]
    answering = chat.with_structured_output(Sum, method="function_calling", include_raw=include_raw)
    given: list[Any] = [answering.invoke("1 + 2?"), await answering.ainvoke("1 + 2?")]
    assert [each["parsed"] if include_raw else each for each in given] == [Sum(total=3)] * 2
    list(answering.stream("1 + 2?"))
    with queries.reading(recorded.settings) as db:
        decided = [(row.choice, row.output_summary) for row in queries.log(db, queries.find_session(db, ""))]
    assert decided == [("answer", '{"total":3}')] * 3
    assert stands(recorded.settings) == ("idle", [])


def test_tools_beside_a_structured_answer_are_still_to_be_run(recorded: Recording, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [Reply(tool_calls=[ADD])]
    chat.with_structured_output(Sum, method="json_schema", tools=[add], strict=True, include_raw=True).invoke("1 + 2?")
    assert stands(recorded.settings) == ("idle", [("queued", 1, "add")])
