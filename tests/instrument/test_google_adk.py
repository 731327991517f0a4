"""Real Google ADK agents with the real Gemini client: ADK's own spans taken for what they are, and what its events change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed: python tests/frameworks/environments.py google-adk")

from google.adk import runners
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models.google_llm import Gemini
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.telemetry import _instrumentation, node_tracing, tracing
from google.adk.tools import AgentTool, FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai import types
from google.genai.errors import ClientError

from instrument.recorder import identities
from recording import Recording
from turnlog import queries
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument_all
from turnlog.settings import Settings

# ADK warns of each of its features that is an experiment.
pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL:UserWarning", "ignore::DeprecationWarning")

CALLING = Reply("I will add.", tool_calls=[ToolCall("add", {"a": 1, "b": 2}, "c1")], cached_tokens=3)
OK = (1, "decision", "", "ok")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(autouse=True)
def quiet() -> Iterator[list[str]]:
    """ADK logs every failure whole. What OpenTelemetry and turnlog log is a failure of ours."""
    logging.getLogger("google_adk").setLevel(logging.CRITICAL)
    logging.getLogger("google_genai").setLevel(logging.CRITICAL)
    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    for name in ("turnlog", "opentelemetry"):
        logging.getLogger(name).addHandler(handler)
    yield lines
    for name in ("turnlog", "opentelemetry"):
        logging.getLogger(name).removeHandler(handler)
    assert lines == []


@pytest.fixture
def hooked(recording: Recording) -> Iterator[Recording]:
    instrument("openai", "google_adk", tracer_provider=recording.provider)
    yield recording
    uninstrument_all()
    assert recording.processor.troubles == {}


@pytest.fixture(params=["ADK's", "turnlog's"])
def scope(request: pytest.FixtureRequest, hooked: Recording, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whose spans stand for the calls. ADK's go to the global provider, which here is somebody else's."""
    if request.param == "turnlog's":
        return "turnlog.google_adk"
    tracer = hooked.provider.get_tracer("gcp.vertex.agent")
    for module in (tracing, node_tracing):
        monkeypatch.setattr(module, "tracer", tracer)
    return "gcp.vertex.agent"


@pytest.fixture
def native(hooked: Recording, monkeypatch: pytest.MonkeyPatch) -> Recording:
    for module in (tracing, node_tracing):
        monkeypatch.setattr(module, "tracer", hooked.provider.get_tracer("gcp.vertex.agent"))
    return hooked


@pytest.fixture
def gemini(model: ScriptedModel) -> Gemini:
    # Nobody closes the client of an agent: it keeps no connection.
    options = types.HttpOptions(base_url=model.url, headers={"connection": "close"})
    return Gemini(model="gemini-x", base_url=model.url, client_kwargs={"api_key": "none", "http_options": options})


@pytest.fixture
def make(gemini: Gemini) -> Callable[..., Any]:
    def make_runner(app: Any = None, **how: Any) -> Any:
        agent = LlmAgent(**{"name": "guide", "model": gemini, "tools": [add], **how})
        runner = InMemoryRunner(app=App(name="app", root_agent=agent, **(app or {})))
        runner.auto_create_session = True
        return runner

    return make_runner


async def say(runner: Any, said: Any, session: str = "s", mode: Any = StreamingMode.NONE) -> list[Any]:
    parts = [types.Part(text=said) if isinstance(said, str) else types.Part(function_response=said)]
    message, config = types.Content(role="user", parts=parts), RunConfig(streaming_mode=mode)
    events = runner.run_async(user_id="u", session_id=session, new_message=message, run_config=config)
    return [event async for event in events]


def log(settings: Settings, session: str = "s") -> list[tuple[int, str, str, str]]:
    with queries.reading(settings) as db:
        return [(row.turn, row.kind, row.tool, row.outcome) for row in reversed(queries.log(db, session))]


def state(settings: Settings) -> set[tuple[str, str, str]]:
    with queries.reading(settings) as db:
        return {(row.kind, row.key, row.value) for row in queries.state(db, "s") if row.kind in ("fact", "file")}


def stands(settings: Settings) -> tuple[str, list[tuple[str, int, str]]]:
    with queries.reading(settings) as db:
        waiting = [(row.status, row.turn, row.action) for row in queries.pending(db, "s") if row.status == "pending"]
        return queries.session_of(db, "s").status, waiting


def tree(recording: Recording) -> list[tuple[str, str]]:
    names = {span.context.span_id: span.name for span in recording.spans}
    spans = sorted(recording.spans, key=lambda span: span.start_time)
    return [(names.get(span.parent.span_id, "") if span.parent else "", span.name) for span in spans]


@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
async def test_a_run_is_a_turn(scope: str, hooked: Recording, model: Any, make: Any, settings: Settings, mode: Any) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    events = await say(make(), "Add 1 and 2.", mode=mode)
    assert "".join(part.text for part in events[-1].content.parts) == "The sum is 3."
    assert log(settings) == [OK, (1, "tool", "add", "ok"), OK]
    assert {span.instrumentation_scope.name for span in hooked.spans} == {scope}
    assert {span.attributes["session.id"] for span in hooked.spans} == {"s"}
    with queries.reading(settings) as db:
        answered, tool, asked = queries.log(db, "s")
        assert [turn.input_summary for turn in queries.turns(db, "s")] == ["Add 1 and 2."]
    assert (tool.tool_call_id, tool.input_summary, tool.output_summary) == ("c1", '{"a":1,"b":2}', "3")
    assert (tool.decision_id, asked.output_summary) == (asked.decision_id, "I will add.")
    assert (answered.model, answered.agent, answered.output_summary) == ("gemini-x", "guide", "The sum is 3.")
    spent = next(span.attributes for span in hooked.spans if span.name == "generate_content gemini-x")
    assert (spent["gen_ai.usage.input_tokens"], spent["gen_ai.usage.cache_read.input_tokens"]) == (11, 3)


async def test_its_own_spans_keep_their_tree(native: Recording, model: Any, make: Any) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    await say(make(), "Add 1 and 2.")
    run, agent, chat = "invoke_workflow guide", "invoke_agent guide", "generate_content gemini-x"
    assert tree(native) == [("", run), (run, agent), (agent, chat), (agent, "execute_tool add"), (agent, chat)]


async def test_the_older_form_of_its_spans_is_taken_too(
    native: Recording, model: Any, make: Any, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", "1")
    model.script[:] = [CALLING, "The sum is 3."]
    await say(make(), "Add 1 and 2.")
    assert {span.instrumentation_scope.name for span in native.spans} == {"gcp.vertex.agent"}
    assert log(settings) == [OK, (1, "tool", "add", "ok"), OK]


async def test_what_events_change_is_state(scope: str, model: Any, make: Any, settings: Settings) -> None:
    async def remember(what: str, tool_context: ToolContext) -> dict[str, bool]:
        """Remember."""
        tool_context.state["drink"] = what
        tool_context.state["temp:passing"] = 1
        await tool_context.save_artifact("notes.txt", types.Part(text=what))
        return {"ok": True}

    model.script[:] = [Reply("I note it.", tool_calls=[ToolCall("remember", {"what": "tea"})]), "Noted."]
    await say(make(tools=[remember]), "Tea.")
    assert log(settings) == [OK, (1, "tool", "remember", "ok"), (1, "note", "", "ok"), OK]
    assert state(settings) == {("fact", "drink", "tea"), ("file", "artifact:notes.txt", "version 0")}


async def test_a_transfer_is_a_decision_in_the_same_turn(
    native: Recording, model: Any, make: Any, gemini: Gemini, settings: Settings
) -> None:
    helper = LlmAgent(name="helper", description="Helps.", model=gemini)
    over = Reply("Over to him.", tool_calls=[ToolCall("transfer_to_agent", {"agent_name": "helper"})])
    model.script[:] = [over, "I am here.", "Still here."]
    runner = make(tools=[], sub_agents=[helper])
    await say(runner, "Help.")
    await say(runner, "More.")
    with queries.reading(settings) as db:
        rows = db.execute("select turn, about, choice from decisions where about <> ''").fetchall()
        agents = [row.agent for row in reversed(queries.log(db, "s", kind="decision")) if row.model]
    assert (rows, agents) == ([(1, "agent", "helper")], ["guide", "helper", "helper"])


async def test_an_agent_in_a_tool_is_nested_in_the_same_turn(
    native: Recording, model: Any, make: Any, gemini: Gemini, settings: Settings
) -> None:
    helper = LlmAgent(name="helper", description="Helps.", model=gemini)
    model.script[:] = [Reply("I ask.", tool_calls=[ToolCall("helper", {"request": "1 + 2?"})]), "3", "He says 3."]
    await say(make(tools=[AgentTool(helper)]), "Add.")
    assert ("execute_tool helper", "invoke_workflow helper") in tree(native)
    assert log(settings) == [OK, OK, (1, "tool", "helper", "ok"), OK]


async def test_a_long_running_tool_is_pending_until_somebody_answers(
    scope: str, model: Any, make: Any, settings: Settings
) -> None:
    def ask(question: str) -> dict[str, str]:
        """Ask a person."""
        return {"status": "pending"}

    model.script[:] = [Reply("I ask.", tool_calls=[ToolCall("ask", {"question": "ok?"}, "c1")]), "We wait.", "Good."]
    runner = make(tools=[LongRunningFunctionTool(ask)])
    await say(runner, "Ask.")
    assert stands(settings) == ("paused", [("pending", 1, 'ask {"question":"ok?"}')])
    await say(runner, types.FunctionResponse(id="c1", name="ask", response={"status": "approved"}))
    assert stands(settings) == ("idle", [])
    with queries.reading(settings) as db:
        rows = reversed(queries.lifecycle(db, "s"))
        assert [(row.turn, row.state, row.reason) for row in rows] == [(1, "paused", "long_running_tool"), (2, "resumed", "")]


async def test_a_tool_that_must_be_confirmed_runs_when_it_is(scope: str, model: Any, make: Any, settings: Settings) -> None:
    def remove(path: str) -> dict[str, str]:
        """Remove a file."""
        return {"removed": path}

    model.script[:] = [Reply("I remove it.", tool_calls=[ToolCall("remove", {"path": "a"}, "c1")]), "Removed."]
    runner = make(tools=[FunctionTool(remove, require_confirmation=True)])
    events = await say(runner, "Remove it.")
    assert stands(settings) == ("paused", [("pending", 1, 'confirm remove {"path":"a"}')])
    assert [row for row in log(settings) if row[1] == "tool"] == []
    (asked,) = [call.id for event in events for call in event.get_function_calls() if call.name != "remove"]
    await say(runner, types.FunctionResponse(id=asked, name="adk_request_confirmation", response={"confirmed": True}))
    assert stands(settings) == ("idle", [])
    assert [row for row in log(settings) if row[1] == "tool"] == [(2, "tool", "remove", "ok")]


async def test_what_compaction_takes_away_is_evicted(native: Recording, model: Any, make: Any, settings: Settings) -> None:
    model.script[:] = ["One.", "Two.", "They counted.", "Three."]
    runner = make(app={"events_compaction_config": EventsCompactionConfig(compaction_interval=2, overlap_size=0)})
    for said in ("a", "b", "c"):
        await say(runner, said)
    with queries.reading(settings) as db:
        gone = [(row.turn, row.role, row.summary, row.reason) for row in queries.evictions(db, "s")]
    assert gone == [(3, "user", "a", "summarised"), (3, "assistant", "One.", "summarised"), (3, "user", "b", "summarised")]


async def test_failures_of_tools_and_models_are_the_same_objects_and_said_once(
    scope: str, model: Any, make: Any, settings: Settings
) -> None:
    kaput = ValueError("kaput")

    def boom() -> str:
        """Fail."""
        raise kaput

    model.script[:] = [Reply("I try.", tool_calls=[ToolCall("boom", {})]), Reply("no such thing", status=404)]
    with pytest.raises(ValueError, match="kaput") as raised:
        await say(make(tools=[boom]), "Go.")
    assert raised.value is kaput
    with pytest.raises(ClientError, match="no such thing"):
        await say(make(), "Go.", "other")
    assert log(settings) == [OK, (1, "tool", "boom", "error")]
    assert log(settings, "other") == [(1, "decision", "", "error")]
    with queries.reading(settings) as db:
        assert [row.error for row in queries.log(db, "s", kind="tool")] == ["ValueError"]


async def test_a_tool_whose_failure_the_model_is_told_of_has_failed(
    scope: str, model: Any, make: Any, settings: Settings
) -> None:
    class Answer(BasePlugin):
        async def on_tool_error_callback(self, *, error: Exception, **_: Any) -> dict[str, str]:
            return {"error": str(error)}

    def boom() -> str:
        """Fail."""
        raise TimeoutError("too slow")

    model.script[:] = [Reply("I try.", tool_calls=[ToolCall("boom", {})]), "It is slow."]
    await say(make(tools=[boom], app={"plugins": [Answer(name="answer")]}), "Go.")
    assert log(settings) == [OK, (1, "tool", "boom", "timeout"), OK]


async def test_a_run_that_is_left_ends(native: Recording, model: Any, make: Any, settings: Settings) -> None:
    model.script[:] = ["One two three four.", "And on."]
    runner = make()
    content = types.Content(role="user", parts=[types.Part(text="Count.")])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=content, run_config=config):
        # ADK reads on beside its caller: left before it has read all, the call would be cancelled or not by luck.
        async with asyncio.timeout(30):
            while not any(span.name.startswith("generate_content") for span in native.spans):
                await asyncio.sleep(0.01)
        break
    await asyncio.sleep(0)
    await say(runner, "Go on.")
    assert log(settings) == [OK, (2, "decision", "", "ok")]
    with queries.reading(settings) as db:
        assert db.execute("select name from span_rows where outcome = 'in_flight'").fetchall() == []


async def test_sessions_at_once_keep_apart(native: Recording, model: Any, make: Any, settings: Settings) -> None:
    model.script[:] = ["Yes."] * 8
    runner = make()
    await asyncio.gather(*(say(runner, f"Is it {number}?", f"s{number}") for number in range(8)))
    assert [log(settings, f"s{number}") for number in range(8)] == [[OK]] * 8


async def test_undo_restores_everything_and_quiets_runners_that_live_on(recording: Recording, model: Any, make: Any) -> None:
    held = [identities(owner) for owner in (runners.Runner, _instrumentation)]
    instrument("google_adk", tracer_provider=recording.provider)
    runner = make()
    uninstrument_all()
    assert [identities(owner) for owner in (runners.Runner, _instrumentation)] == held
    model.script[:] = [CALLING, "3"]
    await say(runner, "Add.")
    assert recording.spans == ()
