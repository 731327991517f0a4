from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import turnlog
from recording import Recording, assistant, journal_rows, session_of, tool_result, turn_of, user
from turnlog import queries, semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.operation import hear
from turnlog.settings import Capture, Settings

SYSTEM = {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(directory=tmp_path)


@pytest.fixture
def recording(settings: Settings) -> Iterator[Recording]:
    recording = Recording(settings)
    yield recording
    recording.close()


def commits(settings: Settings, session: str = "") -> list[tuple[Any, ...]]:
    """Kind, tool, outcome and how it is known, oldest first."""
    with queries.reading(settings) as db:
        chosen = queries.find_session(db, session)
        rows = "select kind, tool, outcome, outcome_source from commits where session_id = ? order by started_ns, sequence"
        return db.execute(rows, [chosen]).fetchall()


def test_a_new_user_message_starts_a_turn_of_the_session_that_the_messages_continue(recording: Recording) -> None:
    first = recording.chat([SYSTEM, user("one")], [assistant("1")])
    other = recording.chat([SYSTEM, user("something else")], [assistant("x")])
    second = recording.chat([SYSTEM, user("one"), assistant("1"), user("two")], [assistant("2")])
    assert session_of(first) == session_of(second) != session_of(other)
    assert turn_of(first) != turn_of(second)


def test_a_model_that_is_asked_to_go_on_with_its_answer_is_in_the_turn_of_its_input(recording: Recording) -> None:
    first = recording.chat([user("a story")], [assistant("Once")])
    more = recording.chat([user("a story"), assistant("Once")], [assistant("upon")])
    last = recording.chat([user("a story"), assistant("Once"), assistant("upon")], [assistant("a time")])
    assert turn_of(first) == turn_of(more) == turn_of(last)
    again = recording.chat([user("a story"), assistant("Once"), assistant("upon"), user("a story")], [assistant("No.")])
    assert session_of(again) == session_of(first)
    assert turn_of(again) != turn_of(first)


def test_words_put_into_a_models_mouth_come_with_an_input(recording: Recording) -> None:
    with turnlog.session("s"):
        first = recording.chat([user("a list")], [assistant("[1]")])
        other = recording.chat([user("a list"), assistant("[")], [assistant("2]")])
    assert turn_of(first) != turn_of(other)


def test_a_tool_call_that_nobody_recorded_is_recovered_from_the_messages(recording: Recording, settings: Settings) -> None:
    asked = assistant("I look.", "search", "fetch")
    results = [
        tool_result("found"),
        {**tool_result("Error: timed out"), "parts": [{**tool_result("Error: timed out")["parts"][0], "id": "call-1"}]},
    ]
    chat = recording.chat([user("q")], [asked])
    last = recording.chat([user("q"), asked, *results], [assistant("a")])
    assert commits(settings) == [
        ("decision", "", "ok", ""),
        ("tool", "search", "ok", ""),
        ("tool", "fetch", "timeout", "inferred"),
        ("decision", "", "ok", ""),
    ]
    tools = [span for span in recording.spans if span.name.startswith("execute_tool")]
    decision = chat.span.get_span_context()  # type: ignore[union-attr]
    for tool in tools:
        assert tool.attributes is not None
        assert (session_of(tool), turn_of(tool)) == (session_of(chat), turn_of(chat)) == (session_of(last), turn_of(last))
        assert tool.attributes[semconv.DECISION_ID] == f"{decision.span_id:016x}"
        assert tool.start_time == chat.span.end_time and tool.end_time == last.span.start_time  # type: ignore[union-attr]


def test_a_tool_that_was_recorded_names_who_asked_and_is_not_recovered_again(recording: Recording, settings: Settings) -> None:
    asked = assistant("", "search")
    chat = recording.chat([user("q")], [asked])
    thread = threading.Thread(target=lambda: recording.tool("search", {}, "found"))
    recording.chat([user("another conversation")], [assistant("x")])
    thread.start()
    thread.join()
    recording.chat([user("q"), asked, tool_result("found")], [assistant("a")])
    (tool,) = [span for span in recording.spans if span.name == "execute_tool"]
    assert tool.attributes is not None
    assert (session_of(tool), turn_of(tool)) == (session_of(chat), turn_of(chat))
    assert tool.attributes[semconv.GEN_AI_TOOL_CALL_ID] == "call-0"
    assert [kind for kind, *_ in commits(settings, session_of(chat))] == ["decision", "tool", "decision"]


def test_conversations_of_one_session_that_take_turns_go_on_with_their_own(recording: Recording) -> None:
    asked = assistant("I look.", "search")
    with turnlog.session("s"):
        one, other = (recording.chat([user(text)], [asked]) for text in ("one", "other"))
        ends = [recording.chat([user(text), asked, tool_result(text)], [assistant(text)]) for text in ("one", "other")]
    assert [turn_of(end) for end in ends] == [turn_of(one), turn_of(other)]
    assert turn_of(one) != turn_of(other)


def test_a_context_shows_what_the_model_got_and_not_what_the_tool_gave(recording: Recording, settings: Settings) -> None:
    for question, failure, got in (("a", None, "given"), ("b", None, "SHORT"), ("c", ValueError("no"), "It failed.")):
        asked = assistant("", "search")
        with turnlog.session(question):
            recording.chat([user(question)], [asked])
            recording.tool("search", {}, "given", failure)
            recording.chat([user(question), asked, tool_result(got)], [assistant("x")])
        with queries.reading(settings) as db:
            assert [each.summary for each in queries.context(db, question, 1) if each.role == "tool"] == [got]


def test_a_tool_that_starts_before_its_model_call_is_over_names_it_and_is_not_recovered_again(recording: Recording) -> None:
    asked = [assistant("I look.", "search", "search")]
    with recording.agent("Find it.", "s"):
        chat = recording.start("chat", {semconv.GEN_AI_INPUT_MESSAGES: [user("Find it.")]})
        chat.set(content={semconv.GEN_AI_OUTPUT_MESSAGES: [assistant("I look.", "search")]})
        hear(chat)
        tool = recording.start("execute_tool", {}, {semconv.GEN_AI_TOOL_NAME: "search", semconv.GEN_AI_TOOL_CALL_ID: "call-0"})
        chat.set(content={semconv.GEN_AI_OUTPUT_MESSAGES: asked})
        chat.end()
        tool.end()
        recording.chat([user("Find it."), *asked, tool_result("here")], [assistant("Found.")])
    spans = [(span.name, span.attributes.get(semconv.DECISION_ID)) for span in recording.spans]
    decided = spans[0][1]
    assert [name for name, _ in spans] == ["chat", "execute_tool", "chat", "invoke_agent"]
    assert spans[1] == ("execute_tool", decided)


def test_what_left_the_context_is_a_commit_below_the_call_that_misses_it(recording: Recording) -> None:
    talk = [SYSTEM, user("one"), assistant("1"), user("two")]
    recording.chat(talk[:2], [assistant("1")])
    recording.chat(talk, [assistant("2")])
    chat = recording.chat([SYSTEM, user("two"), assistant("2"), user("three")], [assistant("3")])
    (evicted,) = [span for span in recording.spans if span.name == "evict"]
    assert evicted.parent is not None and evicted.attributes is not None
    assert evicted.parent.span_id == chat.span.get_span_context().span_id
    keys = evicted.attributes[semconv.CONTEXT_EVICTED_KEYS]
    assert [str(key).partition(":")[0] for key in keys] == ["message", "message"]  # type: ignore[union-attr]
    assert (evicted.attributes[semconv.COMMIT_KIND], evicted.attributes[semconv.COMMIT_INPUT_SUMMARY]) == (
        "eviction",
        "2 messages",
    )
    assert evicted.attributes[semconv.CONTEXT_EVICTION_REASON] == "trimmed"


def test_model_calls_whose_messages_nobody_sees_share_the_session_of_the_process(recording: Recording) -> None:
    assert len({session_of(recording.chat([], [])) for _ in range(3)}) == 1


def test_context_changes_are_journaled_once(recording: Recording, settings: Settings) -> None:
    recording.chat([user("q")], [assistant("a")])
    rows = [row for row in journal_rows(settings) if row["record"] in ("start", "end")]
    assert ["context_changes" in row for row in rows] == [True, False]


def test_captured_messages_are_kept_once_however_often_they_are_sent(tmp_path: Path) -> None:
    settings = Settings(directory=tmp_path, capture=Capture.FULL)
    recording = Recording(settings)
    talk = [user("one"), assistant("1"), user("two")]
    recording.chat(talk[:1], [assistant("1")])
    recording.chat(talk, [assistant("2")])
    recording.close()
    texts = [row["text"] for row in journal_rows(settings) if row["record"] == "blob"]
    assert sum('"role":"user"' in text and "one" in text for text in texts) == 1


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setenv("TURNLOG_DIR", str(tmp_path))
    turnlog.init()
    yield Settings(directory=tmp_path)
    turnlog.shutdown()


def echo(body: dict[str, Any]) -> str:
    return f"Answer to {body['messages'][-1]['content']}."


def sessions_and_inputs(settings: Settings) -> list[list[str]]:
    with queries.reading(settings) as db:
        found = [[turn.input_summary for turn in reversed(queries.turns(db, each.session_id))] for each in queries.sessions(db)]
    return sorted(found)


def test_interleaved_conversations_of_threads_never_mix(recorded: Settings) -> None:
    with ScriptedModel(echo) as model:
        client = openai.OpenAI(base_url=model.base_url, api_key="none")

        def talk(name: str) -> None:
            messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"{name} 0"}]
            for step in range(1, 5):
                reply = client.chat.completions.create(model="m", messages=messages).choices[0].message
                messages += [reply, {"role": "user", "content": f"{name} {step}"}]

        threads = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
    assert sessions_and_inputs(recorded) == [[f"{name} {step}" for step in range(4)] for name in "abcd"]


async def test_interleaved_conversations_of_tasks_with_the_same_words_never_mix(recorded: Settings) -> None:
    with ScriptedModel(lambda body: "Yes.") as model:
        async with openai.AsyncOpenAI(base_url=model.base_url, api_key="none") as client:

            async def talk(name: str) -> None:
                messages: list[Any] = [{"role": "user", "content": "Hello?"}]
                for step in range(3):
                    reply = (await client.chat.completions.create(model="m", messages=messages)).choices[0].message
                    messages += [reply, {"role": "user", "content": f"{name} {step}"}]

            await asyncio.gather(*(talk(name) for name in "abc"))
    assert sessions_and_inputs(recorded) == [["Hello?", f"{name} 0", f"{name} 1"] for name in "abc"]


def test_responses_that_name_the_one_before_are_one_session(recorded: Settings) -> None:
    replies = [Reply("Reading.", tool_calls=[ToolCall("read_file", {"path": "a.py"})]), "Done.", "Bye."]
    with ScriptedModel(replies) as model, openai.OpenAI(base_url=model.base_url, api_key="none") as client:
        first = client.responses.create(model="m", input="Read a.py")
        call = next(item for item in first.output if item.type == "function_call")
        output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "A = 1"}
        second = client.responses.create(model="m", input=[output], previous_response_id=first.id)
        client.responses.create(model="m", input="Thanks", previous_response_id=second.id)
    assert sessions_and_inputs(recorded) == [["Read a.py", "Thanks"]]
    assert [row[:3] for row in commits(recorded)] == [
        ("decision", "", "ok"),
        ("tool", "read_file", "ok"),
        ("decision", "", "ok"),
        ("decision", "", "ok"),
    ]


def test_each_attempt_of_a_tool_call_names_who_asked_for_it_and_the_last_gave_what_the_model_got(recorded: Settings) -> None:
    failures = {"first": 1, "second": 2}

    @turnlog.tool(retries=2)
    def fetch(path: str) -> str:
        failures[path] -= 1
        if failures[path] >= 0:
            raise ConnectionError(f"no {path}")
        return f"the {path}"

    # The first call's second attempt could be taken for the second call: that is the only one of this tool which still waits.
    asked = Reply("I fetch.", tool_calls=[ToolCall("fetch", {"path": path}, f"c-{path}") for path in failures])
    messages: list[Any] = [{"role": "user", "content": "q"}]
    with ScriptedModel([asked, "Done."]) as model, openai.OpenAI(base_url=model.base_url, api_key="none") as client:
        messages.append(client.chat.completions.create(model="m", messages=messages).choices[0].message)
        for path in failures:
            messages.append({"role": "tool", "tool_call_id": f"c-{path}", "content": fetch(path).value})
        client.chat.completions.create(model="m", messages=messages)
    with queries.reading(recorded) as db:
        session = queries.find_session(db, "")
        [(decision,)] = db.execute("select span_id from commits where output_summary = 'I fetch.'").fetchall()
        attempts = db.execute(
            "select tool_call_id, decision_id, attempt, outcome, commit_id from commits where kind = 'tool' order by started_ns"
        ).fetchall()
        sources = db.execute(
            "select source_commit from context_at(?, 1) where role = 'tool' order by position", [session]
        ).fetchall()
        steps = db.execute("select commit_a from paired_steps(?, 1, ?, 1) order by step", [session, session]).fetchall()
        assert db.execute("from pending_actions").fetchall() == []
    assert [row[:4] for row in attempts] == [
        ("c-first", decision, 0, "error"),
        ("c-first", decision, 2, "ok"),
        ("c-second", decision, 0, "error"),
        ("c-second", decision, 2, "error"),
        ("c-second", decision, 3, "ok"),
    ]
    assert sources == [attempts[1][4:], attempts[4][4:]]
    assert steps[1:-1] == [row[4:] for row in attempts]
