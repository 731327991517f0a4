"""LangGraph's interrupts and resumes as the lifecycle of a session, with what they leave open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from recording import Recording
from turnlog import queries
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument_all
from turnlog.settings import Settings

CONFIG: Any = {"configurable": {"thread_id": "s"}}
ASK: Any = {"messages": [("user", "Remove it.")]}


@pytest.fixture(autouse=True)
def _hooked(recording: Recording) -> Iterator[None]:
    instrument("openai", "langchain", "langgraph", tracer_provider=recording.provider)
    yield
    uninstrument_all()
    assert recording.processor.troubles == {}


def said(settings: Settings) -> list[tuple[int, str, str, str]]:
    """Turn, state, reason and effect of what was said of the lifecycle, oldest first."""
    with queries.reading(settings) as db:
        return [(row.turn, row.state, row.reason, row.effect) for row in reversed(queries.lifecycle(db, "s"))]


def stands(settings: Settings) -> tuple[str, list[tuple[str, int, str]]]:
    """The session's status, and its open work."""
    with queries.reading(settings) as db:
        return queries.session_of(db, "s").status, [(row.status, row.turn, row.action) for row in queries.pending(db, "s")]


def asker(**how: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("ask", lambda state: {"messages": [("ai", f"{interrupt({'ask': 'ok?'})} {interrupt('sure?')}")]})
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=InMemorySaver(), name="asker", **how)


def test_an_interrupt_pauses_with_its_question_and_the_resume_takes_it_away(settings: Settings) -> None:
    graph = asker()
    graph.invoke(ASK, CONFIG)
    assert stands(settings) == ("paused", [("pending", 1, '{"ask":"ok?"}')])
    graph.invoke(Command(resume="yes"), CONFIG)
    assert stands(settings) == ("paused", [("pending", 2, "sure?")])
    assert graph.invoke(Command(resume="really"), CONFIG)["messages"][-1].content == "yes really"
    assert stands(settings) == ("idle", [])
    paused, resumed = ("paused", "human_input", "applied"), ("resumed", "", "applied")
    assert said(settings) == [(1, *paused), (2, *resumed), (2, *paused), (3, *resumed)]


async def test_async_runs_pause_and_resume_too(settings: Settings) -> None:
    graph = asker()
    await graph.ainvoke(ASK, CONFIG)
    assert stands(settings) == ("paused", [("pending", 1, '{"ask":"ok?"}')])
    async for _ in graph.astream(Command(resume="yes"), CONFIG):
        pass
    assert [row[:2] for row in said(settings)] == [(1, "paused"), (2, "resumed"), (2, "paused")]


def test_a_breakpoint_pauses_without_a_question(settings: Settings) -> None:
    graph = asker(interrupt_before=["ask"])
    graph.invoke(ASK, CONFIG)
    assert said(settings) == [(1, "paused", "breakpoint", "applied")]
    assert stands(settings) == ("paused", [("pending", 1, "breakpoint")])
    graph.invoke(None, CONFIG)
    assert [row[:3] for row in said(settings)[1:]] == [(2, "resumed", ""), (2, "paused", "human_input")]
    assert stands(settings) == ("paused", [("pending", 2, '{"ask":"ok?"}')])


def test_a_new_message_instead_of_an_answer_makes_the_session_active_and_leaves_the_question(settings: Settings) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node(
        "ask", lambda state: {"messages": [("ai", interrupt("ok?") if len(state["messages"]) < 2 else "never mind")]}
    )
    graph.add_edge(START, "ask")
    agent = graph.compile(checkpointer=InMemorySaver(), name="asker")
    agent.invoke(ASK, CONFIG)
    agent.invoke(ASK, CONFIG)
    assert stands(settings) == ("idle", [("pending", 1, "ok?")])


def test_an_approval_by_middleware_leaves_the_call_queued_until_it_is_given(settings: Settings) -> None:
    @tool
    def remove(path: str) -> str:
        """Remove a file."""
        return f"removed {path}"

    calls = [ToolCall("remove", {"path": "a"}, "c1"), ToolCall("remove", {"path": "b"}, "c2")]
    script: list[Any] = [Reply("I remove both.", tool_calls=calls), "Done."]
    with ScriptedModel(lambda body: script.pop(0)) as model:
        chat = ChatOpenAI(model="m", base_url=model.base_url, api_key="none", max_retries=0)
        asks = HumanInTheLoopMiddleware(interrupt_on={"remove": True})
        agent = create_agent(chat, [remove], name="cleaner", middleware=[asks], checkpointer=InMemorySaver())
        agent.invoke(ASK, CONFIG)
        status, (*queued, asked) = stands(settings)
        assert (status, queued) == ("paused", [("queued", 1, "remove"), ("queued", 1, "remove")])
        assert asked[:2] == ("pending", 1)
        assert asked[2].startswith('{"action_requests":[{"name":"remove","args":{"path":"a"}')
        approve = {"type": "approve"}
        answer = agent.invoke(Command(resume={"decisions": [approve, approve]}), CONFIG)
    assert answer["messages"][-1].content == "Done."
    assert stands(settings) == ("idle", [])
    with queries.reading(settings) as db:
        done = [(commit.turn, commit.tool, commit.outcome) for commit in reversed(queries.log(db, "s", kind="tool"))]
    assert done == [(2, "remove", "ok"), (2, "remove", "ok")]
