"""Senders of every kind reach the receiver; whoever is not one gets the right answer and changes nothing."""

from __future__ import annotations

import gzip
import http.client
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from email.message import Message
from typing import Any, NamedTuple

import orjson
import pytest
from google.protobuf.json_format import MessageToJson
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from recording import journal_rows
from turnlog import queries
from turnlog.intake import Intake
from turnlog.otlp import JSON, PROTOBUF
from turnlog.receiver import Receiver, guard_for
from turnlog.receiver import server as serving
from turnlog.receiver.guard import NeedsToken
from turnlog.receiver.refusal import Refusal
from turnlog.settings import Settings
from turnlog.store.loader import load

TOKEN = "a-token-of-24-characters"
_TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}


class Kept:
    """What a real intake has kept of what was sent."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.intake = Intake(settings)

    @property
    def spans(self) -> list[dict[str, Any]]:
        self.intake.settle(everything=True)
        return [row for row in journal_rows(self.settings) if row["record"] == "end"]

    @property
    def names(self) -> list[str]:
        return [str(row["name"]) for row in self.spans]


class Answer(NamedTuple):
    status: int
    headers: Message
    body: bytes

    @property
    def message(self) -> str:
        """What a Status body says, in whichever form it came."""
        if self.headers["Content-Type"] == PROTOBUF:
            return str(Status.FromString(self.body).message)
        return str(orjson.loads(self.body)["message"])


@pytest.fixture
def kept(settings: Settings) -> Iterator[Kept]:
    kept = Kept(settings)
    yield kept
    kept.intake.close()


@pytest.fixture
def receiver(kept: Kept) -> Iterator[Receiver]:
    yield from started(Receiver(kept.intake, guard_for("127.0.0.1")))


@pytest.fixture
def guarded(kept: Kept) -> Iterator[Receiver]:
    yield from started(Receiver(kept.intake, guard_for("127.0.0.1", TOKEN, ["turnlog.example"])))


def started(receiver: Receiver) -> Iterator[Receiver]:
    receiver.start()
    yield receiver
    receiver.stop()


def connect(receiver: Receiver) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", receiver.server_port, timeout=60)


def ask(receiver: Receiver, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    """Header names are written with _ for -."""
    with closing(connect(receiver)) as connection:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())


def send(receiver: Receiver, body: bytes, content_type: str = PROTOBUF, **headers: str) -> Answer:
    return ask(receiver, "POST", "/v1/traces", body, **{"Content_Type": content_type, **headers})


def request(*names: str, **attributes: str) -> ExportTraceServiceRequest:
    sent = ExportTraceServiceRequest()
    spans = sent.resource_spans.add().scope_spans.add().spans
    for name in names:
        span = spans.add(trace_id=os.urandom(16), span_id=os.urandom(8), name=name, start_time_unix_nano=time.time_ns())
        span.end_time_unix_nano = span.start_time_unix_nano + 1_000_000
        for key, value in (_TOOL | attributes).items():
            span.attributes.add(key=key).value.string_value = value
    return sent


def body_of(*names: str, **attributes: str) -> bytes:
    return request(*names, **attributes).SerializeToString()


def finished_spans(*names: str) -> tuple[ReadableSpan, ...]:
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    for name in names:
        provider.get_tracer("test").start_span(name, attributes=_TOOL).end()
    return memory.get_finished_spans()


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_a_real_exporter_is_served_again_and_again(receiver: Receiver, kept: Kept, compression: Compression) -> None:
    exporter = OTLPSpanExporter(f"{receiver.url}/v1/traces", compression=compression)
    with closing_exporter(exporter):
        assert exporter.export(finished_spans("first", "second")) is SpanExportResult.SUCCESS
        assert exporter.export(finished_spans("third")) is SpanExportResult.SUCCESS
    assert kept.names == ["first", "second", "third"]
    assert (receiver.counts.requests, receiver.counts.spans) == (2, 3)


def closing_exporter(exporter: OTLPSpanExporter) -> ExitStack:
    stack = ExitStack()
    stack.callback(exporter.shutdown)
    return stack


def test_json_is_answered_in_json_and_protobuf_in_protobuf(receiver: Receiver, kept: Kept) -> None:
    binary = send(receiver, body_of("binary"))
    text = send(receiver, MessageToJson(request("text")).encode(), f"{JSON}; charset=utf-8")
    assert (binary.status, binary.headers["Content-Type"], binary.body) == (200, PROTOBUF, b"")
    assert (text.status, text.headers["Content-Type"], text.body) == (200, JSON, b"{}")
    assert kept.names == ["binary", "text"]


def test_a_connection_serves_many_requests(receiver: Receiver, kept: Kept) -> None:
    with closing(connect(receiver)) as connection:
        for name in ("one", "two", "three"):
            connection.request("POST", "/v1/traces", body_of(name), {"Content-Type": PROTOBUF})
            response = connection.getresponse()
            response.read()
            assert not response.will_close
    assert kept.names == ["one", "two", "three"]


def test_a_chunked_body_is_read(receiver: Receiver, kept: Kept) -> None:
    body = gzip.compress(body_of("chunked"))
    pieces = iter([body[:10], body[10:11], body[11:]])
    assert ask(receiver, "POST", "/v1/traces", pieces, Content_Type=PROTOBUF, Content_Encoding="gzip").status == 200
    assert kept.names == ["chunked"]


def test_a_sender_that_waits_to_be_asked_for_its_body_is_asked(receiver: Receiver, kept: Kept) -> None:
    body = body_of("asked for")
    with socket.create_connection(receiver.server_address[:2], timeout=60) as connection:  # type: ignore[arg-type]
        head = f"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: {PROTOBUF}\r\nContent-Length: {len(body)}\r\n"
        connection.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert kept.names == ["asked for"]


def test_many_senders_at_once_are_all_served(receiver: Receiver, kept: Kept) -> None:
    def sender(number: int) -> None:
        exporter = OTLPSpanExporter(f"{receiver.url}/v1/traces")
        with closing_exporter(exporter):
            for turn in range(5):
                assert exporter.export(finished_spans(f"{number} {turn}")) is SpanExportResult.SUCCESS

    threads = [threading.Thread(target=sender, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kept.names) == sorted(f"{number} {turn}" for number in range(10) for turn in range(5))


def test_what_cannot_be_kept_is_a_partial_success(receiver: Receiver, kept: Kept) -> None:
    sent = request("good", "bad")
    sent.resource_spans[0].scope_spans[0].spans[1].trace_id = b"short"
    partial = ExportTraceServiceResponse.FromString(send(receiver, sent.SerializeToString()).body).partial_success
    assert (partial.rejected_spans, partial.error_message) == (1, "the trace id is not 16 bytes, or zero (1)")
    assert kept.names == ["good"]


def test_a_cut_value_is_a_warning(receiver: Receiver, kept: Kept) -> None:
    answer = send(receiver, gzip.compress(body_of("long", it="x" * 2_000_000)), Content_Encoding="gzip")
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (partial.rejected_spans, partial.error_message) == (0, "1 values were cut: too long or too deep")
    assert kept.names == ["long"]


def test_a_batch_that_is_sent_again_is_kept_once(receiver: Receiver, kept: Kept) -> None:
    body = body_of("once", "twice")
    assert [send(receiver, body).status for _ in range(3)] == [200, 200, 200]
    assert sorted(kept.names) == ["once", "twice"]


def test_what_could_not_be_written_is_asked_for_again(receiver: Receiver, kept: Kept) -> None:
    in_the_way = kept.settings.directory / "inbox"
    in_the_way.write_text("")
    body = body_of("it")
    answer = send(receiver, body)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert answer.message == "the inbox cannot be written. Make room in the store's directory."
    in_the_way.unlink()
    until(lambda: send(receiver, body).status == 200)
    assert kept.names == ["it"]


def test_metrics_and_logs_are_answered_and_not_kept(receiver: Receiver, kept: Kept) -> None:
    for path in ("/v1/metrics", "/v1/logs", "/v1/logs"):
        answer = ask(receiver, "POST", path, b"\x0a\x00", Content_Type=PROTOBUF)
        assert (answer.status, answer.headers["Content-Type"], answer.body) == (200, PROTOBUF, b"")
    assert (receiver.counts.metrics, receiver.counts.logs, kept.spans) == (1, 2, [])


def test_health_is_answered_without_a_token(guarded: Receiver) -> None:
    answer = ask(guarded, "GET", "/healthz")
    assert (answer.status, answer.body) == (200, b'{"status":"ok"}')


def bomb() -> bytes:
    return gzip.compress(bytes(64 * 1024 * 1024))


def flood() -> bytes:
    """Twenty thousand spans of no content."""
    spans = b"\x12\x00" * 20_000
    scope = b"\x12" + _varint(len(spans)) + spans
    return b"\x0a" + _varint(len(scope)) + scope


def deep() -> bytes:
    value = b"\x0a\x01x"
    for _ in range(3_000):
        inner = b"\x0a" + _varint(len(value)) + value
        value = b"\x2a" + _varint(len(inner)) + inner
    pair = b"\x0a\x01k\x12" + _varint(len(value)) + value
    for tag in (b"\x4a", b"\x12", b"\x12", b"\x0a"):
        pair = tag + _varint(len(pair)) + pair
    return pair


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


ZIPPED = {"Content_Encoding": "gzip"}


HOSTILE: list[tuple[Callable[[], bytes], str, dict[str, str], int, str]] = [
    (bomb, PROTOBUF, ZIPPED, 413, "the body has more than 16 MiB uncompressed."),
    (lambda: os.urandom(5 * 1024 * 1024), PROTOBUF, ZIPPED, 413, "the body has more than 4 MiB compressed."),
    (lambda: bytes(17 * 1024 * 1024), PROTOBUF, {}, 413, "the body has more than 16 MiB uncompressed."),
    (flood, PROTOBUF, {}, 413, "more than 10,000 spans in one request."),
    (lambda: body_of("it")[:-3], PROTOBUF, {}, 400, "the body is no OTLP trace request in protobuf:"),
    (lambda: body_of("name").replace(b"name", b"\xff\xfe\xfd\xfc"), PROTOBUF, {}, 400, "the body is no OTLP trace request"),
    (lambda: b'{"resourceSpans": [{"x": "\xff"}]}', JSON, {}, 400, "the body is no JSON:"),
    (lambda: b"[" * 50_000, JSON, {}, 400, "the body is no JSON:"),
    (lambda: b'{"resourceSpans": 5}', JSON, {}, 400, "the body is no OTLP trace request in JSON:"),
    (deep, PROTOBUF, {}, 400, "the body is no OTLP trace request in protobuf:"),
    (lambda: body_of("it"), PROTOBUF, ZIPPED, 400, "the body is no gzip:"),
    (lambda: gzip.compress(body_of("it"))[:-9], PROTOBUF, ZIPPED, 400, "the body is no single, whole gzip member"),
    (lambda: gzip.compress(b"") * 2, PROTOBUF, ZIPPED, 400, "the body is no single, whole gzip member"),
    (lambda: body_of("it"), PROTOBUF, {"Content_Encoding": "br"}, 415, "the Content-Encoding br is not read here"),
    (lambda: body_of("it"), PROTOBUF, {"Content_Encoding": "gzip, gzip"}, 415, "the Content-Encoding gzip, gzip"),
    (lambda: body_of("it"), "text/plain", {}, 415, "the Content-Type is neither"),
    (lambda: body_of("it"), "application/x-www-form-urlencoded", {}, 415, "the Content-Type is neither"),
    (lambda: body_of("it"), PROTOBUF, {"Host": "evil.example"}, 403, "--allow-host evil.example"),
    (lambda: body_of("it"), PROTOBUF, {"Host": "127.0.0.1.evil.example:4338"}, 403, "--allow-host 127.0.0.1.evil.example"),
    (
        lambda: body_of("it"),
        PROTOBUF,
        {"Origin": "https://evil.example"},
        403,
        "Send from a server, or through a collector",
    ),
    (lambda: body_of("it"), PROTOBUF, {"Origin": "null"}, 403, "the Origin header names null"),
    (lambda: body_of("it"), PROTOBUF, {"Content_Length": "-1"}, 400, "the Content-Length is no number"),
    (lambda: body_of("it"), PROTOBUF, {"Content_Length": "9" * 30}, 413, "the body has more than 16 MiB"),
    (lambda: body_of("it"), PROTOBUF, {"Transfer_Encoding": "gzip"}, 501, "only chunked is read here"),
]


@pytest.mark.parametrize(("body", "content_type", "headers", "status", "message"), HOSTILE)
def test_a_hostile_body_gets_its_status_and_changes_nothing(
    receiver: Receiver, kept: Kept, body: Any, content_type: str, headers: dict[str, str], status: int, message: str
) -> None:
    answer = send(receiver, body(), content_type, **headers)
    assert answer.status == status
    assert message in answer.message
    assert answer.headers["Content-Type"] == (PROTOBUF if content_type == PROTOBUF else JSON)
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert (kept.spans, receiver.counts.spans, receiver.counts.refused) == ([], 0, 1)
    assert send(receiver, body_of("afterwards")).status == 200


def test_hostile_bodies_leave_the_store_as_it_was(receiver: Receiver, kept: Kept) -> None:
    assert send(receiver, body_of("there before")).status == 200
    before = rows_of(kept)
    assert before["spans"] == 1
    for body, content_type, headers, status, _ in HOSTILE:
        assert send(receiver, body(), content_type, **headers).status == status
    assert send(receiver, body_of("huge", it="x" * 10_000_000)).status == 200
    assert rows_of(kept) == before


def rows_of(kept: Kept) -> dict[str, int]:
    """How many rows each table has once everything is loaded."""
    kept.intake.settle(everything=True)
    load(kept.settings, patience=5)
    with queries.reading(kept.settings) as db:
        tables = [name for (name,) in db.sql("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()]
        return {name: db.sql(f"from raw.{name}").shape[0] for name in tables}


@pytest.mark.parametrize("headers", [{}, ZIPPED], ids=["plain", "gzip"])
def test_a_span_with_an_attribute_of_ten_megabytes_is_rejected(receiver: Receiver, kept: Kept, headers: dict[str, str]) -> None:
    body = body_of("huge", it="x" * 10_000_000)
    answer = send(receiver, gzip.compress(body) if headers else body, **headers)
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, partial.rejected_spans) == (200, 1)
    assert partial.error_message == "an attribute is longer than 4 MiB (1)"
    assert kept.spans == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/traces", 405),
        ("PUT", "/v1/traces", 405),
        ("OPTIONS", "/v1/traces", 405),
        ("HEAD", "/v1/traces", 405),
        ("POST", "/healthz", 405),
        ("BREW", "/v1/traces", 501),
        ("POST", "/v1/trace", 404),
        ("POST", "/", 404),
        ("GET", "/../etc/passwd", 404),
    ],
)
def test_other_methods_and_paths_are_refused(receiver: Receiver, method: str, path: str, status: int) -> None:
    answer = ask(receiver, method, path, Origin=f"http://127.0.0.1:{receiver.server_port}")
    assert answer.status == status
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"bearer  {TOKEN}"])
def test_without_the_token_nothing_is_taken(guarded: Receiver, kept: Kept, given: str) -> None:
    answer = send(guarded, body_of("it"), **({"Authorization": given} if given else {}))
    assert (answer.status, answer.headers["WWW-Authenticate"], kept.spans) == (401, "Bearer", [])
    assert "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN" in answer.message


def test_with_the_token_and_an_allowed_name_a_batch_is_taken(guarded: Receiver, kept: Kept) -> None:
    assert send(guarded, body_of("it"), Authorization=f"Bearer {TOKEN}", Host="turnlog.example:4338").status == 200
    assert kept.names == ["it"]


def test_an_exporter_takes_its_token_from_the_environment(
    guarded: Receiver, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization=Bearer%20{TOKEN}")
    exporter = OTLPSpanExporter(f"{guarded.url}/v1/traces")
    with closing_exporter(exporter):
        assert exporter.export(finished_spans("it")) is SpanExportResult.SUCCESS
    assert kept.names == ["it"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "turnlog.example", ""])
def test_no_server_that_others_can_reach_starts_without_a_token(host: str) -> None:
    with pytest.raises(NeedsToken, match="--token-file"):
        guard_for(host)
    assert guard_for(host, TOKEN).token == TOKEN


@pytest.mark.parametrize("token", ["short", "with a space in it", "ümlaut-ümlaut-ümlaut", "line\nline-line-line"])
def test_a_poor_token_is_refused(token: str) -> None:
    with pytest.raises(NeedsToken, match="at least 16 printable ASCII characters"):
        guard_for("127.0.0.1", token)


@pytest.mark.parametrize(
    ("bound", "host", "allowed"),
    [
        ("127.0.0.1", "127.0.0.1:4338", True),
        ("127.0.0.1", "LOCALHOST", True),
        ("::1", "[::1]:4338", True),
        ("::1", "[::1]", True),
        ("192.168.1.5", "192.168.1.5:4338", True),
        ("fd00::5", "[fd00::5]:4338", True),
        ("0.0.0.0", socket.gethostname(), True),
        ("0.0.0.0", "192.168.1.5:4338", False),
        ("127.0.0.1", "::1", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "", False),
    ],
)
def test_a_server_goes_by_the_names_it_was_given(bound: str, host: str, allowed: bool) -> None:
    headers = Message()
    headers["Host"] = host
    try:
        guard_for(bound, TOKEN).check_source(headers)
    except Exception as error:
        assert not allowed
        assert f"--allow-host {host.partition(':')[0] if host.count(':') == 1 else ''}" in str(error)
    else:
        assert allowed


@pytest.mark.parametrize("host", ["0.0.0.0:4338", "[::]:4338"])
def test_who_sends_to_every_address_is_told_a_name(host: str) -> None:
    headers = Message()
    headers["Host"] = host
    with pytest.raises(Refusal, match=r"Send to turnlog\.example, or start it with --allow-host and the name"):
        guard_for("0.0.0.0", TOKEN, ["turnlog.example:4338"]).check_source(headers)


def test_a_slow_body_is_not_waited_for(receiver: Receiver, kept: Kept) -> None:
    receiver.body_timeout = 0.3
    body = body_of("slow")
    with closing(connect(receiver)) as connection:
        connection.putrequest("POST", "/v1/traces")
        connection.putheader("Content-Type", PROTOBUF)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:5])
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
    assert (answer.status, answer.message) == (408, "the body did not come within 0.3 s")
    assert kept.spans == []


def test_a_body_that_comes_byte_by_byte_is_not_waited_for(receiver: Receiver) -> None:
    receiver.body_timeout = 0.5
    with closing(connect(receiver)) as connection:
        connection.putrequest("POST", "/v1/traces")
        connection.putheader("Content-Type", PROTOBUF)
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        for _ in range(8):
            connection.send(b"1\r\nx\r\n")
            time.sleep(0.1)
        assert connection.getresponse().status == 408


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n", 411),
        (b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 403),
        (b"POST /v1/traces HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 403),
        (b"POST /v1/traces HTTP/9.9\r\n\r\n", 505),
        (b"nonsense\r\n\r\n", 400),
        (b"POST /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"POST / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
    ],
)
def test_what_is_hardly_http_gets_an_answer(receiver: Receiver, sent: bytes, status: int) -> None:
    assert speak(receiver, sent).status == status


def test_a_sender_that_speaks_grpc_is_told_in_our_log(receiver: Receiver, kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        exporter = GrpcExporter(receiver.url, timeout=1)
        assert exporter.export(finished_spans("it")) is SpanExportResult.FAILURE
        exporter.shutdown()
    said = [record.getMessage() for record in caplog.records if record.name == "turnlog"]
    assert said == ["turnlog: a sender speaks gRPC. It needs OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"]
    assert kept.spans == []


def test_each_kind_of_refusal_is_told_once_in_our_log(guarded: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        send(guarded, body_of("it"), Host="evil\x1b[2J.example")
        send(guarded, body_of("it"))
        send(guarded, body_of("it"), "text/plain", Authorization=f"Bearer {TOKEN}")
        send(guarded, flood(), Authorization=f"Bearer {TOKEN}")
    said = [record.getMessage().partition(": a request was refused with ")[2] for record in caplog.records]
    assert [line.partition(": ")[0] for line in said] == ["403", "401", "415", "413"]
    assert said[0].endswith("If it should, start it with --allow-host evil?[2j.example")
    assert said[2].endswith("Senders need OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf")


TWO_LENGTHS = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "the body has two lengths"),
        (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "the body has two lengths"),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "a chunk of the body has no length"),
        (b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n", "a chunk of the body is longer than it says"),
        (b"Transfer-Encoding: chunked\r\n\r\n" + b"2" * 300, "a line of the chunked body is too long"),
        (b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 20, "the chunked body has too many trailers"),
        (b"Transfer-Encoding: chunked\r\n\r\n1000001\r\n", "the body has more than 16 MiB uncompressed."),
    ],
)
def test_a_body_of_unclear_length_is_refused(receiver: Receiver, kept: Kept, rest: bytes, message: str) -> None:
    answer = speak(receiver, TWO_LENGTHS + rest)
    assert answer.status in (400, 413)
    assert message in answer.message
    assert kept.spans == []


def speak(receiver: Receiver, sent: bytes) -> Answer:
    """Bytes as they are, and what comes back."""
    with socket.create_connection(receiver.server_address[:2], timeout=60) as connection:  # type: ignore[arg-type]
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return Answer(response.status, response.headers, response.read())


def test_requests_beyond_the_bound_are_sent_away_for_a_second(receiver: Receiver, kept: Kept) -> None:
    with ExitStack() as stack:
        waiting = [stack.enter_context(closing(connect(receiver))) for _ in range(serving.MOST_REQUESTS)]
        body = body_of("waited")
        for connection in waiting:
            connection.putrequest("POST", "/v1/traces")
            connection.putheader("Content-Type", PROTOBUF)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body[:5])
        until(lambda: len(receiver._requests) == serving.MOST_REQUESTS)
        answer = send(receiver, body_of("one too many"))
        assert (answer.status, answer.headers["Retry-After"], answer.message) == (503, "1", "32 requests are running")
        assert ask(receiver, "GET", "/healthz").status == 200
        exported: list[SpanExportResult] = []
        exporter = OTLPSpanExporter(f"{receiver.url}/v1/traces")
        stack.callback(exporter.shutdown)
        sending = threading.Thread(target=lambda: exported.append(exporter.export(finished_spans("came again"))))
        sending.start()
        until(lambda: receiver.counts.refused == 2)
        for connection in waiting:
            connection.send(body[5:])
            assert connection.getresponse().status == 200
        sending.join()
    assert exported == [SpanExportResult.SUCCESS]
    assert sorted(kept.names) == ["came again", "waited"]


def test_connections_beyond_the_bound_are_closed(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 3)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(receiver.server_address[:2]))  # type: ignore[arg-type]
        until(lambda: len(receiver._connections) == 3)
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            ask(receiver, "GET", "/healthz")
    until(lambda: not receiver._connections)
    assert ask(receiver, "GET", "/healthz").status == 200


def until(true: Any) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_sender_that_hangs_up_harms_nobody(receiver: Receiver, kept: Kept) -> None:
    for _ in range(3):
        connection = socket.create_connection(receiver.server_address[:2])  # type: ignore[arg-type]
        connection.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
        )
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    assert send(receiver, body_of("it")).status == 200
    assert kept.names == ["it"]


def test_stopping_finishes_what_runs_and_lets_go_of_what_idles(kept: Kept) -> None:
    receiver = Receiver(kept.intake, guard_for("127.0.0.1"))
    receiver.start()
    body = body_of("last")
    with closing(connect(receiver)) as idle, closing(connect(receiver)) as running:
        idle.request("GET", "/healthz")
        idle.getresponse().read()
        running.putrequest("POST", "/v1/traces")
        running.putheader("Content-Type", PROTOBUF)
        running.putheader("Content-Length", str(len(body)))
        running.endheaders(body[:5])
        # The other request may count as running for a moment after its answer is read.
        until(lambda: [handler.command for handler in receiver._requests] == ["POST"])
        stopping = threading.Thread(target=receiver.stop)
        stopping.start()
        assert idle.sock.recv(1) == b""
        assert stopping.is_alive()
        running.send(body[5:])
        response = running.getresponse()
        assert (response.status, response.headers["Connection"]) == (200, "close")
        stopping.join(5)
    assert not stopping.is_alive()
    assert kept.names == ["last"]
    with pytest.raises(ConnectionRefusedError):
        ask(receiver, "GET", "/healthz")
