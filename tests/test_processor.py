"""The SpanProcessor: stamps, derives and journals for any instrumentation, and never costs the application a span."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from opentelemetry.trace import Status, StatusCode, format_trace_id

from programs import ROOT, run_code
from recording import Recording, assistant, journal_rows, session_of, turn_of, user
from turnlog import semconv
from turnlog.identity import session
from turnlog.operation import Messages, Operation, accompany, adopt, awaited, claim_started
from turnlog.running import MOST_REMEMBERED
from turnlog.settings import Capture, Settings

MakeRecording = Callable[..., Recording]


def recorded(settings: Settings) -> list[tuple[str, str]]:
    return [(row["record"], row["name"]) for row in journal_rows(settings) if row["record"] in ("start", "end")]


def test_a_span_is_in_the_journal_when_it_starts_and_when_it_ends(recording: Recording, settings: Settings) -> None:
    with recording.agent("q"):
        recording.tool("t")
        assert recorded(settings) == [("start", "invoke_agent"), ("start", "execute_tool"), ("end", "execute_tool")]
    assert recorded(settings)[-1] == ("end", "invoke_agent")


def test_a_tools_row_carries_identity_and_commit_in_columns(recording: Recording, settings: Settings) -> None:
    with session("s"), recording.agent("please write") as agent:
        recording.tool("write_file", {"path": "a.py", "content": "x"}, "ok")
    rows = {(row["record"], row.get("operation")): row for row in journal_rows(settings)}
    row = rows["end", "execute_tool"]
    assert {key: row[key] for key in ("session_id", "turn_id", "tool", "commit_kind", "outcome", "commit_sequence")} == {
        "session_id": "s",
        "turn_id": turn_of(agent),
        "tool": "write_file",
        "commit_kind": "tool",
        "outcome": "ok",
        "commit_sequence": 0,
    }
    assert [change["key"] for change in row["delta"]] == ["write_file", "a.py"]
    assert rows["start", "invoke_agent"]["turn_input"] == "please write"
    assert "commit_kind" not in rows["start", "execute_tool"]


class Onlooker(SpanProcessor):
    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.seen.append(dict(span.attributes or {}))


def test_processors_and_exporters_before_and_after_ours_see_the_state(recording: Recording) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    early, late = Onlooker(), Onlooker()
    exporters = [InMemorySpanExporter(), InMemorySpanExporter()]
    for processor in (
        early,
        SimpleSpanProcessor(exporters[0]),
        recording.processor,
        late,
        SimpleSpanProcessor(exporters[1]),
    ):
        provider.add_span_processor(processor)
    recording.tracer = provider.get_tracer("other")
    recording.tool("t", {"q": 1}, "r")
    exported = [dict(span.attributes or {}) for exporter in exporters for span in exporter.get_finished_spans()]
    assert early.seen == late.seen == exported[:1] == exported[1:]
    (seen,) = early.seen
    assert (seen["turnlog.commit.kind"], seen["turnlog.commit.outcome"], seen["turnlog.commit.sequence"]) == ("tool", "ok", 0)


def test_the_span_is_frozen_again_after_the_state_was_written(recording: Recording) -> None:
    operation = recording.tool("t")
    assert isinstance(operation.span, Span)
    with pytest.raises(TypeError):
        operation.span._attributes["late"] = 1  # type: ignore[index]


def test_a_foreign_span_gets_the_session_and_is_journaled_only_when_it_ends(recording: Recording, settings: Settings) -> None:
    with session("s"), recording.tracer.start_as_current_span("GET /", attributes={"http.request.method": "GET"}):
        assert recorded(settings) == []
    (row,) = [row for row in journal_rows(settings) if row["record"] == "end"]
    assert (row["session_id"], row["attributes"], row.get("turn_id"), row.get("commit_kind")) == (
        "s",
        {"http.request.method": "GET"},
        None,
        None,
    )


def test_a_failure_keeps_its_redacted_message_on_the_span(recording: Recording, settings: Settings) -> None:
    recording.tool("t", error=TimeoutError("too slow: password=hunter2"))
    (span,) = recording.spans
    assert (span.status.status_code, span.status.description) == (
        StatusCode.ERROR,
        "too slow: password=[REDACTED:credential]",
    )
    assert journal_rows(settings)[-1]["outcome"] == "timeout"


class Hostile:
    """Messages of a framework whose objects raise when they are read."""

    def __init__(self, when: set[str]) -> None:
        self.when = when

    def messages(self, step: str) -> Messages:
        def convert(raw: object) -> dict[str, Any]:
            if step in self.when:
                raise RuntimeError("hostile")
            return user("q")

        return Messages([None], convert)


@pytest.mark.parametrize("when", ["input", "output"])
def test_content_that_cannot_be_read_costs_what_it_would_have_said_and_nothing_else(
    recording: Recording, settings: Settings, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    hostile = Hostile({when})
    with session("s"):
        for _ in range(3):
            operation = recording.start("chat", {semconv.GEN_AI_INPUT_MESSAGES: hostile.messages("input")})
            operation.set(content={semconv.GEN_AI_OUTPUT_MESSAGES: hostile.messages("output")})
            operation.end()
        recording.tool("t")
    assert len({session_of(span) for span in recording.spans}) == 1
    assert all(turn_of(span) for span in recording.spans)
    assert recorded(settings) == [("start", "chat"), ("end", "chat")] * 3 + [("start", "execute_tool"), ("end", "execute_tool")]
    assert journal_rows(settings)[-1]["outcome"] == "ok"
    assert set(recording.processor.troubles.values()) == {3}
    losses = [row["name"] for row in journal_rows(settings) if row["record"] == "loss"]
    assert len(losses) == sum(recording.processor.troubles.values())
    assert len(caplog.records) == len(recording.processor.troubles)


def test_an_object_whose_text_cannot_be_had_costs_nothing_at_all(recording: Recording) -> None:
    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError

    recording.tool("t", {"q": Unprintable()}, Unprintable())
    assert recording.processor.troubles == {}
    assert (recording.spans[0].attributes or {})["turnlog.commit.outcome"] == "ok"


def test_a_journal_that_fails_costs_no_span(recording: Recording, caplog: pytest.LogCaptureFixture) -> None:
    recording.settings.journals.write_text("a file where the directory should be")
    recording.tool("t")
    assert [span.name for span in recording.spans] == ["execute_tool"]
    assert recording.journal.lost == 2
    assert len(caplog.records) == 1


def test_without_a_journal_spans_are_stamped_and_derived(recording: Recording, settings: Settings) -> None:
    recording.processor.journal = None
    recording.tool("t")
    assert (recording.spans[0].attributes or {})["turnlog.commit.kind"] == "tool"
    assert not settings.journals.exists()


def test_a_retired_processor_leaves_new_spans_alone(recording: Recording, settings: Settings) -> None:
    running = recording.start("execute_tool")
    recording.processor.retire()
    recording.tool("t")
    running.end()
    assert recorded(settings) == [("start", "execute_tool"), ("end", "execute_tool")]


MARK = "MARK password=hunter2"


def foreign(recording: Recording) -> None:
    """A span as other instrumentations make it, with content in its attributes, status and events."""
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: "execute_tool",
        semconv.GEN_AI_TOOL_NAME: "t",
        semconv.GEN_AI_TOOL_CALL_ARGUMENTS: f'{{"q":"{MARK}"}}',
        semconv.GEN_AI_TOOL_CALL_RESULT: MARK,
        "db.query.text": "connect password=hunter2",
        "process.command_args": ["--url", "postgres://u:hunter2@host/db"],
    }
    with pytest.raises(ValueError), recording.tracer.start_as_current_span("t", attributes=attributes):
        raise ValueError(MARK)


@pytest.mark.parametrize(
    ("capture", "arguments", "message"),
    [
        (Capture.NONE, None, None),
        (Capture.SUMMARY, '{"q":"MARK password=[REDACTED:credential]"}', "ValueError: MARK password=[REDACTED:credential]"),
        (Capture.FULL, '{"q":"MARK password=[REDACTED:credential]"}', "ValueError: MARK password=[REDACTED:credential]"),
    ],
)
def test_what_other_instrumentations_put_on_spans_reaches_the_disk_only_through_the_policy(
    make_recording: MakeRecording, capture: Capture, arguments: str | None, message: str | None
) -> None:
    recording = make_recording(capture=capture)
    foreign(recording)
    row = journal_rows(recording.settings)[-1]
    assert row["attributes"].get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS) == arguments
    assert (row.get("status_message") or None) == message
    assert row["attributes"]["db.query.text"] == "connect password=[REDACTED:credential]"
    written = b"".join(path.read_bytes() for path in recording.settings.journals.iterdir())
    assert b"hunter2" not in written
    assert (b"MARK" in written) == (capture is not Capture.NONE)
    assert (recording.spans[0].attributes or {})[semconv.GEN_AI_TOOL_CALL_RESULT] == MARK


def test_without_capture_no_text_of_ours_is_on_a_span_or_in_the_journal(make_recording: MakeRecording) -> None:
    recording = make_recording(capture=Capture.NONE)
    with recording.agent("MARK"):
        recording.chat([user("MARK")], [assistant("MARK", "t", reasoning="MARK")])
        recording.tool("t", {"q": "MARK"}, "MARK")
        recording.tool("t", {"q": "MARK"}, error=ValueError("MARK"))
    assert "MARK" not in repr([(span.attributes, span.status.description, span.events) for span in recording.spans])
    assert all(b"MARK" not in path.read_bytes() for path in recording.settings.journals.iterdir())


def test_content_is_on_spans_when_asked_for_and_redacted(make_recording: MakeRecording) -> None:
    recording = make_recording(content_on_spans=True)
    recording.tool("t", {"q": "password=hunter2"}, "r")
    attributes = recording.spans[0].attributes or {}
    assert attributes[semconv.GEN_AI_TOOL_CALL_ARGUMENTS] == '{"q":"password=[REDACTED:credential]"}'
    assert attributes[semconv.GEN_AI_TOOL_CALL_RESULT] == "r"


def test_full_capture_writes_each_content_once(make_recording: MakeRecording) -> None:
    recording = make_recording(capture=Capture.FULL)
    for _ in range(3):
        recording.tool("t", {"q": 1}, "r")
    blobs = [(row["text"]) for row in journal_rows(recording.settings) if row["record"] == "blob"]
    assert sorted(blobs) == ["r", '{"q":1}']


def test_content_that_was_not_written_is_written_when_it_comes_again(make_recording: MakeRecording) -> None:
    recording = make_recording(capture=Capture.FULL)
    in_the_way = recording.settings.journals
    in_the_way.write_text("a file where the directory should be")
    recording.tool("t", {"q": 1}, "r")
    assert recording.journal.lost
    in_the_way.unlink()
    recording.journal._retry_at = 0.0
    recording.tool("t", {"q": 1}, "r")
    blobs = [row["text"] for row in journal_rows(recording.settings) if row["record"] == "blob"]
    assert sorted(blobs) == ["r", '{"q":1}']


def test_memory_is_bounded_for_spans_that_end_and_for_spans_that_never_do(recording: Recording) -> None:
    recording.processor.journal = None
    with recording.agent("q", conversation="c"):
        for _ in range(20_000):
            recording.tracer.start_span("short").end()
    known = recording.processor._known
    assert (known.running, known._by_id) == ({}, {})
    assert len(known._ended) == MOST_REMEMBERED
    recording.exporter.clear()
    for _ in range(20_000):
        recording.tracer.start_span("abandoned")
    assert len(known.running) == len(known._by_id) == 16_384
    recording.tool("t")
    assert len(recording.spans) == 1


def test_a_forgotten_processor_is_let_go(settings: Settings) -> None:
    alone = Recording(settings)
    watched = weakref.ref(alone.processor)
    alone.close()
    del alone
    gc.collect()
    assert watched() is None


def test_spans_of_equal_ids_that_run_at_once_are_both_recorded(recording: Recording, settings: Settings) -> None:
    state = random.getstate()
    try:
        random.seed(7)
        first = recording.start("execute_tool", attributes={semconv.GEN_AI_TOOL_NAME: "first"})
        random.seed(7)
        second = recording.start("execute_tool", attributes={semconv.GEN_AI_TOOL_NAME: "second"})
    finally:
        random.setstate(state)
    assert first.span.get_span_context() == second.span.get_span_context()
    first.end()
    second.end()
    assert [(row["record"], row["tool"]) for row in journal_rows(settings)[1:]] == [
        ("start", "first"),
        ("start", "second"),
        ("end", "first"),
        ("end", "second"),
    ]


def test_threads_get_each_number_of_a_turn_once(recording: Recording, settings: Settings) -> None:
    def work() -> None:
        for _ in range(50):
            recording.tool("t")

    with recording.agent("q"):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    numbers = [row["commit_sequence"] for row in journal_rows(settings) if "commit_sequence" in row]
    assert sorted(numbers) == list(range(200))


def test_a_forked_child_keeps_the_turn_and_does_not_end_the_parents_spans(settings: Settings) -> None:
    code = """
import os
from pathlib import Path
from recording import Recording
from turnlog.settings import Settings
recording = Recording(Settings(directory=Path(os.environ["TURNLOG_DIR"])))
with recording.agent("q", conversation="c"):
    running = recording.start("execute_tool")
    with running.current():
        child = os.fork()
        recording.tool("child" if child == 0 else "parent")
    running.end()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
"""
    run_code(code, settings.directory, PYTHONPATH=str(ROOT / "tests"))
    rows = [row for row in journal_rows(settings) if row["record"] in ("start", "end")]
    assert {row["session_id"] for row in rows} == {"c"}
    assert len({row["turn_id"] for row in rows}) == 1
    ends = sorted((row["name"], row.get("tool", "")) for row in rows if row["record"] == "end")
    assert ends == [
        ("execute_tool", ""),
        ("execute_tool", "child"),
        ("execute_tool", "parent"),
        ("invoke_agent", ""),
    ]
    assert len(list(settings.journals.iterdir())) == 2


def test_a_model_call_that_a_library_reports_once_more_afterwards_is_no_second_commit(recording: Recording) -> None:
    recording.chat([user("before")], [assistant("x")], **{semconv.GEN_AI_RESPONSE_ID: "r0"})
    chat = recording.chat([user("hi")], [assistant("ho")], **{semconv.GEN_AI_RESPONSE_ID: "r1"})
    for response_id in ("r1", "r2"):
        late = recording.tracer.start_span("litellm_request")
        late.set_attributes({semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_RESPONSE_ID: response_id})
        late.end()
    told = recording.spans[-2]
    assert (session_of(told), turn_of(told)) == (session_of(chat), turn_of(chat))
    committed = [span for span in recording.spans if semconv.COMMIT_KIND in span.attributes]
    found = [(span.name, span.attributes[semconv.GEN_AI_RESPONSE_ID]) for span in committed]
    assert found == [("chat", "r0"), ("chat", "r1"), ("litellm_request", "r2")]


@pytest.fixture
def awaited_scope() -> Iterator[str]:
    awaited["peer"] += 1
    yield "peer"
    awaited["peer"] -= 1
    claim_started()


def chat_of(recording: Recording, scope: str, **attributes: Any) -> Any:
    return recording.provider.get_tracer(scope).start_span("chat", attributes={"gen_ai.operation.name": "chat", **attributes})


def told(recording: Recording) -> list[tuple[str, str]]:
    """Scope and outcome of each commit."""
    return [
        (span.instrumentation_scope.name, str(span.attributes[semconv.COMMIT_OUTCOME]))
        for span in recording.spans
        if span.instrumentation_scope and span.attributes and semconv.COMMIT_KIND in span.attributes
    ]


def test_a_span_of_an_awaited_scope_is_no_commit_until_it_is_adopted(recording: Recording, awaited_scope: str) -> None:
    with session("s"):
        chat_of(recording, awaited_scope).end()
        adoptee = chat_of(recording, awaited_scope)
        assert adopt(adoptee, {semconv.GEN_AI_REQUEST_MODEL: "m"}, {semconv.GEN_AI_INPUT_MESSAGES: [user("q")]})
        assert not adopt(adoptee, {}, {})
        adoptee.end()
    left, taken = recording.spans
    assert told(recording) == [("peer", "ok")]
    assert (session_of(left), session_of(taken)) == ("s", "s")
    assert (taken.attributes or {})[semconv.GEN_AI_REQUEST_MODEL] == "m"


def test_a_span_that_accompanies_an_adopted_one_is_where_that_is(recording: Recording, awaited_scope: str) -> None:
    first, second = chat_of(recording, awaited_scope), chat_of(recording, awaited_scope)
    assert [span.context.span_id for span in claim_started()] == [second.context.span_id, first.context.span_id]
    assert adopt(second, {}, {semconv.GEN_AI_INPUT_MESSAGES: [user("q")]})
    accompany(first, second)
    first.end()
    second.end()
    assert [(session_of(span), turn_of(span)) for span in recording.spans] == [(session_of(second), turn_of(second))] * 2
    assert told(recording) == [("peer", "ok")]
    assert claim_started() == []


def test_how_a_call_failed_is_told_in_our_words_whatever_its_span_says(recording: Recording, awaited_scope: str) -> None:
    for message in ("no answer", ""):
        span = chat_of(recording, awaited_scope)
        content = {semconv.ERROR_TYPE: "TimeoutError", semconv.EXCEPTION_MESSAGE: message}
        assert adopt(span, {}, content)
        span.set_status(Status(StatusCode.ERROR, "TimeoutError()Traceback (most recent call last): ..."))
        span.end()
    ended = [row for row in journal_rows(recording.settings) if row["record"] == "end"]
    assert [(row["error_type"], row.get("status_message", "")) for row in ended] == [
        ("TimeoutError", "no answer"),
        ("TimeoutError", ""),
    ]
    assert {span.status.description[:14] for span in recording.spans} == {"TimeoutError()"}


def test_an_agent_that_passes_on_a_failure_adds_no_commit_also_when_the_model_had_begun_to_answer(recording: Recording) -> None:
    with recording.agent("Go.", "s") as agent:
        chat = recording.start("chat", {semconv.GEN_AI_INPUT_MESSAGES: [user("Go.")]})
        chat.set(content={semconv.GEN_AI_OUTPUT_MESSAGES: [assistant("Hel")]})
        for operation in (chat, agent):
            operation.fail(ConnectionError("gone"))
            operation.end()
    committed = [span.attributes for span in recording.spans if semconv.COMMIT_KIND in (span.attributes or {})]
    assert [(one[semconv.COMMIT_KIND], one[semconv.COMMIT_OUTPUT_SUMMARY]) for one in committed] == [("decision", "Hel")]


def test_a_span_of_the_applications_own_around_a_call_of_ours_makes_way(recording: Recording) -> None:
    with trace.use_span(chat_of(recording, "app"), end_on_exit=True):
        recording.chat([user("q")], [assistant("a")])
    assert told(recording) == [("test", "ok")]
    assert len({turn_of(span) for span in recording.spans}) == 1


def test_a_foreign_span_of_the_call_inside_ours_is_no_second_commit(recording: Recording) -> None:
    operation = recording.start("execute_tool", {}, {semconv.GEN_AI_TOOL_NAME: "t"})
    tool = {semconv.GEN_AI_OPERATION_NAME: "execute_tool", semconv.GEN_AI_TOOL_NAME: "t"}
    with operation.current():
        recording.provider.get_tracer("app").start_span("same", attributes=tool).end()
        recording.provider.get_tracer("app").start_span("other", attributes={**tool, semconv.GEN_AI_TOOL_NAME: "u"}).end()
    operation.end()
    assert told(recording) == [("app", "ok"), ("test", "ok")]


def test_a_full_span_keeps_its_session_and_turn(settings: Settings, make_recording: MakeRecording) -> None:
    recording = make_recording()
    provider = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(max_span_attributes=12))
    provider.add_span_processor(recording.processor)
    with session("s"):
        operation = Operation.start(
            "execute_tool t",
            {semconv.GEN_AI_OPERATION_NAME: "execute_tool", semconv.GEN_AI_TOOL_NAME: "t"},
            {},
            tracer=provider.get_tracer("test"),
        )
        operation.set({f"other.{number}": number for number in range(20)})
        operation.end()
    (row,) = [row for row in journal_rows(settings) if row["record"] == "end"]
    assert (row["session_id"], bool(row["turn_id"])) == ("s", True)


def test_state_pushes_nothing_off_a_span_that_another_instrumentation_fills(
    recording: Recording, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(awaited, "peer", 1)
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(max_span_attributes=12))
    provider.add_span_processor(recording.processor)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    theirs = {f"their.{number}": number for number in range(11)}
    span = provider.get_tracer("peer").start_span("chat", attributes=dict(list(theirs.items())[:6]))
    said: dict[str, Any] = {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_REQUEST_MODEL: "m"}
    with session("s"):
        assert adopt(span, said, {semconv.GEN_AI_INPUT_MESSAGES: [user("q")]})
    span.set_attributes(dict(list(theirs.items())[6:]))
    said[semconv.GEN_AI_USAGE_INPUT_TOKENS] = 7
    span.end()
    (exported,) = exporter.get_finished_spans()
    assert dict(exported.attributes or {}) == {**theirs, semconv.SESSION_ID: "s"}
    assert exported.dropped_attributes > 0
    start, end = (row for row in journal_rows(settings) if row["record"] in ("start", "end"))
    assert (start["session_id"], start["operation"], start["request_model"]) == ("s", "chat", "m")
    assert (end["session_id"], end["turn_id"], end["commit_kind"], end["input_tokens"]) == (
        "s",
        start["turn_id"],
        "decision",
        7,
    )


def unsampled(recording: Recording, sampler: Sampler = ALWAYS_OFF) -> tuple[TracerProvider, InMemorySpanExporter]:
    provider, exporter = TracerProvider(sampler=sampler, shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(recording.processor)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    recording.tracer = recording.processor.conversations.tracer = provider.get_tracer("test")
    return provider, exporter


def test_what_the_sampler_leaves_out_is_state_all_the_same_and_exported_nowhere(
    recording: Recording, settings: Settings
) -> None:
    provider, exporter = unsampled(recording)
    with session("s"), recording.agent("q") as agent:
        assert not agent.span.get_span_context().trace_flags.sampled
        with provider.get_tracer("app").start_as_current_span("between") as between:
            assert not between.is_recording()
            recording.tool("t", {"q": 1}, "r")
    rows = [row for row in journal_rows(settings) if row["record"] == "end"]
    assert [(row["name"], row["session_id"], row["turn_id"]) for row in rows] == [
        ("execute_tool", "s", turn_of(agent)),
        ("invoke_agent", "s", turn_of(agent)),
    ]
    assert {row["trace_id"] for row in rows} == {format_trace_id(agent.span.get_span_context().trace_id)}
    assert rows[0]["parent_id"] == rows[1]["span_id"]
    assert exporter.get_finished_spans() == ()


def test_what_the_sampler_takes_is_exported_as_ever(recording: Recording) -> None:
    _, exporter = unsampled(recording, ALWAYS_ON)
    recording.tool("t")
    assert [span.name for span in exporter.get_finished_spans()] == ["execute_tool"]


def test_a_provider_that_is_not_ours_gets_no_span_in_place_of_what_it_refuses(recording: Recording, settings: Settings) -> None:
    recording.tracer = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False).get_tracer("test")
    assert not recording.tool("t").span.is_recording()
    assert recorded(settings) == []
