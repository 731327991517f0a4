"""Real LlamaIndex agents and workflows with its real OpenAI integration: turns, model calls, tools, handoffs and questions."""

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
pytest.importorskip("llama_index.llms.openai", reason="llama-index-llms-openai is not installed")

import openai
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.llms import ChatMessage, ChatResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.mock import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)
from llama_index.llms.openai import OpenAI
from llama_index_instrumentation import DispatcherSpanMixin
from opentelemetry import trace
from workflows.plugins.basic import InternalAsyncioAdapter

from instrument.recorder import Recorder, identities, text
from recording import Recording
from turnlog import queries
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument, uninstrument_all
from turnlog.settings import Settings

# LlamaIndex asks pydantic for what that has deprecated, and leaves databases of its memories to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:Skipping serial")
FRAMEWORKS = ("openai", "llama_index")
ADD = ToolCall("add", {"a": 1, "b": 2}, "c1")
CALLING = Reply("I will add.", tool_calls=[ADD])


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def boom() -> str:
    """Fail."""
    raise ValueError("kaput")


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture
def llm(model: ScriptedModel) -> OpenAI:
    return OpenAI(model="gpt-4o", api_base=model.base_url, api_key="none", temperature=0.5, max_retries=0)


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_turn_is_one_tree_of_agent_chat_and_tool_spans(
    instrumented: Recorder, model: Any, llm: OpenAI, streaming: bool
) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    agent = FunctionAgent(name="adder", system_prompt="Be brief.", tools=[add], llm=llm, streaming=streaming)
    answer = await agent.run("Add 1 and 2.", memory=Memory.from_defaults(session_id="s-1"))
    assert str(answer) == "The sum is 3."
    assert instrumented.tree == [
        (None, "invoke_agent adder"),
        ("invoke_agent adder", "chat gpt-4o"),
        ("invoke_agent adder", "execute_tool add"),
        ("invoke_agent adder", "chat gpt-4o"),
    ]
    turn, first, called, second = instrumented.spans
    assert turn.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "adder",
        "gen_ai.conversation.id": "s-1",
    }
    assert turn.content == {
        "gen_ai.input.messages": [text("user", "Add 1 and 2.")],
        "gen_ai.output.messages": [text("assistant", "The sum is 3.")],
    }
    usage = {} if streaming else {"gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": 7}
    assert (first.kind, first.attributes) == (
        "CLIENT",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.request.temperature": 0.5,
            "server.address": "127.0.0.1",
            "server.port": int(model.base_url.split(":")[2].split("/")[0]),
            "gen_ai.response.id": "chatcmpl-1",
            "gen_ai.response.model": "gpt-4o",
            "gen_ai.response.finish_reasons": ("tool_calls",),
            **usage,
        },
    )
    call = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}
    calling = [{"type": "text", "content": "I will add."}, call]
    assert first.content == {
        "gen_ai.input.messages": [text("system", "Be brief."), text("user", "Add 1 and 2.")],
        "gen_ai.output.messages": [{"role": "assistant", "parts": calling, "finish_reason": "tool_calls"}],
    }
    assert (called.attributes, called.content) == (
        {
            "gen_ai.operation.name": "execute_tool",
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


async def test_a_failing_tool_is_told_to_the_model_and_recorded_with_its_exception(
    instrumented: Recorder, model: Any, llm: OpenAI
) -> None:
    model.script[:] = [Reply("", tool_calls=[ToolCall("boom", {}, "c1")]), "It failed."]
    output = await FunctionAgent(tools=[boom], llm=llm, streaming=False).run("Go.")
    assert isinstance(output.tool_calls[0].tool_output.exception, ValueError)
    failed = instrumented.one("execute_tool boom")
    assert (failed.failed, failed["error.type"], failed["exception.message"]) == (True, "ValueError", "kaput")


async def test_a_failing_model_call_fails_its_turn_and_its_exception_is_the_callers(
    instrumented: Recorder, model: Any, llm: OpenAI
) -> None:
    model.script[:] = [Reply("no", status=400)]
    with pytest.raises(Exception) as raised:
        await FunctionAgent(name="a", llm=llm, streaming=False).run("Go.")
    assert isinstance(raised.value, openai.BadRequestError)
    assert [(span.name, span["error.type"]) for span in instrumented.spans] == [
        ("invoke_agent a", "openai.BadRequestError"),
        ("chat gpt-4o", "openai.BadRequestError"),
    ]


async def test_a_run_that_is_cancelled_cancels_its_streaming_model_call(
    instrumented: Recorder, model: Any, llm: OpenAI
) -> None:
    model.script[:] = [Reply("Too late.", delay=5)]
    run = FunctionAgent(name="a", llm=llm).run("Go.")
    while not model.requests:
        await asyncio.sleep(0.01)
    await run.cancel_run()
    assert [(span.name, span["error.type"]) for span in instrumented.spans] == [
        ("invoke_agent a", "CancelledError"),
        ("chat gpt-4o", "CancelledError"),
    ]


async def test_a_tool_runs_in_its_own_context_sync_and_async(
    instrumented: Recorder, model: Any, llm: OpenAI, provider: Any
) -> None:
    tracer = provider.get_tracer("app")

    def inner() -> str:
        """Work."""
        tracer.start_span("of inner").end()
        return "x"

    async def ainner() -> str:
        """Work."""
        await asyncio.sleep(0)
        tracer.start_span("of ainner").end()
        return "x"

    calls = [ToolCall("inner", {}, "c1"), ToolCall("ainner", {}, "c2")]
    model.script[:] = [Reply("", tool_calls=calls), "Done."]
    await FunctionAgent(tools=[inner, ainner], llm=llm).run("Go.")
    assert instrumented.one("of inner").parent == "execute_tool inner"
    assert instrumented.one("of ainner").parent == "execute_tool ainner"
    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_handoff_gives_the_word_to_a_nested_agent(instrumented: Recorder, model: Any, llm: OpenAI) -> None:
    over = ToolCall("handoff", {"to_agent": "adder", "reason": "sums"}, "c1")
    model.script[:] = [Reply("", tool_calls=[over]), Reply("", tool_calls=[ToolCall("add", {"a": 1, "b": 2}, "c2")]), "3."]
    greeter = FunctionAgent(name="greeter", description="Greets.", llm=llm, tools=[])
    adder = FunctionAgent(name="adder", description="Adds.", llm=llm, tools=[add])
    await AgentWorkflow(agents=[greeter, adder], root_agent="greeter").run("Add 1 and 2.")
    assert instrumented.tree == [
        (None, "invoke_agent AgentWorkflow"),
        ("invoke_agent AgentWorkflow", "invoke_agent greeter"),
        ("invoke_agent greeter", "chat gpt-4o"),
        ("invoke_agent greeter", "execute_tool handoff"),
        ("invoke_agent AgentWorkflow", "invoke_agent adder"),
        ("invoke_agent adder", "chat gpt-4o"),
        ("invoke_agent adder", "execute_tool add"),
        ("invoke_agent adder", "chat gpt-4o"),
    ]


async def test_a_react_agent_has_its_tools_too(instrumented: Recorder, model: Any, llm: OpenAI) -> None:
    model.script[:] = ['Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}', "Thought: done\nAnswer: 3"]
    assert str(await ReActAgent(name="r", tools=[add], llm=llm).run("Add.")) == "3"
    assert instrumented.names == ["invoke_agent r", "chat gpt-4o", "execute_tool add", "chat gpt-4o"]
    assert instrumented.one("execute_tool add")["gen_ai.tool.call.result"] == "3"


async def test_a_workflow_of_the_application_is_a_turn_with_its_agent_inside(
    instrumented: Recorder, model: Any, llm: OpenAI
) -> None:
    class Asking(Workflow):
        @step
        async def ask(self, event: StartEvent) -> StopEvent:
            return StopEvent(result=str(await FunctionAgent(name="inner", llm=llm).run(event.question)))

    model.script[:] = ["Forty-two."]
    assert await Asking().run(question="What?") == "Forty-two."
    assert instrumented.tree == [
        (None, "invoke_workflow Asking"),
        ("invoke_workflow Asking", "invoke_agent inner"),
        ("invoke_agent inner", "chat gpt-4o"),
    ]
    assert instrumented.spans[0].content == {
        "gen_ai.input.messages": [text("user", "What?")],
        "gen_ai.output.messages": [text("assistant", "Forty-two.")],
    }


def test_bare_model_calls_are_one_span_each_in_every_form(instrumented: Recorder, model: Any, llm: OpenAI) -> None:
    model.script[:] = ["one", "two", "three", "four five six"]
    asked = [ChatMessage("Go.")]
    assert llm.chat(asked).message.content == "one"
    assert [each.delta for each in llm.stream_chat(asked)][-1] is not None
    assert llm.complete("Go.").text == "three"
    left = llm.stream_chat(asked)
    next(left)
    left.close()
    assert instrumented.names == ["chat gpt-4o", "chat gpt-4o", "text_completion gpt-4o", "chat gpt-4o"]
    said = [span["gen_ai.output.messages"][0]["parts"][0]["content"] for span in instrumented.spans[:3]]
    assert said == ["one", "two", "three"]
    assert not any(span.failed for span in instrumented.spans)


def test_a_model_class_that_comes_later_is_recorded_until_the_undo(instrumented: Recorder) -> None:
    class Late(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
            return ChatResponse(message=ChatMessage("late", role="assistant"))

        complete = MockLLM.complete
        stream_complete = MockLLM.stream_complete

    assert Late().chat([ChatMessage("Go.")]).message.content == "late"
    assert instrumented.names == ["chat Late"]
    uninstrument("llama_index")
    assert Late().chat([ChatMessage("Go.")]).message.content == "late"
    assert instrumented.names == ["chat Late"]


async def test_a_tool_that_the_application_calls_is_recorded_and_its_exception_is_the_callers(instrumented: Recorder) -> None:
    problem = ValueError("kaput")

    def fail() -> None:
        raise problem

    assert (await FunctionTool.from_defaults(add).acall(a=1, b=2)).raw_output == 3
    with pytest.raises(ValueError) as raised:
        FunctionTool.from_defaults(fail)()
    assert raised.value is problem
    assert [(span.name, span.failed) for span in instrumented.spans] == [
        ("execute_tool add", False),
        ("execute_tool fail", True),
    ]


def held(owner: type) -> dict[str, tuple[int, int]]:
    """What a class holds, by identity, and what LlamaIndex's own wrappers of its methods hold."""
    inner = {name: getattr(value, "__wrapped__", None) for name, value in vars(owner).items()}
    return {name: (value, id(inner[name])) for name, value in identities(owner).items()}


def test_undoing_restores_every_class() -> None:
    owners = (
        Workflow,
        BaseWorkflowAgent,
        AgentWorkflow,
        FunctionTool,
        OpenAI,
        MockLLM,
        DispatcherSpanMixin,
        InternalAsyncioAdapter,
    )
    before = [held(owner) for owner in owners]
    instrument(*FRAMEWORKS)
    assert [owner for owner, was in zip(owners, before, strict=True) if held(owner) == was] == []
    uninstrument_all()
    assert [held(owner) for owner in owners] == before


async def test_two_memories_at_once_are_two_sessions(recorded: Recording, llm: OpenAI, model: Any, settings: Settings) -> None:
    model.script[:] = ["a", "b", "c", "d"]
    agent = FunctionAgent(llm=llm)
    one, other = Memory.from_defaults(session_id="one"), Memory.from_defaults(session_id="other")
    for _ in range(2):
        await asyncio.gather(*(agent.run("Go.", memory=memory) for memory in (one, other)))
    with queries.reading(settings) as db:
        assert [len(queries.turns(db, session)) for session in ("one", "other")] == [2, 2]


async def test_contexts_without_a_session_id_are_told_apart_by_what_was_said(
    recorded: Recording, llm: OpenAI, model: Any, settings: Settings
) -> None:
    model.script[:] = ["One.", "Other.", "One again.", "Other again."]
    agent = FunctionAgent(llm=llm)
    contexts = Context(agent), Context(agent)
    for said in ("Hello from {}.", "And again from {}."):
        for number, context in enumerate(contexts):
            await agent.run(said.format(number), ctx=context)
    turns = [span.attributes for span in recorded.spans if span.name == "invoke_agent Agent"]
    sessions = [attributes["session.id"] for attributes in turns]
    assert sessions[:2] == sessions[2:] and len(set(sessions)) == 2


async def test_messages_that_a_memory_flushes_are_evicted(
    recorded: Recording, llm: OpenAI, model: Any, settings: Settings
) -> None:
    model.script[:] = [CALLING, "The sum is 3.", "A long answer. " * 30, "Short."]
    agent = FunctionAgent(llm=llm, tools=[add])
    memory = Memory.from_defaults(session_id="s", token_limit=120, token_flush_size=10, chat_history_token_ratio=0.5)
    for said in ("Add 1 and 2.", "Tell a tale.", "Hello."):
        await agent.run(said, memory=memory)
    told = [span.attributes for span in recorded.spans if span.name == "evict"]
    assert [each["turnlog.context.eviction.reason"] for each in told] == ["trimmed", "trimmed"]
    assert all(each["turnlog.context.evicted_keys"] for each in told)


async def test_a_question_pauses_the_session_and_its_answer_resumes_it(
    recorded: Recording, llm: OpenAI, model: Any, settings: Settings
) -> None:
    async def confirm(ctx: Context) -> str:
        """Ask."""
        answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Sure?"))
        return answer.response

    model.script[:] = [Reply("", tool_calls=[ToolCall("confirm", {}, "c1")]), "Done."]
    run = FunctionAgent(llm=llm, tools=[confirm]).run("Go.", memory=Memory.from_defaults(session_id="s"))
    async for event in run.stream_events():
        if isinstance(event, InputRequiredEvent):
            with queries.reading(settings) as db:
                assert queries.session_of(db, "s").status == "paused"
                assert [row.action for row in queries.pending(db, "s") if row.status == "pending"] == ["Sure?"]
            run.ctx.send_event(HumanResponseEvent(response="yes"))
    assert str(await run) == "Done."
    with queries.reading(settings) as db:
        assert (queries.session_of(db, "s").status, queries.pending(db, "s")) == ("idle", [])
        assert [(row.turn, row.state) for row in reversed(queries.lifecycle(db, "s"))] == [(1, "paused"), (1, "resumed")]
        assert [commit.outcome for commit in queries.log(db, "s", kind="tool")] == ["ok"]
