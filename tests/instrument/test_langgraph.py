"""LangGraph's interrupts and resumes as the lifecycle of a session, with what they leave open; its checkpoints as commits."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Overwrite, interrupt
from pydantic import BaseModel

from recording import Recording, journal_rows
from turnlog import queries
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import instrument, uninstrument_all
from turnlog.settings import Capture, Settings

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


class Counting(MessagesState):
    n: int
    plan: list[str]


def counter(**how: Any) -> Any:
    graph = StateGraph(Counting)
    graph.add_node("one", lambda state: {"n": 1, "plan": ["look", "write"]})
    graph.add_node("two", lambda state: {"n": state["n"] + 1, "messages": [("ai", "done")]})
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    return graph.compile(**{"checkpointer": InMemorySaver(), "name": "counter", **how})


def saved(settings: Settings) -> list[tuple[Any, ...]]:
    """Turn, what was saved, and of a fork also the turn that it goes on from, oldest first."""
    with queries.reading(settings) as db:
        query = "select turn, summary, is_fork, parent_turn from checkpoints where session_id = 's' order by saved_ns"
        found = db.execute(query).fetchall()
    return [(turn, summary, parent) if is_fork else (turn, summary) for turn, summary, is_fork, parent in found]


def kept(settings: Settings) -> dict[str, tuple[str, str, int]]:
    with queries.reading(settings) as db:
        return {row.key: (row.value, row.tier, row.turn) for row in queries.state(db, "s") if row.kind == "state"}


FIRST = [(1, "input: messages"), (1, "step 1: n, plan"), (1, "step 2: messages, n")]


async def test_every_step_is_a_commit_with_what_it_changed(settings: Settings) -> None:
    graph = counter()
    graph.invoke(ASK, CONFIG)
    assert saved(settings) == FIRST
    assert kept(settings) == {"n": ("2", "durable", 1), "plan": ('["look","write"]', "durable", 1)}
    await graph.ainvoke(ASK, CONFIG)
    assert saved(settings)[3:] == [(2, "input: messages"), (2, "step 5: n, plan"), (2, "step 6: messages, n")]
    ids = [state.config["configurable"]["checkpoint_id"] for state in graph.get_state_history(CONFIG)]
    with queries.reading(settings) as db:
        rows = db.execute("select checkpoint_id, parent_id from checkpoints order by saved_ns desc").fetchall()
        assert [id for id, _ in rows] == [*ids[:3], *ids[4:7]]
        assert [parent for _, parent in rows] == [*ids[1:3], *ids[4:7], ""]
        assert queries.log(db, "s") == []
        assert len(queries.log(db, "s", checkpoints=True)) == 6


def test_without_a_checkpointer_there_is_nothing_to_commit(settings: Settings) -> None:
    counter(checkpointer=None).invoke(ASK, CONFIG)
    assert saved(settings) == []


def test_a_run_that_saves_only_at_its_end_is_one_commit(settings: Settings) -> None:
    counter().invoke(ASK, CONFIG, durability="exit")
    assert saved(settings) == [(1, "step 2: messages, n, plan")]


def test_of_a_long_or_secret_value_only_its_digest_and_summary_are_kept(
    settings: Settings, make_recording: Callable[..., Recording]
) -> None:
    graph = StateGraph(Counting)
    graph.add_node("one", lambda state: {"plan": ["password=hunter2hunter2", "x" * 500]})
    graph.add_edge(START, "one")
    graph.compile(checkpointer=InMemorySaver()).invoke(ASK, CONFIG)
    value, _, _ = kept(settings)["plan"]
    assert re.fullmatch(r'sha256:[0-9a-f]{17} \["password=\[REDACTED:credential\]","x+… \(\+\d+ chars\)', value)
    uninstrument_all()
    silent = make_recording(directory=settings.directory / "silent", capture=Capture.NONE)
    instrument("langgraph", "langchain", tracer_provider=silent.provider)
    graph.compile(checkpointer=InMemorySaver()).invoke(ASK, CONFIG)
    assert kept(silent.settings)["plan"] == (value.split()[0], "durable", 1)
    assert "hunter2" not in str(journal_rows(settings) + journal_rows(silent.settings))


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_a_run_from_an_earlier_checkpoint_is_a_fork_of_its_turn(form: str, settings: Settings) -> None:
    graph = counter()
    graph.invoke(ASK, CONFIG)
    graph.invoke(ASK, CONFIG)
    earlier = [state.config for state in graph.get_state_history(CONFIG) if state.next == ("two",)][-1]
    for given in (None, {"messages": [("user", "Or else.")]}):
        await graph.ainvoke(given, earlier) if form == "async" else graph.invoke(given, earlier)
    assert saved(settings)[6:] == [
        (3, "fork", 1),
        (3, "step 3: messages, n"),
        (4, "input: messages", 1),
        (4, "step 4: n, plan"),
        (4, "step 5: messages, n"),
    ]
    assert said(settings) == []


class Releasing(TypedDict, total=False):
    plan: str
    log: Annotated[list[str], operator.add]
    released: str


def releaser() -> Any:
    graph = StateGraph(Releasing)
    graph.add_node("plan", lambda state: {"plan": f"after {len(state['log'])}"})
    graph.add_node("release", lambda state: {"released": state["plan"]})
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "release")
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("edited", [False, True])
def test_what_an_abandoned_path_wrote_is_no_part_of_the_state(edited: bool, settings: Settings) -> None:
    graph = releaser()
    graph.invoke({"log": ["asked"]}, CONFIG)
    assert kept(settings)["released"] == ("after 1", "durable", 1)
    earlier = next(state.config for state in graph.get_state_history(CONFIG) if state.next == ("plan",))
    if edited:
        graph.update_state(earlier, {"log": ["warned"]}, "__start__")
    graph.invoke(None, CONFIG if edited else earlier, interrupt_before=["release"])
    expected = {"plan": "after 2", "log": '["asked","warned"]'} if edited else {"plan": "after 1", "log": '["asked"]'}
    assert {name: value for name, (value, *_) in kept(settings).items()} == expected


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_an_edit_of_the_state_is_a_commit_and_no_turn(form: str, settings: Settings) -> None:
    graph = counter()

    async def edit(config: Any, values: Any) -> Any:
        if form == "async":
            return await graph.aupdate_state(config, values, "one")
        return graph.update_state(config, values, "one")

    graph.invoke(ASK, CONFIG)
    earlier = next(state.config for state in graph.get_state_history(CONFIG) if state.next == ("two",))
    await edit(CONFIG, {"n": 40, "messages": [("user", "More.")]})
    with queries.reading(settings) as db:
        assert [(row.turn, row.kind, row.input_summary) for row in queries.log(db, "s")] == [
            (1, "state", "update as one: n, messages")
        ]
    assert kept(settings)["n"] == ("40", "durable", 1)
    assert kept(settings)["messages"] == ("written user: More.", "transient", 1)
    fork = await edit(earlier, {"n": 70})
    assert graph.invoke(None, fork)["n"] == 71
    assert saved(settings)[3:] == [(1, "update as one: n, messages"), (1, "update as one: n", 1), (2, "step 3: messages, n")]
    assert kept(settings)["n"] == ("71", "durable", 2)


class Talking(TypedDict):
    messages: Annotated[list[Any], add_messages]
    shaped: Annotated[list[Any], add_messages(format="langchain-openai")]
    summed: Annotated[list[Any], operator.add]
    plain: list[Any]
    todos: list[dict[str, str]]
    notes: list[str]


def talker() -> Any:
    said = {"role": "assistant", "content": "Hi."}
    graph = StateGraph(Talking)
    graph.add_node(
        "talk", lambda state: {"messages": [said], "shaped": [said], "summed": [said], "plain": [HumanMessage("Hi.")]}
    )
    graph.add_node("plan", lambda state: {"todos": [{"content": "look", "status": "open"}], "notes": ["one"]})
    graph.add_node("forget", lambda state: {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)], "notes": []})
    graph.add_edge(START, "talk")
    graph.add_edge("talk", "plan")
    graph.add_edge("plan", "forget")
    return graph.compile(checkpointer=InMemorySaver(), name="talker")


def changed(settings: Settings, before: int, after: int) -> dict[str, tuple[str, str]]:
    with queries.reading(settings) as db:
        rows = queries.diff(db, "s", before, after).differences
    return {row.key: (row.before_value, row.after_value) for row in rows if row.kind == "state"}


def test_the_conversation_is_no_part_of_the_state_in_whatever_channel_and_form_it_is(settings: Settings) -> None:
    graph = talker()
    graph.invoke(ASK, CONFIG)
    graph.invoke(ASK, CONFIG)
    assert saved(settings)[:4] == [
        (1, "input: messages"),
        (1, "step 1: messages, shaped, summed, plain"),
        (1, "step 2: todos, notes"),
        (1, "step 3: messages, notes"),
    ]
    assert changed(settings, 0, 1) == {"todos": ("", '[{"content":"look","status":"open"}]'), "notes": ("", "[]")}
    assert changed(settings, 1, 2) == {}


@pytest.mark.parametrize(
    ("channel", "given", "shown"),
    [
        ("messages", HumanMessage("More."), "written user: More."),
        ("messages", ["More.", ("ai", "Less.")], "written user: More.; assistant: Less."),
        ("messages", [RemoveMessage("m1")], "written remove m1"),
        ("messages", [RemoveMessage(REMOVE_ALL_MESSAGES), AIMessage("New.")], "written remove all; assistant: New."),
        ("messages", Overwrite([AIMessage("New.")]), "assistant: New."),
        (
            "messages",
            [
                AIMessage("I look.", tool_calls=[{"name": "look", "args": {}, "id": "c1"}]),
                ToolMessage("a tree", tool_call_id="c1"),
                HumanMessage([{"type": "text", "text": "And"}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
            ],
            "written assistant: I look. call look; tool: a tree; user: And image_url",
        ),
        ("summed", [{"role": "user", "content": "More."}], "written user: More."),
        ("plain", [HumanMessage("More.")], "user: More."),
    ],
)
def test_an_edit_of_the_conversation_says_in_words_what_was_written(
    channel: str, given: Any, shown: str, settings: Settings
) -> None:
    graph = talker()
    graph.invoke(ASK, CONFIG)
    graph.update_state(CONFIG, {"messages": [HumanMessage("Hello.", id="m1")]}, "talk")
    graph.update_state(CONFIG, {channel: given}, "talk")
    assert kept(settings)[channel] == (shown, "transient", 1)


def test_an_edit_that_is_refused_raises_what_it_would_and_says_so(settings: Settings) -> None:
    graph = counter()
    graph.invoke(ASK, CONFIG)
    with pytest.raises(InvalidUpdateError, match="Node nobody does not exist"):
        graph.update_state(CONFIG, {"n": 1}, "nobody")
    with queries.reading(settings) as db:
        assert [(row.kind, row.outcome, row.error) for row in queries.log(db, "s")] == [
            ("state", "error", "langgraph.errors.InvalidUpdateError")
        ]
    assert saved(settings) == FIRST


def test_an_edit_from_another_process_belongs_to_the_turn_before_it(
    settings: Settings, make_recording: Callable[..., Recording]
) -> None:
    graph = counter()
    graph.invoke(ASK, CONFIG)
    uninstrument_all()
    instrument("langgraph", "langchain", tracer_provider=make_recording().provider)
    graph.update_state(CONFIG, {"n": 40}, "two")
    graph.invoke(ASK, CONFIG)
    assert [row[:2] for row in saved(settings)[3:5]] == [(1, "update as two: n"), (2, "input: messages")]


@pytest.mark.parametrize("keeps", [None, True])
def test_a_graph_inside_a_graph_is_in_its_turn(keeps: bool | None, settings: Settings) -> None:
    graph = StateGraph(Counting)
    graph.add_node("inner", counter(checkpointer=keeps, name="inner"))
    graph.add_edge(START, "inner")
    graph.compile(checkpointer=InMemorySaver(), name="outer").invoke(ASK, CONFIG)
    assert saved(settings) == [
        (1, "input: messages"),
        (1, "input: inner/messages"),
        (1, "step 1: inner/n, inner/plan"),
        (1, "step 2: inner/messages, inner/n"),
        (1, "step 1: messages, n, plan"),
    ]
    inner = {key: value for key, (value, _, _) in kept(settings).items() if key.startswith("inner/")}
    assert inner == ({"inner/n": "2", "inner/plan": '["look","write"]'} if keeps else {})


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_questions_of_inner_graphs_are_asked_and_answered_once(form: str, settings: Settings) -> None:
    inner = StateGraph(MessagesState)
    inner.add_node("ask", lambda state: {"messages": [("ai", interrupt("inner?"))]})
    inner.add_edge(START, "ask")
    graph = StateGraph(MessagesState)
    graph.add_node("inner", inner.compile(name="inner"))
    graph.add_node("beside", lambda state: {"messages": [("ai", interrupt("beside?"))]})
    graph.add_edge(START, "inner")
    graph.add_edge(START, "beside")
    app = graph.compile(checkpointer=InMemorySaver(), name="outer")

    async def go(given: Any) -> Any:
        return await app.ainvoke(given, CONFIG) if form == "async" else app.invoke(given, CONFIG)

    asked = {each.value: each.id for each in (await go(ASK))["__interrupt__"]}
    status, [(_, turn, question)] = stands(settings)
    assert (status, turn, sorted(question.split("; "))) == ("paused", 1, ["beside?", "inner?"])
    await go(Command(resume={asked["beside?"]: "yes"}))
    assert stands(settings) == ("paused", [("pending", 2, "inner?")])
    answer = await go(Command(resume={asked["inner?"]: "no"}))
    assert sorted(message.content for message in answer["messages"][1:]) == ["no", "yes"]
    assert stands(settings) == ("idle", [])
    states = ["paused", "resumed", "paused", "resumed"]
    assert [row[:2] for row in said(settings)] == list(zip([1, 2, 2, 3], states, strict=True))
    with queries.reading(settings) as db:
        agents = db.execute("select name from span_rows where operation = 'invoke_agent'").fetchall()
    assert agents == [("invoke_agent outer",)] * 3


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return f"contents of {path} " * 20


def reads(path: str, call_id: str) -> Reply:
    return Reply("I read.", tool_calls=[ToolCall("read_file", {"path": path}, call_id)])


def lost(settings: Settings) -> list[tuple[int, str, str, str]]:
    with queries.reading(settings) as db:
        named = {"message": "summary", "result": "key", "file": "key", "decision": "summary"}
        return [(row.turn, row.reason, row.kind, getattr(row, named[row.kind])) for row in queries.evictions(db, "s")]


def test_a_summary_evicts_exactly_what_it_stands_for(settings: Settings) -> None:
    script: list[Any] = [reads("a.py", "r1"), "Read.", reads("b.py", "r2"), "One file was read.", "Both are read."]
    with ScriptedModel(lambda body: script.pop(0)) as model:
        chat = ChatOpenAI(model="m", base_url=model.base_url, api_key="none", max_retries=0)
        shortens = SummarizationMiddleware(model=chat, trigger=("messages", 6), keep=("messages", 2))
        agent = create_agent(chat, [read_file], middleware=[shortens], checkpointer=InMemorySaver(), name="reader")
        for text in ("Read the first.", "Read the second."):
            agent.invoke({"messages": [("user", text)]}, CONFIG)
    assert lost(settings) == [
        (2, "summarised", "decision", "call read_file - I read."),
        (2, "summarised", "file", "a.py"),
        (2, "summarised", "result", "r1"),
        (2, "summarised", "message", "Read the first."),
        (2, "summarised", "message", "call read_file - I read."),
        (2, "summarised", "message", "Read."),
        (2, "summarised", "message", "Read the second."),
    ]


def test_edited_contexts_evict_the_results_that_they_clear(settings: Settings) -> None:
    script: list[Any] = [reads("a.py", "r1"), reads("b.py", "r2"), reads("c.py", "r3"), "All are read."]
    with ScriptedModel(lambda body: script.pop(0)) as model:
        chat = ChatOpenAI(model="m", base_url=model.base_url, api_key="none", max_retries=0)
        clears = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=150, keep=1)])
        agent = create_agent(chat, [read_file], middleware=[clears], checkpointer=InMemorySaver(), name="reader")
        agent.invoke({"messages": [("user", "Read all.")]}, CONFIG)
    assert lost(settings) == [(1, "cleared", "result", "r2"), (1, "cleared", "result", "r1")]


def test_a_tool_that_answers_by_a_command_has_its_message_as_result(settings: Settings) -> None:
    @tool
    def plan(steps: list[str], tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Make a plan."""
        return Command(update={"plan": steps, "messages": [ToolMessage("planned", tool_call_id=tool_call_id)]})

    graph = StateGraph(Counting)
    call = {"name": "plan", "args": {"steps": ["look"]}, "id": "c1", "type": "tool_call"}
    graph.add_node("model", lambda state: {"messages": [AIMessage("", tool_calls=[call])]})
    graph.add_node("tools", ToolNode([plan]))
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    graph.compile(checkpointer=InMemorySaver(), name="planner").invoke(ASK, CONFIG)
    with queries.reading(settings) as db:
        assert [(row.tool, row.outcome, row.output_summary) for row in queries.log(db, "s", kind="tool")] == [
            ("plan", "ok", "planned")
        ]
    assert kept(settings)["plan"] == ('["look"]', "durable", 1)


def test_an_output_that_is_a_tool_call_leaves_no_call_open(settings: Settings) -> None:
    class Sum(BaseModel):
        total: int

    script = [Reply(tool_calls=[ToolCall("Sum", {"total": total}, f"c{total}")]) for total in (3, 4)]
    with ScriptedModel(script) as model:
        chat = ChatOpenAI(model="m", base_url=model.base_url, api_key="none", max_retries=0)
        agent = create_agent(chat, [], response_format=ToolStrategy(Sum), checkpointer=InMemorySaver())
        for turn, total in ((1, 3), (2, 4)):
            assert agent.invoke(ASK, CONFIG)["structured_response"] == Sum(total=total)
            assert stands(settings) == ("idle", [])
            with queries.reading(settings) as db:
                found = [(row.turn, row.tool_call_id, row.outcome) for row in queries.log(db, "s", kind="tool")]
            assert found == [(2, "c4", "ok"), (1, "c3", "ok")][2 - turn :]
