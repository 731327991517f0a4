"""Real Pydantic AI agents with the real OpenAI client: runs, requests and tools, deferred calls, and its own spans."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

pytest.importorskip(
    "pydantic_ai", reason="pydantic-ai-slim is not installed: python tests/frameworks/environments.py pydantic-ai"
)

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, ToolDenied, _agent_graph
from pydantic_ai.capabilities import AbstractCapability, Instrumentation, ProcessHistory
from pydantic_ai.exceptions import ModelHTTPError, SkipToolExecution
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider

from instrument.recorder import Recorder, identities, text
from instrument.state import log, stands
from recording import Recording
from turnlog import queries
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument_all
from turnlog.settings import Settings

FRAMEWORKS = ("openai", "pydantic_ai")
CALLING = Reply("I will add.", tool_calls=[ToolCall("add", {"a": 1, "b": 2}, "c1")], cached_tokens=3)
RUN, CHAT, ADD = "invoke_agent guide", "chat m", "execute_tool add"


def add(a: int, b: int) -> int:
    trace.get_current_span().set_attribute("seen.by.tool", True)
    return a + b


@pytest.fixture
def make(model: ScriptedModel) -> Callable[..., Any]:
    def make_agent(**how: Any) -> Any:
        # Nobody closes the client of an agent: it keeps no connection.
        alone = {"connection": "close"}
        client = AsyncOpenAI(base_url=model.base_url, api_key="none", max_retries=0, default_headers=alone)
        return Agent(
            OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)), **{"name": "guide", "tools": [add], **how}
        )

    return make_agent


@pytest.fixture
def hooked(recording: Recording) -> Iterator[Recording]:
    """Recorded as in an application: with sessions, turns and commits."""
    instrument(*FRAMEWORKS, tracer_provider=recording.provider)
    yield recording
    uninstrument_all()
    assert recording.processor.troubles == {}


@pytest.fixture(params=["turnlog's", "its own"])
def scope(request: pytest.FixtureRequest, hooked: Recording) -> Iterator[str]:
    """Whose spans stand for the calls."""
    own = request.param == "its own"
    Agent.instrument_all(InstrumentationSettings(tracer_provider=hooked.provider) if own else False)
    yield "pydantic-ai" if own else "turnlog.pydantic_ai"
    Agent.instrument_all(False)


def assert_a_turn_is_one_tree(recorder: Recorder) -> None:
    assert recorder.tree == [(None, RUN), (RUN, CHAT), (RUN, ADD), (RUN, CHAT)]
    run, asked, tool, answered = recorder.spans
    assert {span["gen_ai.conversation.id"] for span in recorder.spans} == {"s"}
    assert {span["gen_ai.agent.name"] for span in recorder.spans} == {"guide"}
    assert run.content == {
        "gen_ai.input.messages": [text("user", "Add 1 and 2.")],
        "gen_ai.output.messages": [text("assistant", "The sum is 3.")],
    }
    call = {"type": "tool_call", "id": "c1", "name": "add", "arguments": '{"a": 1, "b": 2}'}
    said = {"role": "assistant", "parts": [{"type": "text", "content": "I will add."}, call]}
    system = [{"type": "text", "content": "Be brief."}]
    assert asked.content == {
        "gen_ai.system_instructions": system,
        "gen_ai.input.messages": [text("user", "Add 1 and 2.")],
        "gen_ai.output.messages": [{**said, "finish_reason": "tool_call"}],
    }
    assert (asked.kind, asked["gen_ai.provider.name"], asked["gen_ai.request.model"]) == ("CLIENT", "openai", "m")
    assert (asked["gen_ai.request.temperature"], asked["gen_ai.response.model"]) == (0.5, "m")
    assert (asked["gen_ai.response.id"], asked["gen_ai.response.finish_reasons"]) == ("chatcmpl-1", ("tool_call",))
    assert (asked["gen_ai.usage.input_tokens"], asked["gen_ai.usage.output_tokens"]) == (11, 7)
    assert (asked["gen_ai.usage.cache_read.input_tokens"], asked["server.address"]) == (3, "127.0.0.1")
    assert (tool["gen_ai.tool.name"], tool["gen_ai.tool.call.id"], tool["gen_ai.tool.type"]) == ("add", "c1", "function")
    assert tool.content == {"gen_ai.tool.call.arguments": '{"a": 1, "b": 2}', "gen_ai.tool.call.result": 3}
    assert tool["seen.by.tool"]
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": 3}]}
    assert answered["gen_ai.input.messages"] == [text("user", "Add 1 and 2."), said, result]


GIVEN: Any = {"conversation_id": "s", "instructions": "Be brief.", "model_settings": {"temperature": 0.5}}


async def test_a_run_is_one_tree_of_agent_chat_and_tool_spans(instrumented: Recorder, model: Any, make: Any) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    assert (await make().run("Add 1 and 2.", **GIVEN)).output == "The sum is 3."
    assert_a_turn_is_one_tree(instrumented)


def test_a_sync_run_is_recorded_too(instrumented: Recorder, model: Any, make: Any) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    # It makes a loop where there is none, and leaves it open.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    make().run_sync("Add 1 and 2.", **GIVEN)
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    asyncio.set_event_loop(None)
    assert_a_turn_is_one_tree(instrumented)


async def test_a_run_whose_events_are_streamed_is_recorded_too(instrumented: Recorder, model: Any, make: Any) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    async with make().run_stream_events("Add 1 and 2.", **GIVEN) as events:
        assert [type(event).__name__ async for event in events][-1] == "AgentRunResultEvent"
    assert_a_turn_is_one_tree(instrumented)
    assert [span["gen_ai.request.stream"] for span in instrumented.spans if span.name == CHAT] == [True, True]


async def test_nodes_are_stepped_inside_the_run_and_nothing_stays_behind(instrumented: Recorder, model: Any, make: Any) -> None:
    model.script[:] = ["Hello."]
    before = trace.get_current_span()
    async with make().iter("Hi.") as run:
        inside = {trace.get_current_span().name async for _ in run}
    assert (inside, instrumented.tree) == ({RUN}, [(None, RUN), (RUN, CHAT)])
    assert trace.get_current_span() is before


async def test_leaving_early_ends_everything_and_is_no_error(instrumented: Recorder, model: Any, make: Any) -> None:
    model.script[:] = ["One two three.", "One two three."]
    async with make().iter("Hi.") as run:
        async for _ in run:
            break
    async with make().run_stream("Hi.") as stream:
        async for _ in stream.stream_text(delta=True, debounce_by=None):
            break
    assert [(span.name, span.failed) for span in instrumented.spans] == [(RUN, False), (RUN, False), (CHAT, False)]


async def test_a_failure_of_the_model_is_the_same_object_and_said_once(
    hooked: Recording, model: Any, make: Any, settings: Settings
) -> None:
    model.script[:] = [Reply("no such thing", status=404)]
    seen: list[BaseException] = []

    class Watch(AbstractCapability[Any]):
        async def on_model_request_error(self, ctx: Any, *, request_context: Any, error: Exception) -> Any:
            seen.append(error)
            raise error

    with pytest.raises(ModelHTTPError) as raised:
        await make(capabilities=[Watch()]).run("Hi.", conversation_id="s")
    assert [raised.value] == seen
    assert log(settings, "s") == [(1, "decision", "", "error")]


async def test_retries_and_rejected_arguments_are_failed_calls(
    scope: str, hooked: Recording, model: Any, make: Any, settings: Settings
) -> None:
    wrong = Reply("Badly.", tool_calls=[ToolCall("busy", {"times": "x"}, "c1")])
    right = Reply("Again.", tool_calls=[ToolCall("busy", {"times": 1}, "c2")])
    model.script[:] = [wrong, right, "It is busy."]

    def busy(times: int) -> str:
        raise ModelRetry("not now")

    await make(tools=[busy], retries=3).run("Go.", conversation_id="s")
    assert log(settings, "s") == [(1, "decision", "", "ok"), (1, "tool", "busy", "error")] * 2 + [(1, "decision", "", "ok")]
    with queries.reading(settings) as db:
        late, early = [(row.tool_call_id, row.error, row.error_message) for row in queries.log(db, "s", kind="tool")]
    assert late == ("c2", "pydantic_ai.exceptions.ModelRetry", "not now")
    assert early[:2] == ("c1", "pydantic_core._pydantic_core.ValidationError")
    assert early[2].startswith("1 validation error for busy")
    spans = [span for span in hooked.spans if span.attributes["gen_ai.operation.name"] == "execute_tool"]
    assert [span.instrumentation_scope.name for span in spans] == [scope, scope]


async def test_its_own_spans_are_adopted(scope: str, hooked: Recording, model: Any, make: Any, settings: Settings) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    await make().run("Add 1 and 2.", conversation_id="s")
    assert [span.instrumentation_scope.name for span in hooked.spans] == [scope] * 4
    assert {span.attributes["session.id"] for span in hooked.spans} == {"s"}
    assert log(settings, "s") == [(1, "decision", "", "ok"), (1, "tool", "add", "ok"), (1, "decision", "", "ok")]


async def test_an_agent_in_a_tool_is_nested_in_the_same_turn(
    scope: str, hooked: Recording, model: Any, make: Any, settings: Settings
) -> None:
    inner = make(name="inner")

    async def ask(question: str) -> str:
        return (await inner.run(question)).output

    model.script[:] = [
        Reply("I ask.", tool_calls=[ToolCall("ask", {"question": "1 + 2?"}, "c0")]),
        CALLING,
        "3",
        "The other says 3.",
    ]
    await make(tools=[ask]).run("Add.", conversation_id="s")
    names = {span.context.span_id: span.name for span in hooked.spans}
    below = {span.name: names.get(span.parent.span_id) for span in hooked.spans if span.parent}
    assert (below["invoke_agent inner"], below["execute_tool add"]) == ("execute_tool ask", "invoke_agent inner")
    assert {row[0] for row in log(settings, "s")} == {1}


async def test_sessions_at_once_keep_apart(hooked: Recording, make: Any, settings: Settings) -> None:
    agent = make()
    with agent.override(model=TestModel(call_tools=["add"])):
        await asyncio.gather(*(agent.run("Add.", conversation_id=f"s{number}") for number in range(8)))
    turn = [(1, "decision", "", "ok"), (1, "tool", "add", "ok"), (1, "decision", "", "ok")]
    assert [log(settings, f"s{number}") for number in range(8)] == [turn] * 8


async def test_a_history_goes_on_in_its_session(hooked: Recording, model: Any, make: Any, settings: Settings) -> None:
    model.script[:] = ["One.", "Two."]
    first = await make().run("a", conversation_id="s")
    await make().run("b", message_history=first.all_messages())
    assert log(settings, "s") == [(1, "decision", "", "ok"), (2, "decision", "", "ok")]


async def test_what_a_history_processor_takes_away_is_evicted(scope: str, model: Any, make: Any, settings: Settings) -> None:
    model.script[:] = ["One.", "Two.", "Three."]
    agent = make(capabilities=[ProcessHistory(lambda messages: messages[-3:])])
    history: Any = []
    for said in ("a", "b", "c"):
        history = (await agent.run(said, message_history=history, conversation_id="s")).all_messages()
    with queries.reading(settings) as db:
        gone = [(row.turn, row.kind, row.role, row.summary, row.introduced_in) for row in queries.evictions(db, "s")]
    assert gone == [(3, "message", "user", "a", 1), (3, "message", "assistant", "One.", 1)]


async def test_deferred_calls_are_pending_until_their_results_are_given(
    scope: str, model: Any, make: Any, settings: Settings
) -> None:
    agent = make(output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def remove(path: str) -> str:
        return f"removed {path}"

    calls = [ToolCall("remove", {"path": path}, f"c{path}") for path in ("a", "b")]
    model.script[:] = [Reply("I remove both.", tool_calls=calls), "Done."]
    asked = await agent.run("Remove.", conversation_id="s")
    status, open_work = stands(settings, "s")
    assert (status, [row for row in open_work if row[0] == "pending"]) == (
        "paused",
        [("pending", 1, 'approve remove {"path": "a"}'), ("pending", 1, 'approve remove {"path": "b"}')],
    )
    results = DeferredToolResults(approvals={"ca": True, "cb": ToolDenied("not that one")})
    await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)
    assert stands(settings, "s") == ("idle", [])
    with queries.reading(settings) as db:
        rows = reversed(queries.lifecycle(db, "s"))
        assert [(row.turn, row.state, row.reason) for row in rows] == [(1, "paused", "human_input"), (2, "resumed", "")]
    assert sorted(row[1:] for row in log(settings, "s") if row[1] == "tool") == [
        ("tool", "remove", "error"),
        ("tool", "remove", "ok"),
    ]


async def test_what_somebody_did_with_deferred_calls_is_told_by_a_process_that_did_not_defer_them(
    scope: str, model: Any, make: Any, settings: Settings
) -> None:
    agent = make(output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def remove(path: str) -> str:
        return f"removed {path}"

    asked = [ToolCallPart("remove", {"path": path}, f"c{path}") for path in ("a", "b")]
    asked += [ToolCallPart("review", {"n": n}, f"r{n}") for n in (1, 2)]
    history = [ModelRequest([UserPromptPart("Remove.")]), ModelResponse(asked)]
    results = DeferredToolResults(
        calls={"r1": "fine", "r2": ModelRetry("which one?")}, approvals={"ca": True, "cb": ToolDenied("not that one")}
    )
    model.script[:] = ["Done."]
    await agent.run(message_history=history, deferred_tool_results=results, conversation_id="s")
    with queries.reading(settings) as db:
        tools = queries.log(db, "s", kind="tool")
    found = [(row.tool_call_id, row.outcome, row.error_message or row.output_summary) for row in tools]
    assert sorted(found) == [
        ("ca", "ok", "removed a"),
        ("cb", "error", "not that one"),
        ("r1", "ok", "fine"),
        ("r2", "error", "which one?"),
    ]


async def test_an_output_that_is_a_tool_call_leaves_no_call_open(scope: str, model: Any, make: Any, settings: Settings) -> None:
    class Answer(BaseModel):
        n: int

    model.script[:] = [Reply(tool_calls=[ToolCall("final_result", {"n": n})]) for n in ("x", 3)]
    assert (await make(output_type=Answer).run("n?", conversation_id="s")).output == Answer(n=3)
    assert log(settings, "s") == [
        (1, "decision", "", "ok"),
        (1, "tool", "final_result", "error"),
        (1, "decision", "", "ok"),
        (1, "tool", "final_result", "ok"),
    ]
    assert stands(settings, "s") == ("idle", [])


async def test_a_stream_that_ends_in_a_tool_knows_who_asked_for_it(
    scope: str, model: Any, make: Any, settings: Settings
) -> None:
    model.script[:] = [CALLING, "Three."]
    async with make().run_stream("Add.", conversation_id="s") as stream:
        assert await stream.get_output() == "I will add."
    await make().run("And?", message_history=stream.all_messages())
    with queries.reading(settings) as db:
        first = {row.kind: row for row in queries.log(db, "s") if row.turn == 1}
    assert sorted(log(settings, "s")) == [(1, "decision", "", "ok"), (1, "tool", "add", "ok"), (2, "decision", "", "ok")]
    assert first["tool"].decision_id == first["decision"].decision_id


async def test_a_capability_that_answers_for_a_tool_gives_its_result(instrumented: Recorder, model: Any, make: Any) -> None:
    class Canned(AbstractCapability[Any]):
        async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
            raise SkipToolExecution(7)

    model.script[:] = [CALLING, "Seven."]
    await make(capabilities=[Canned()]).run("Add.")
    tool = instrumented.one(ADD)
    assert (tool.failed, tool["gen_ai.tool.call.result"]) == (False, 7)


async def test_a_tool_that_raises_ends_the_run_with_the_same_exception(
    hooked: Recording, model: Any, make: Any, settings: Settings
) -> None:
    kaput = ValueError("kaput")

    def boom() -> str:
        raise kaput

    model.script[:] = [Reply("I try.", tool_calls=[ToolCall("boom", {}, "c1")])]
    with pytest.raises(ValueError, match="kaput") as raised:
        await make(tools=[boom]).run("Go.", conversation_id="s")
    assert raised.value is kaput
    assert log(settings, "s") == [(1, "decision", "", "ok"), (1, "tool", "boom", "error")]


async def test_undo_restores_everything(provider: TracerProvider, recorder: Recorder, model: Any, make: Any) -> None:
    held = [identities(owner) for owner in (Agent, Instrumentation, _agent_graph)]
    instrument(*FRAMEWORKS, tracer_provider=provider)
    uninstrument_all()
    assert [identities(owner) for owner in (Agent, Instrumentation, _agent_graph)] == held
    model.script[:] = [CALLING, "3"]
    await make().run("Add.")
    assert recorder.started == 0
