"""Which session and turn a span belongs to, whoever knows it: the application, the framework, the span around, nobody."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from recording import Recording, assistant, session_of, tool_result, turn_of, user
from turnlog import semconv
from turnlog.identity import make_id, session

MakeRecording = Callable[..., Recording]


def test_ids_are_uuids_of_version_7_in_the_order_of_time() -> None:
    ids = [make_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", id) for id in ids)
    assert [id[:13] for id in ids] == sorted(id[:13] for id in ids)


def test_the_applications_word_goes_before_everything(make_recording: MakeRecording) -> None:
    recording = make_recording(session="configured")
    with session("explicit"), recording.agent(conversation="framework") as agent:
        assert session_of(agent) == "explicit"
    assert session_of(recording.tool("t")) == "configured"


def test_the_configured_session_goes_before_the_frameworks_own(make_recording: MakeRecording) -> None:
    recording = make_recording(session="configured")
    with recording.agent(conversation="framework") as agent:
        assert session_of(agent) == "configured"


def test_the_frameworks_conversation_goes_before_the_span_around(recording: Recording) -> None:
    with recording.tracer.start_as_current_span("request"):
        with recording.agent(conversation="first") as first:
            pass
        with recording.agent(conversation="second") as second:
            pass
        with recording.agent() as unnamed:
            pass
    assert [session_of(span) for span in (first, second, unnamed)] == ["first", "second", "first"]


def test_a_session_that_the_application_named_around_holds_without_the_context_variable(recording: Recording) -> None:
    with session("explicit"):
        root = recording.start("")
    with root.current(), recording.agent(conversation="framework") as agent:
        assert session_of(agent) == "explicit"
    root.end()


def test_an_applications_own_session_attribute_names_the_session(recording: Recording) -> None:
    span = recording.start("invoke_agent", attributes={semconv.SESSION_ID: "mine"})
    span.end()
    assert session_of(span) == "mine"


def test_without_any_word_a_process_is_one_session(recording: Recording) -> None:
    sessions = {session_of(recording.tool("a")), session_of(recording.start("invoke_agent"))}
    with recording.agent() as agent:
        sessions.add(session_of(agent))
    assert len(sessions) == 1
    assert re.fullmatch(r"[0-9a-f-]{36}", sessions.pop())


def test_a_session_without_an_id_gets_a_new_one_and_gives_it(recording: Recording) -> None:
    with session() as first, recording.agent() as agent:
        assert session_of(agent) == first
    with session() as second:
        assert second != first


def test_everything_below_an_agent_shares_its_turn(recording: Recording) -> None:
    with recording.agent("outer", conversation="c") as outer:
        chat = recording.chat([user("q")], [assistant("a")])
        tool = recording.start("execute_tool")
        with tool.current(), recording.agent("inner", conversation="other") as inner:
            deep = recording.tool("deep")
        tool.end()
    spans = (outer, chat, tool, inner, deep)
    assert {(session_of(span), turn_of(span)) for span in spans} == {("c", turn_of(outer))}


def test_an_agent_inside_a_tool_of_a_bare_loop_shares_the_turn(recording: Recording) -> None:
    first = recording.chat([user("q")], [assistant("", "delegate")])
    tool = recording.start("execute_tool")
    with tool.current(), recording.agent("inner") as inner:
        pass
    tool.end()
    last = recording.chat([user("q"), tool_result("done")], [assistant("a")])
    assert len({turn_of(span) for span in (first, tool, inner, last)}) == 1


def test_another_session_inside_a_turn_is_a_turn_of_its_own_and_leaves_the_outer_alone(recording: Recording) -> None:
    with recording.agent() as outer:
        before = (session_of(outer), turn_of(outer))
        with session("other"), recording.agent() as inner:
            pass
    assert session_of(inner) == "other"
    assert turn_of(inner) != turn_of(outer)
    assert (session_of(outer), turn_of(outer)) == before


def test_agent_calls_below_one_application_span_are_turns_of_one_session_and_stamp_it(recording: Recording) -> None:
    agents = []
    with recording.tracer.start_as_current_span("request"), recording.tracer.start_as_current_span("handler"):
        for _ in range(5):
            with recording.agent(conversation="c") as agent:
                agents.append(agent)
    by_name = {span.name: span for span in recording.spans}
    assert len({turn_of(agent) for agent in agents}) == 5
    assert {session_of(span) for span in recording.spans} == {"c"}
    assert [turn_of(by_name[name]) for name in ("request", "handler")] == [turn_of(agents[0])] * 2


def test_an_application_span_never_pairs_one_session_with_the_turn_of_another(recording: Recording) -> None:
    with recording.tracer.start_as_current_span("request"):
        with recording.agent() as unnamed:
            pass
        with recording.agent(conversation="c") as named:
            pass
    request = recording.spans[-1]
    pairs = {(session_of(span), turn_of(span)) for span in (unnamed, named)}
    assert (session_of(request), turn_of(request)) in pairs


def test_an_application_span_that_the_application_named_keeps_its_session(recording: Recording) -> None:
    with session("mine"), recording.tracer.start_as_current_span("request"), session("other"), recording.agent():
        pass
    assert session_of(recording.spans[-1]) == "mine"


def test_in_a_bare_loop_a_users_message_opens_a_turn_and_a_tools_result_goes_on_with_it(recording: Recording) -> None:
    history = [user("first")]
    calls = [recording.chat(history, [assistant("", "t")])]
    calls.append(recording.tool("t"))
    history += [assistant("", "t"), tool_result("r")]
    calls.append(recording.chat(history, [assistant("done")]))
    history += [assistant("done"), user("second")]
    calls.append(recording.chat(history, [assistant("done")]))
    turns = [turn_of(call) for call in calls]
    assert turns[0] == turns[1] == turns[2] != turns[3]


@pytest.mark.parametrize("configured", ["", "configured"])
def test_a_tool_in_a_plain_thread_finds_the_turn_of_the_session(make_recording: MakeRecording, configured: str) -> None:
    recording = make_recording(session=configured)
    with recording.agent() as agent, ThreadPoolExecutor(1) as pool:
        tool = pool.submit(recording.tool, "t").result()
    assert (session_of(tool), turn_of(tool)) == (session_of(agent), turn_of(agent))


def test_a_span_that_starts_after_its_parent_ended_still_belongs_to_it(recording: Recording) -> None:
    with recording.agent(conversation="c") as agent:
        pass
    with agent.current():
        tool = recording.tool("late")
    assert (session_of(tool), turn_of(tool)) == ("c", turn_of(agent))


def converse(recording: Recording, name: str, barrier: threading.Barrier) -> set[tuple[str, str]]:
    found = set()
    for _ in range(20):
        barrier.wait()
        with recording.agent("q", conversation=name) as agent:
            for span in (agent, recording.tool("a"), recording.chat([user("q")], [assistant("", "b")]), recording.tool("b")):
                found.add((session_of(span), turn_of(span)))
    return found


def test_conversations_in_threads_never_mix(recording: Recording) -> None:
    barrier = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(converse, recording, f"c{n}", barrier) for n in range(4)]
    found = [run.result() for run in runs]
    assert [{session for session, _ in pairs} for pairs in found] == [{f"c{n}"} for n in range(4)]
    assert [len(pairs) for pairs in found] == [20] * 4
    assert len(set().union(*({turn for _, turn in pairs} for pairs in found))) == 80


async def test_conversations_in_tasks_below_one_span_never_mix(recording: Recording) -> None:
    async def conversation(name: str) -> set[str]:
        found = set()
        for _ in range(20):
            with recording.agent("q", conversation=name) as agent:
                await asyncio.sleep(0)
                found |= {session_of(agent), session_of(recording.tool("a"))}
                await asyncio.sleep(0)
        return found

    with recording.tracer.start_as_current_span("request"):
        found = await asyncio.gather(*(conversation(f"c{n}") for n in range(4)))
    assert found == [{f"c{n}"} for n in range(4)]


def test_a_turn_links_to_the_turn_before_it_in_its_session(recording: Recording) -> None:
    contexts = []
    for name in ("c", "d", "c", "c"):
        with recording.agent(conversation=name) as agent:
            recording.tool("t")
        contexts.append(agent.span.get_span_context())
    agents = [span for span in recording.spans if span.name == "invoke_agent"]
    assert [[link.context for link in span.links] for span in agents] == [[], [], [contexts[0]], [contexts[2]]]
    assert all(not span.links for span in recording.spans if span.name == "execute_tool")


def test_the_memory_for_sessions_is_bounded(recording: Recording) -> None:
    for n in range(10_500):
        with session(f"s{n}"):
            recording.processor._sessions.identify(
                None, "", opens=True, continues=False, span=recording.tracer.start_span("x").get_span_context()
            )
    assert len(recording.processor._sessions._turns) == 4096
