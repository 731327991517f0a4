"""Real CrewAI crews, flows and agents with its real OpenAI client: turns, nested agents, tools, delegations and questions."""

import gc
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import turnlog

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}
pytest.importorskip("crewai", reason="crewai is not installed")

from crewai import LLM, Agent, BaseLLM, Crew, Process, Task
from crewai.agents.agent_executor import AgentExecutor
from crewai.events.event_bus import CrewAIEventsBus
from crewai.flow.async_feedback import HumanFeedbackPending
from crewai.flow.conversational import ConversationConfig
from crewai.flow.flow import Flow, start
from crewai.flow.human_feedback import human_feedback
from crewai.flow.persistence import SQLiteFlowPersistence
from crewai.flow.runtime import Flow as FlowRuntime
from crewai.tools import tool
from crewai.tools.structured_tool import CrewStructuredTool
from opentelemetry import trace

from instrument.recorder import Recorder, identities, text
from recording import Recording
from turnlog import queries
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument_all
from turnlog.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore")  # CrewAI and what it brings warn of many things.
FRAMEWORKS = ("openai", "crewai")
ADD = ToolCall("add", {"a": 1, "b": 2}, "c1")
CALLING = Reply("I will add.", tool_calls=[ADD])


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def boom() -> str:
    """Fail."""
    raise ValueError("kaput")


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path))
    yield
    # It leaves its clients open.
    gc.collect()


def agent(model: ScriptedModel, *tools: Any, role: str = "adder", **more: Any) -> Agent:
    llm = LLM(model="openai/gpt-4o", base_url=model.base_url, api_key="none", max_retries=0)
    return Agent(
        **{"role": role, "goal": "g", "backstory": "b", "llm": llm, "tools": list(tools), "max_retry_limit": 0, **more}
    )


def crew(*agents: Agent, **more: Any) -> Crew:
    task = Task(description="Add {a} and {b}.", expected_output="A number.", agent=agents[0])
    return Crew(agents=list(agents), tasks=[task], **more)


def test_a_kickoff_is_one_tree_of_crew_agent_chat_and_tool_spans(instrumented: Recorder, model: Any) -> None:
    model.script[:] = [CALLING, "The sum is 3."]
    adders = crew(agent(model, add), name="adders")
    assert adders.kickoff({"a": 1, "b": 2}).raw == "The sum is 3."
    assert instrumented.tree == [
        (None, "invoke_agent adders"),
        ("invoke_agent adders", "invoke_agent adder"),
        ("invoke_agent adder", "chat gpt-4o"),
        ("invoke_agent adder", "execute_tool add"),
        ("invoke_agent adder", "chat gpt-4o"),
    ]
    turn, inner, chat, called, _ = instrumented.spans
    assert (turn.attributes, turn.content) == (
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "adders",
            "gen_ai.conversation.id": str(adders.id),
        },
        {
            "gen_ai.input.messages": [text("user", '{"a":1,"b":2}')],
            "gen_ai.output.messages": [text("assistant", "The sum is 3.")],
        },
    )
    assert inner["gen_ai.output.messages"] == [text("assistant", "The sum is 3.")]
    assert inner["gen_ai.input.messages"][0]["parts"][0]["content"].startswith("Add 1 and 2.")
    assert chat["gen_ai.usage.input_tokens"] == 11
    assert (called.attributes, called.content) == (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "add",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": "c1",
        },
        {"gen_ai.tool.call.arguments": {"a": 1, "b": 2}, "gen_ai.tool.call.result": "3"},
    )


async def test_async_and_streamed_kickoffs_are_turns_too(instrumented: Recorder, model: Any) -> None:
    model.script[:] = ["one", "two", "three"]
    assert (await crew(agent(model), name="a").kickoff_async({"a": 1, "b": 2})).raw == "one"
    assert (await crew(agent(model), name="b").akickoff({"a": 1, "b": 2})).raw == "two"
    streaming = await crew(agent(model), name="c", stream=True).kickoff_async({"a": 1, "b": 2})
    assert "".join([chunk.content async for chunk in streaming]) == "three"
    roots = [name for parent, name in instrumented.tree if parent is None]
    assert roots == ["invoke_agent a", "invoke_agent b", "invoke_agent c"]
    assert instrumented.names.count("chat gpt-4o") == 3


def test_an_agent_by_itself_is_a_turn_of_the_session_around_it(recorded: Recording, model: Any, settings: Settings) -> None:
    model.script[:] = ["Hello.", "Hello again."]
    with turnlog.session("s"):
        agent(model).kickoff("Hi.")
        agent(model).kickoff([{"role": "user", "content": "Hi again."}])
    with queries.reading(settings) as db:
        assert [turn.input_summary for turn in queries.turns(db, "s")] == ["Hi again.", "Hi."]


def test_a_failing_tool_is_told_to_the_model_and_recorded_with_its_exception(instrumented: Recorder, model: Any) -> None:
    model.script[:] = [Reply("", tool_calls=[ToolCall("boom", {}, "c1")]), "It failed."]
    assert agent(model, boom).kickoff("Go.").raw == "It failed."
    failed = instrumented.one("execute_tool boom")
    assert (failed.failed, failed["error.type"], failed["exception.message"]) == (True, "ValueError", "kaput")


def test_an_exception_of_a_model_call_is_the_callers(instrumented: Recorder) -> None:
    problem = ConnectionError("gone")

    class Broken(BaseLLM):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            raise problem

    with pytest.raises(ConnectionError) as raised:
        Broken(model="broken").call("Go.")
    assert raised.value is problem
    assert [(span.name, span["error.type"]) for span in instrumented.spans] == [("chat broken", "ConnectionError")]


def test_tools_run_in_their_own_context_also_in_parallel(instrumented: Recorder, model: Any, provider: Any) -> None:
    tracer = provider.get_tracer("app")

    @tool
    def one() -> str:
        """Work."""
        tracer.start_span("of one").end()
        return "x"

    @tool
    async def two() -> str:
        """Work."""
        tracer.start_span("of two").end()
        return "x"

    model.script[:] = [Reply("", tool_calls=[ToolCall("one", {}, "c1"), ToolCall("two", {}, "c2")]), "Done."]
    agent(model, one, two).kickoff("Go.")
    assert instrumented.one("of one").parent == "execute_tool one"
    assert instrumented.one("of two").parent == "execute_tool two"
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_delegation_is_an_agent_inside_a_tool(instrumented: Recorder, model: Any) -> None:
    asked = {"task": "Add.", "context": "1 and 2", "coworker": "adder"}
    model.script[:] = [Reply("", tool_calls=[ToolCall("delegate_work_to_coworker", asked, "c1")]), "3", "It is 3."]
    boss, worker = agent(model, role="boss", allow_delegation=True), agent(model)
    assert crew(boss, worker, process=Process.sequential, name="team").kickoff({"a": 1, "b": 2}).raw == "It is 3."
    assert instrumented.tree == [
        (None, "invoke_agent team"),
        ("invoke_agent team", "invoke_agent boss"),
        ("invoke_agent boss", "chat gpt-4o"),
        ("invoke_agent boss", "execute_tool delegate_work_to_coworker"),
        ("execute_tool delegate_work_to_coworker", "invoke_agent adder"),
        ("invoke_agent adder", "chat gpt-4o"),
        ("invoke_agent boss", "chat gpt-4o"),
    ]


def test_a_model_of_another_provider_and_the_tools_that_it_asks_for_in_words(instrumented: Recorder) -> None:
    script = ['Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}', "Thought: I know.\nFinal Answer: 3"]

    class Other(BaseLLM):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return script.pop(0)

        def supports_function_calling(self) -> bool:
            return False

    adder = Agent(role="adder", goal="g", backstory="b", llm=Other(model="other"), tools=[add])
    assert adder.kickoff("Add.").raw == "3"
    assert instrumented.names == ["invoke_agent adder", "chat other", "execute_tool add", "chat other"]
    chat, called = instrumented.spans[1:3]
    assert chat["gen_ai.output.messages"][0]["parts"][0]["content"].startswith("Thought: I add.")
    assert (called["gen_ai.tool.call.arguments"], called["gen_ai.tool.call.result"]) == ({"a": 1, "b": 2}, 3)


def test_a_flow_is_a_turn_of_the_session_that_its_state_names(instrumented: Recorder, model: Any) -> None:
    class Asking(Flow):
        @start()
        async def ask(self) -> str:
            return (await agent(model).kickoff_async(self.state["question"])).raw

    model.script[:] = ["Forty-two."]
    assert Asking().kickoff({"id": "f-1", "question": "What?"}) == "Forty-two."
    assert instrumented.tree == [
        (None, "invoke_workflow Asking"),
        ("invoke_workflow Asking", "invoke_agent adder"),
        ("invoke_agent adder", "chat gpt-4o"),
    ]
    turn = instrumented.spans[0]
    assert (turn["gen_ai.conversation.id"], turn.content) == (
        "f-1",
        {
            "gen_ai.input.messages": [text("user", "What?")],
            "gen_ai.output.messages": [text("assistant", "Forty-two.")],
        },
    )


def test_a_question_of_a_flow_pauses_the_session_and_its_answer_resumes_it(recorded: Recording, settings: Settings) -> None:
    class Asked:
        def request_input(self, message: str, flow: Any, metadata: Any = None) -> str:
            with queries.reading(settings) as db:
                assert queries.session_of(db, "f-1").status == "paused"
                assert [row.action for row in queries.pending(db, "f-1")] == ["Sure?"]
            return "yes"

    class Asking(Flow):
        @start()
        def ask(self) -> str:
            return self.ask_user()

        def ask_user(self) -> str:
            return Flow.ask(self, "Sure?") or "nothing"

    assert Asking(input_provider=Asked()).kickoff({"id": "f-1"}) == "yes"
    with queries.reading(settings) as db:
        assert (queries.session_of(db, "f-1").status, queries.pending(db, "f-1")) == ("idle", [])
        assert [(row.turn, row.state) for row in reversed(queries.lifecycle(db, "f-1"))] == [(1, "paused"), (1, "resumed")]


def test_a_flow_that_waits_for_feedback_stays_paused_until_it_is_resumed(recorded: Recording, settings: Settings) -> None:
    class Later:
        def request_feedback(self, context: Any, flow: Any) -> str:
            raise HumanFeedbackPending(context=context)

    class Reviewed(Flow):
        @start()
        @human_feedback(message="Is this right?", provider=Later())
        def review(self) -> str:
            return "a draft"

    assert isinstance(Reviewed(persistence=SQLiteFlowPersistence()).kickoff({"id": "f-2"}), HumanFeedbackPending)
    with queries.reading(settings) as db:
        assert queries.session_of(db, "f-2").status == "paused"
        assert [row.action for row in queries.pending(db, "f-2")] == ["Is this right?"]
    Reviewed.from_pending("f-2", SQLiteFlowPersistence()).resume("Yes.")
    with queries.reading(settings) as db:
        assert (queries.session_of(db, "f-2").status, queries.pending(db, "f-2")) == ("idle", [])
        assert [(row.turn, row.state) for row in reversed(queries.lifecycle(db, "f-2"))] == [(1, "paused"), (2, "resumed")]


def test_a_conversation_has_a_turn_for_each_message_and_its_own_session_id(
    recorded: Recording, model: Any, settings: Settings
) -> None:
    llm = LLM(model="openai/gpt-4o", base_url=model.base_url, api_key="none", max_retries=0)

    @ConversationConfig(llm=llm, system_prompt="Be brief.")
    class Chat(Flow):
        pass

    model.script[:] = ["Hello.", "Hello again."]
    chat = Chat()
    for said in ("Hi.", "Hi again."):
        chat.handle_turn(said, session_id="s-9")
    with queries.reading(settings) as db:
        assert [turn.input_summary for turn in queries.turns(db, "s-9")] == ["Hi again.", "Hi."]
        done = [(commit.turn, commit.kind, commit.outcome) for commit in reversed(queries.log(db, "s-9"))]
    assert done == [(1, "decision", "ok"), (2, "decision", "ok")]


def test_a_context_that_was_summarised_is_evicted(recorded: Recording, model: Any) -> None:
    too_long = Reply("This model's maximum context length is 10 tokens.", status=400)
    model.script[:] = [CALLING, too_long, "Summary: the sum is 3.", "It is 3."]
    assert agent(model, add).kickoff("Add 1 and 2.").raw == "It is 3."
    told = [span.attributes for span in recorded.spans if span.name == "evict"]
    assert [each["turnlog.context.eviction.reason"] for each in told] == ["summarised"]
    assert [each["turnlog.context.evicted_keys"] for each in told] == [("result:c1",)]


def test_crews_in_two_threads_are_two_sessions(recorded: Recording, model: Any) -> None:
    model.script[:] = ["one"] * 4
    crews = [crew(agent(model), name="c") for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            list(pool.map(lambda each: each.kickoff({"a": 1, "b": 2}), crews))
    for each in crews:
        own = [span for span in recorded.spans if span.attributes["session.id"] == str(each.id)]
        assert sorted(span.name for span in own) == sorted(["invoke_agent c", "invoke_agent adder", "chat gpt-4o"] * 2)


def test_undoing_restores_every_class() -> None:
    kind = type(LLM(model="openai/gpt-4o", api_key="none"))
    owners = (Crew, Agent, FlowRuntime, AgentExecutor, CrewStructuredTool, CrewAIEventsBus, BaseLLM, kind)
    before = [identities(owner) for owner in owners]
    instrument(*FRAMEWORKS)
    assert [owner for owner, was in zip(owners, before, strict=True) if identities(owner) == was] == []
    uninstrument_all()
    assert [identities(owner) for owner in owners] == before
