"""collector-config.yaml in the real collector: what each of its ends gets, and what it does not."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id

from programs import ROOT, commits
from stack.agent import PRIVATE, SECRET
from stack.parts import Collector, Serve, Sink, attributes, eventually, get
from stack.sessions import SERVICE, Stack, play
from turnlog import foreign, queries, semconv
from turnlog.settings import Settings

CONTENT = (
    semconv.GEN_AI_INPUT_MESSAGES,
    semconv.GEN_AI_OUTPUT_MESSAGES,
    semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
    semconv.GEN_AI_TOOL_CALL_ARGUMENTS,
    semconv.GEN_AI_TOOL_CALL_RESULT,
    semconv.TURN_INPUT_SUMMARY,
    semconv.TURN_OUTPUT_SUMMARY,
    semconv.COMMIT_INPUT_SUMMARY,
    semconv.COMMIT_OUTPUT_SUMMARY,
    semconv.COMMIT_DELTA,
    semconv.CONTEXT_CHANGES,
    semconv.DECISION_REASON_TEXT,
)
FOREIGN_CONTENT = (
    "input.value",
    "output.value",
    "llm.input_messages.0.message.content",
    "llm.output_messages.0.message.content",
    "llm.prompts.0.prompt.text",
    "llm.invocation_parameters",
    "llm.tools.0.tool.json_schema",
    "tool.parameters",
    "retrieval.documents.0.document.content",
    "embedding.embeddings.0.embedding.text",
    "gen_ai.prompt.0.content",
    "gen_ai.completion.0.content",
    "gen_ai.tool.definitions",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "mcp.response.value",
)
NATIVE_CONTENT = (
    "ai.prompt",
    "ai.prompt.messages",
    "ai.response.text",
    "ai.response.toolCalls",
    "ai.toolCall.args",
    "ai.toolCall.result",
    "gcp.vertex.agent.llm_request",
    "pydantic_ai.all_messages",
    "final_result",
    "tool_arguments",
    "user_prompt",
    "response.model_output",
    "new_context",
    "system_prompt",
    "tool_input",
    "full_command",
)
KEPT = (
    "session.id",
    "gen_ai.prompt.name",
    "llm.model_name",
    "tool.name",
    "traceloop.entity.name",
    "ai.response.model",
    "ai.toolCall.name",
    "pydantic_ai.new_message_index",
    "prompt.id",
    "tool_name",
    "message_bus",
)


def test_the_configuration_is_valid(otelcol: Path) -> None:
    done = subprocess.run(
        [otelcol, "validate", "--config", ROOT / "collector-config.yaml"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_turnlog_gets_every_span_of_every_session(stack: Stack) -> None:
    for session in (stack.kept, stack.quiet, stack.failing):
        arrived = [span.span_id.hex() for span in stack.turnlog.of_session(session)]
        assert sorted(arrived) == stored(stack.recorded, session)


def test_turnlog_gets_content(stack: Stack) -> None:
    found = {key for span in stack.turnlog.spans for key, value in attributes(span).items() if PRIVATE in value}
    assert found == set(CONTENT) - {semconv.COMMIT_DELTA, semconv.GEN_AI_SYSTEM_INSTRUCTIONS}


def test_the_other_backends_get_no_content(stack: Stack) -> None:
    assert PRIVATE not in str(stack.tempo.spans)
    assert PRIVATE not in str(stack.jaeger.traces(SERVICE, {}))


def test_a_huge_span_takes_nothing_with_it(stack: Stack) -> None:
    with sending(stack.collector) as tracer:
        for name, size in (("before", 10), ("huge", 6_000_000), ("after", 10)):
            tracer.start_span(name, attributes={"big": "x" * size, "session.id": stack.spare}).end()
    for sink, size in ((stack.turnlog, 6_000_000), (stack.tempo, 4096)):
        arrived = eventually(lambda sink=sink: named(sink, "before", "huge", "after"), what="three spans")
        assert [len(attributes(span)["big"]) for span in arrived] == [10, size, 10]


def test_the_other_backends_get_no_content_from_any_instrumentation(stack: Stack) -> None:
    assert [key for key in FOREIGN_CONTENT if not foreign.is_content(key)] == []
    with sending(stack.collector) as tracer, tracer.start_as_current_span("foreign") as span:
        span.set_attributes(dict.fromkeys((*CONTENT, *FOREIGN_CONTENT, *NATIVE_CONTENT, *KEPT), stack.spare))
        span.add_event("gen_ai.user.message", {"content": PRIVATE, "gen_ai.system": "openai"})
    (arrived,) = eventually(lambda: named(stack.tempo, "foreign"), what="the foreign span")
    assert sorted(attributes(arrived)) == sorted(KEPT)
    assert [pair.key for pair in arrived.events[0].attributes] == ["gen_ai.system"]


def test_secrets_are_masked_at_every_end(stack: Stack) -> None:
    for spans in (stack.turnlog.spans, stack.tempo.spans, stack.jaeger.traces(SERVICE, {})):
        assert "may not publish" in str(spans)
        assert SECRET not in str(spans)
    span = next(span for span in stack.turnlog.of_session(stack.kept) if span.name == "POST /list")
    assert {key: value for key, value in attributes(span).items() if not key.startswith(("turnlog.", "gen_ai."))} == {
        "http.request.header.authorization": "****",
        "shop.note": "uses ****",
        "shop.notes": '["two","uses ****"]',
        "redaction.masked.count": "",
        "session.id": stack.kept,
    }
    assert span.status.message == "PermissionError: **** may not publish"


def test_only_the_copies_are_sampled(stack: Stack) -> None:
    for session in (stack.kept, stack.quiet, stack.failing):
        copied = _traces(stack.tempo.of_session(session))
        assert copied == {trace["traceID"] for trace in stack.jaeger.traces(SERVICE, {"session.id": session})}
        whole = stack.turnlog.of_session(session)
        failed = _traces([span for span in whole if span.status.code == span.status.STATUS_CODE_ERROR])
        assert copied == {stack.kept: _traces(whole), stack.quiet: set(), stack.failing: failed}[session]


def test_span_metrics_have_few_dimensions(stack: Stack) -> None:
    def read() -> list[dict[str, str]]:
        lines = re.findall(r"^traces_span_metrics_calls_total\{(.*)\} (\S+)", get(stack.collector.span_metrics), re.MULTILINE)
        # A series begins with a zero, so that its first calls show as an increase.
        return [{**dict(re.findall(r'(\w+)="(.*?)"', labels)), "calls": calls} for labels, calls in lines if float(calls)]

    series = eventually(read, what="span metrics")
    tool = [found for found in series if found.get("gen_ai_tool_name") == "publish"]
    assert [
        (found["error_type"], found["turnlog_commit_kind"], found["turnlog_commit_outcome"], found["calls"]) for found in tool
    ] == [("PermissionError", "tool", "error", "2")]
    assert {label for found in series for label in found if not label.startswith(("otel_scope", "calls"))} == {
        "collector_instance_id",
        "error_type",
        "gen_ai_agent_name",
        "gen_ai_operation_name",
        "gen_ai_provider_name",
        "gen_ai_request_model",
        "gen_ai_tool_name",
        "job",
        "service_name",
        "span_kind",
        "span_name",
        "status_code",
        "turnlog_commit_kind",
        "turnlog_commit_outcome",
    }


def test_spans_wait_for_turnlog_on_disk(otelcol: Path, tmp_path: Path) -> None:
    serve = Serve(tmp_path)
    collector = Collector(otelcol, tmp_path, turnlog=serve.endpoint)
    with collector.running():
        play("waiting", collector, tmp_path / "recorded")
        collector.kill()
        collector.start()
        with serve.running():
            made = stored(tmp_path / "recorded", "waiting")
            eventually(lambda: len(stored(serve.directory, "waiting")) >= len(made), what="what waited")
    assert stored(serve.directory, "waiting") == made
    assert commits(serve.directory, "waiting") == commits(tmp_path / "recorded", "waiting")


def test_what_was_acknowledged_is_stored_once_whoever_is_killed(otelcol: Path, tmp_path: Path) -> None:
    serve = Serve(tmp_path)
    collector = Collector(otelcol, tmp_path, turnlog=serve.endpoint)
    exporter = OTLPSpanExporter(f"{collector.endpoint}/v1/traces", timeout=60)
    acknowledged: list[str] = []

    def send() -> None:
        memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(memory))
        tracer = provider.get_tracer("other")
        for batch in range(60):
            for number in range(50):
                named = {semconv.SESSION_ID: "killed", semconv.GEN_AI_TOOL_NAME: f"tool-{batch}-{number}"}
                tracer.start_span("execute_tool", attributes={semconv.GEN_AI_OPERATION_NAME: "execute_tool", **named}).end()
            spans = memory.get_finished_spans()
            memory.clear()
            if exporter.export(spans) is SpanExportResult.SUCCESS:
                acknowledged.extend(format_span_id(span.context.span_id) for span in spans)
            time.sleep(0.05)

    with collector.running(), serve.running(), ThreadPoolExecutor(1) as pool:
        sender = pool.submit(send)
        for victim in (serve, collector, serve, collector):
            enough = len(acknowledged) + 500
            eventually(lambda enough=enough: sender.done() or len(acknowledged) >= enough, what="some batches")
            victim.kill()
            victim.start()
        sender.result()
        eventually(lambda: set(stored(serve.directory, "killed")) >= set(acknowledged), what="all that was acknowledged")
    found = stored(serve.directory, "killed")
    assert len(found) == len(set(found))
    assert len(acknowledged) == 3000


@contextmanager
def sending(collector: Collector) -> Iterator[trace.Tracer]:
    """An application of its own, whose spans go to the collector in one batch."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector.endpoint}/v1/traces")))
    yield provider.get_tracer("other")
    provider.shutdown()


def named(sink: Sink, *names: str) -> list[Span]:
    """The spans of these names, in this order, once all are there."""
    found = {span.name: span for span in list(sink.spans)}
    return [found[name] for name in names] if found.keys() >= set(names) else []


def stored(directory: Path, session: str) -> list[str]:
    """The ids of a session's spans in a store."""
    with queries.reading(Settings(directory=directory)) as db:
        found = db.execute(
            "select s.span_id from raw.spans as s join raw.sessions as x using (session_key) where x.session_id = ?", [session]
        )
        return sorted(span for (span,) in found.fetchall())


def _traces(spans: list[Span]) -> set[str]:
    return {span.trace_id.hex() for span in spans}
