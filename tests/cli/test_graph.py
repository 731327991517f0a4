"""`turnlog log --graph`: which turn goes on from which, and what ran inside of what."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from cli.history import Turnlog, plain
from cli.terminal import Terminal
from recording import Message, Recording, assistant, user
from turnlog import semconv
from turnlog.cli.widths import columns
from turnlog.identity import session
from turnlog.instrument import instrument, uninstrument_all
from turnlog.semconv import GenAiOperation
from turnlog.settings import Settings


def drawn(turnlog: Turnlog, *words: str) -> list[str]:
    return plain(turnlog("log", "--graph", *words).out)


def say(recording: Recording, said: list[Message], text: str, answer: str) -> list[Message]:
    """A turn of a program that repeats its messages: the messages after it."""
    asked = [*said, user(text)]
    reply = assistant(answer)
    recording.chat(asked, [reply], **{semconv.GEN_AI_CONVERSATION_ID: "demo"})
    return [*asked, reply]


def test_turns_stand_on_one_rail_and_what_they_did_beside_it(recorded: Settings, turnlog: Turnlog) -> None:
    assert drawn(turnlog, "-n", "3") == [
        "session demo",
        "* turn 3  DAY TIME  finish it",
        "| ID  TIME  decision  answer - It is done.",
        '| ID  TIME  write_file  {"path":"parser.py","content":"done"} -> wrote 4 characters',
        "* turn 2  DAY TIME  test it",
        "| ID  TIME  note  have it reviewed",
    ]
    assert drawn(turnlog)[-5:-3] == [
        "* turn 1  DAY TIME  write a parser",
        "  ID  TIME  decision  recursive descent - small grammar",
    ]


def test_a_retry_and_another_question_in_its_place_are_rails_beside_the_first(recording: Recording, turnlog: Turnlog) -> None:
    one = say(recording, [], "one", "first")
    say(recording, one, "two", "second")
    say(recording, one, "two", "another second")
    three = say(recording, one, "instead", "a third")
    say(recording, three, "four", "the last")
    turns = [line for line in drawn(turnlog) if "decision" not in line]
    assert turns == [
        "session demo",
        "* turn 5  DAY TIME  four",
        "* turn 4  fork of turn 1  DAY TIME  instead",
        "| * turn 3  retry of turn 2 (attempt 2)  DAY TIME  two",
        "| | * turn 2  DAY TIME  two",
        "| |/",
        "|/",
        "* turn 1  DAY TIME  one",
    ]
    nodes = [json.loads(line) for line in turnlog("log", "--graph", "--json").out.splitlines()]
    assert [(node["turn"], node["parent_turn"], node["relation"]) for node in nodes] == [
        (5, 4, ""),
        (4, 1, "fork"),
        (3, 1, "retry"),
        (2, 1, ""),
        (1, 0, ""),
    ]


def test_a_conversation_that_goes_back_to_an_older_path_is_drawn_on_it(recording: Recording, turnlog: Turnlog) -> None:
    one = say(recording, [], "one", "first")
    two = say(recording, one, "two", "second")
    say(recording, one, "instead", "another second")
    say(recording, two, "three", "third")
    assert [line for line in drawn(turnlog) if "decision" not in line] == [
        "session demo",
        "* turn 4  DAY TIME  three",
        "| * turn 3  fork of turn 1  DAY TIME  instead",
        "* | turn 2  DAY TIME  two",
        "|/",
        "* turn 1  DAY TIME  one",
    ]


def test_calls_without_a_history_are_no_forks_of_each_other(recording: Recording, turnlog: Turnlog) -> None:
    for text in ("one", "two", "three"):
        say(recording, [], text, "done")
    assert [line[:8] for line in drawn(turnlog) if "turn" in line] == ["* turn 3", "* turn 2", "* turn 1"]


def save(recording: Recording, name: str, source: str, parent: str) -> None:
    saved = {semconv.CHECKPOINT_ID: name, semconv.CHECKPOINT_PARENT_ID: parent, semconv.CHECKPOINT_SOURCE: source}
    attributes = {semconv.COMMIT_KIND: "state", semconv.GEN_AI_CONVERSATION_ID: "demo", **saved}
    recording.start("", {semconv.COMMIT_INPUT_SUMMARY: f"{source}: n"}, attributes).end()


def test_an_edit_of_the_state_stands_between_the_turn_that_it_edits_and_the_one_that_goes_on(
    recording: Recording, turnlog: Turnlog
) -> None:
    for text, name, parent in (("one", "a", ""), ("two", "b", "a")):
        with recording.agent(text, conversation="demo"):
            save(recording, name, "input", parent)
    save(recording, "e", "update", "a")
    with recording.agent("three", conversation="demo"):
        save(recording, "c", "input", "e")
    assert drawn(turnlog) == [
        "session demo",
        "* turn 3  DAY TIME  three",
        "* ID  TIME  state  fork of turn 1  update: n",
        "| * turn 2  DAY TIME  two",
        "|/",
        "* turn 1  DAY TIME  one",
    ]


def test_what_a_sub_agent_did_hangs_on_the_call_that_ran_it(recording: Recording, turnlog: Turnlog) -> None:
    def call(tool: str) -> Any:
        return recording.start(GenAiOperation.EXECUTE_TOOL, {}, {semconv.GEN_AI_TOOL_NAME: tool})

    with recording.agent("research it", conversation="demo"):
        research = call("research")
        with research.current():
            recording.tool("search", {"q": "it"}, "found")
            deeper = call("ask")
            with deeper.current():
                recording.tool("read", {"path": "it"}, "read")
                with session("opinion"), recording.agent("a second opinion", name="critic"):
                    recording.tool("judge", {}, "fine")
            deeper.end()
        research.end()
        recording.tool("write", {"path": "it"}, "written")
    assert drawn(turnlog, "-s", "demo") == [
        "session demo",
        "* turn 1  DAY TIME  research it",
        '  ID  TIME  write  {"path":"it"} -> written',
        "  ID  TIME  research",
        "  ├ ID  TIME  ask",
        '  │ ├ ID  TIME  read  {"path":"it"} -> read',
        "  │ └ session opinion of critic",
        '  └ ID  TIME  search  {"q":"it"} -> found',
    ]


class _Messages(TypedDict):
    messages: Annotated[list[Any], operator.add]


@pytest.fixture
def graph(recording: Recording) -> Iterator[Any]:
    """A real LangGraph graph with a memory, recorded."""
    instrument("langchain", "langgraph", tracer_provider=recording.provider)
    made = StateGraph(_Messages)
    made.add_node("answer", lambda state: {"messages": [f"{len(state['messages'])} messages"]})
    made.add_edge(START, "answer")
    yield made.compile(checkpointer=InMemorySaver(), name="graph")
    uninstrument_all()


def test_time_travel_of_langgraph_is_a_rail_of_its_own(graph: Any, turnlog: Turnlog) -> None:
    config = {"configurable": {"thread_id": "s"}}
    graph.invoke({"messages": ["one"]}, config)
    after_one = graph.get_state(config).config
    graph.invoke({"messages": ["two"]}, config)
    graph.invoke({"messages": ["instead"]}, after_one)
    graph.invoke({"messages": ["and on"]}, config)
    edited = graph.update_state(after_one, {"messages": ["edited"]}, as_node=START)
    graph.invoke(None, edited)
    assert [line.partition("  DAY")[0] for line in drawn(turnlog) if "answer" not in line] == [
        "session s",
        "* turn 5",
        "* ID  TIME  state  fork of turn 1  update as __start__: messages",
        "| * turn 4",
        "| * turn 3  fork of turn 1",
        "| | * turn 2",
        "| |/",
        "|/",
        "* turn 1",
    ]


def test_a_graph_fits_its_terminal(recording: Recording, settings: Settings) -> None:
    one = say(recording, [], "漢字" * 60, "first")
    for _ in range(6):
        say(recording, one, "again " * 30, "x" * 300)
    for width in (60, 80):
        with Terminal("log", "--graph", settings=settings, columns=width, NO_COLOR="1") as terminal:
            lines = terminal.all().splitlines()
        assert max(map(columns, lines)) <= width
        assert len([line for line in lines if "* turn" in line]) == 7


def test_a_graph_of_what_left_the_context_is_refused(recorded: Settings, turnlog: Turnlog) -> None:
    code, out, err = turnlog("log", "--graph", "--evicted")
    assert (code, out, err.splitlines()[-1]) == (
        2,
        "",
        "turnlog log: error: --graph shows what was done, --evicted what left the context: one of them",
    )
