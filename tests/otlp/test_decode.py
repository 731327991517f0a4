"""A trace request, in either form, becomes the spans that were sent; what cannot be kept is counted and said."""

from __future__ import annotations

import resource
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from google.protobuf.json_format import MessageToDict, MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from turnlog import otlp
from turnlog.otlp import JSON, PROTOBUF, Malformed, TooManySpans
from turnlog.otlp.decoded import HOSTILE_TEXT, MOST_DEPTH, MOST_TEXT
from turnlog.otlp.wire import count_spans
from turnlog.received import ReceivedEvent, ReceivedLink, ReceivedSpan

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = "00f067aa0ba902b7"
START, END = 1_763_300_000_000_000_001, 1_763_300_000_500_000_002
Decode = Callable[[ExportTraceServiceRequest], otlp.Decoded]


def request(**changes: Any) -> ExportTraceServiceRequest:
    """One span of one scope of one resource."""
    sent = ExportTraceServiceRequest()
    sender = sent.resource_spans.add()
    sender.resource.attributes.add(key="service.name").value.string_value = "guide"
    scope = sender.scope_spans.add()
    scope.scope.name = "an.instrumentation"
    fields = {
        "trace_id": bytes.fromhex(TRACE),
        "span_id": bytes.fromhex(SPAN),
        "name": "chat",
        "start_time_unix_nano": START,
        "end_time_unix_nano": END,
    }
    scope.spans.add(**(fields | changes))
    return sent


def span_of(sent: ExportTraceServiceRequest) -> Any:
    return sent.resource_spans[0].scope_spans[0].spans[0]


def as_protobuf(sent: ExportTraceServiceRequest) -> otlp.Decoded:
    return otlp.decode(sent.SerializeToString(), PROTOBUF)


def as_json(sent: ExportTraceServiceRequest) -> otlp.Decoded:
    return otlp.decode(orjson.dumps(_with_hex_ids(MessageToDict(sent))), JSON)


def as_printed_by_protobuf(sent: ExportTraceServiceRequest) -> otlp.Decoded:
    return otlp.decode(MessageToJson(sent, preserving_proto_field_name=True).encode(), JSON)


def _with_hex_ids(sent: Any) -> Any:
    if isinstance(sent, list):
        return [_with_hex_ids(item) for item in sent]
    if not isinstance(sent, dict):
        return sent
    ids = {"traceId", "spanId", "parentSpanId"}
    return {key: b64decode(value).hex().upper() if key in ids else _with_hex_ids(value) for key, value in sent.items()}


forms = pytest.mark.parametrize("decode", [as_protobuf, as_json, as_printed_by_protobuf])


def write(value: Any, into: Any) -> None:
    """A plain value as an OTLP one."""
    if isinstance(value, bool):
        into.bool_value = value
    elif isinstance(value, int):
        into.int_value = value
    elif isinstance(value, float):
        into.double_value = value
    elif isinstance(value, str):
        into.string_value = value
    elif isinstance(value, bytes):
        into.bytes_value = value
    elif isinstance(value, list):
        into.array_value.SetInParent()
        for item in value:
            write(item, into.array_value.values.add())
    elif isinstance(value, dict):
        into.kvlist_value.SetInParent()
        for key, item in value.items():
            write(item, into.kvlist_value.values.add(key=key).value)


@forms
def test_every_field_of_a_span_arrives(decode: Decode) -> None:
    sent = request(parent_span_id=bytes.fromhex(PARENT), kind=3)
    span = span_of(sent)
    span.status.code, span.status.message = 2, "no such city"
    write("gpt-5", span.attributes.add(key="gen_ai.request.model").value)
    event = span.events.add(name="exception", time_unix_nano=START + 5)
    write("LookupError", event.attributes.add(key="exception.type").value)
    span.links.add(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(PARENT))
    span.links.add(trace_id=b"", span_id=bytes.fromhex(PARENT))
    decoded = decode(sent)
    assert decoded.spans == [
        ReceivedSpan(
            trace_id=TRACE,
            span_id=SPAN,
            parent_id=PARENT,
            name="chat",
            start_ns=START,
            end_ns=END,
            kind="client",
            status="error",
            status_message="no such city",
            scope="an.instrumentation",
            attributes={"gen_ai.request.model": "gpt-5"},
            events=(ReceivedEvent("exception", START + 5, {"exception.type": "LookupError"}),),
            links=(ReceivedLink(TRACE, PARENT),),
            resource={"service.name": "guide"},
        )
    ]
    assert (decoded.rejected, decoded.reason, decoded.cut) == (0, "", 0)


@forms
@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("", ""),
        ("Zürich 🌍 \x00", "Zürich 🌍 \x00"),
        (0, 0),
        (-1, -1),
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (False, False),
        (True, True),
        (0.0, 0.0),
        (1.5, 1.5),
        (3.0, 3.0),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (b"\x00\xff", "AP8="),
        (None, None),
        ([], []),
        ({}, {}),
        (["a", 1, True, None, [0.5, {"b": ""}]], ["a", 1, True, None, [0.5, {"b": ""}]]),
        ({"a": {"b": [{"c": 0}]}, "": "no key"}, {"a": {"b": [{"c": 0}]}, "": "no key"}),
    ],
)
def test_values_are_plain(decode: Decode, value: Any, read: Any) -> None:
    sent = request()
    write(value, span_of(sent).attributes.add(key="it").value)
    [span] = decode(sent).spans
    assert span.attributes == {"it": read}
    assert type(span.attributes["it"]) is type(read)


@forms
def test_spans_of_one_resource_share_its_mapping(decode: Decode) -> None:
    sent = request()
    again = sent.resource_spans[0].scope_spans.add().spans.add()
    again.CopyFrom(span_of(sent))
    again.span_id = bytes.fromhex(PARENT)
    first, second = decode(sent).spans
    assert first.resource is second.resource


@forms
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"trace_id": b""}, "the trace id is not 16 bytes, or zero (1)"),
        ({"trace_id": bytes(16)}, "the trace id is not 16 bytes, or zero (1)"),
        ({"trace_id": bytes(15)}, "the trace id is not 16 bytes, or zero (1)"),
        ({"span_id": bytes(8)}, "the span id is not 8 bytes, or zero (1)"),
        ({"span_id": b"1234567"}, "the span id is not 8 bytes, or zero (1)"),
        ({"parent_span_id": b"1"}, "the parent's span id is not 8 bytes (1)"),
        ({"start_time_unix_nano": 0}, "there is no start time, or one beyond the year 2262 (1)"),
        ({"start_time_unix_nano": 2**64 - 1}, "there is no start time, or one beyond the year 2262 (1)"),
        ({"end_time_unix_nano": 2**63}, "the end time is beyond the year 2262 (1)"),
    ],
)
def test_a_span_that_cannot_be_kept_is_left_out_and_the_rest_kept(decode: Decode, changes: dict[str, Any], reason: str) -> None:
    sent = request(**changes)
    sent.resource_spans.append(request().resource_spans[0])
    decoded = decode(sent)
    assert [span.span_id for span in decoded.spans] == [SPAN]
    assert (decoded.rejected, decoded.reason) == (1, reason)


@forms
def test_a_root_may_say_so_with_zeros(decode: Decode) -> None:
    [span] = decode(request(parent_span_id=bytes(8))).spans
    assert span.parent_id == ""


@forms
@pytest.mark.parametrize("end", [0, START - 10_000])
def test_no_span_ends_before_it_starts(decode: Decode, end: int) -> None:
    [span] = decode(request(end_time_unix_nano=end)).spans
    assert span.end_ns == START


@forms
@pytest.mark.parametrize(("flags", "remote"), [(0, False), (0x101, False), (0x200, False), (0x301, True)])
def test_a_parent_is_remote_where_the_sender_says_so(decode: Decode, flags: int, remote: bool) -> None:
    [span] = decode(request(parent_span_id=bytes.fromhex(PARENT), flags=flags)).spans
    assert span.has_remote_parent is remote


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else "the bottom"


@forms
def test_a_value_that_is_too_deep_is_cut_and_counted(decode: Decode) -> None:
    sent = request()
    write(nested(MOST_DEPTH - 1), span_of(sent).attributes.add(key="deep enough").value)
    write(nested(MOST_DEPTH), span_of(sent).attributes.add(key="too deep").value)
    decoded = decode(sent)
    attributes = decoded.spans[0].attributes
    assert attributes["deep enough"] == nested(MOST_DEPTH - 1)
    assert orjson.dumps(attributes["too deep"]).decode().strip("[]") == '"… (deeper than 16)"'
    assert decoded.cut == 1


@forms
def test_a_text_that_is_too_long_is_cut_and_counted(decode: Decode) -> None:
    sent = request()
    write("x" * MOST_TEXT, span_of(sent).attributes.add(key="long").value)
    write("x" * (MOST_TEXT + 1), span_of(sent).attributes.add(key="longer").value)
    write(["x" * (MOST_TEXT + 1)], span_of(sent).attributes.add(key="inside").value)
    write(b"x" * MOST_TEXT, span_of(sent).attributes.add(key="bytes").value)
    decoded = decode(sent)
    attributes = decoded.spans[0].attributes
    assert [len(attributes[key]) for key in ("long", "longer", "bytes")] == [MOST_TEXT] * 3
    assert len(attributes["inside"][0]) == MOST_TEXT
    assert decoded.cut == 3


@forms
def test_a_span_with_a_text_of_many_megabytes_is_refused(decode: Decode) -> None:
    sent = request()
    write("x" * (HOSTILE_TEXT + 1), span_of(sent).attributes.add(key="it").value)
    decoded = decode(sent)
    assert (decoded.spans, decoded.rejected, decoded.reason) == ([], 1, "an attribute is longer than 4 MiB (1)")


@forms
def test_the_spans_of_a_resource_with_a_text_of_many_megabytes_are_refused(decode: Decode) -> None:
    sent = request()
    write("x" * (HOSTILE_TEXT + 1), sent.resource_spans[0].resource.attributes.add(key="it").value)
    sent.resource_spans[0].scope_spans[0].spans.add().CopyFrom(span_of(sent))
    decoded = decode(sent)
    assert (decoded.spans, decoded.rejected, decoded.reason) == ([], 2, "an attribute is longer than 4 MiB (2)")


@pytest.mark.parametrize("form", [PROTOBUF, JSON])
def test_a_request_of_more_spans_than_asked_for_is_not_taken(form: str) -> None:
    sent = request()
    sent.resource_spans.append(request().resource_spans[0])
    body = sent.SerializeToString() if form == PROTOBUF else MessageToJson(sent).encode()
    assert len(otlp.decode(body, form, most_spans=2).spans) == 2
    with pytest.raises(TooManySpans, match="more than 1 spans in one request"):
        otlp.decode(body, form, most_spans=1)


def test_a_flood_of_empty_spans_is_told_before_it_takes_memory() -> None:
    flood = b"\x12\x00" * 1_000_000
    scope = b"\x12" + _varint(len(flood)) + flood
    body = b"\x0a" + _varint(len(scope)) + scope
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TooManySpans):
        otlp.decode(body, PROTOBUF, most_spans=10_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_spans_are_counted_as_protobuf_reads_them() -> None:
    """Also where a sender writes numbers longer than needed, and fields that nobody knows."""
    odd = b"\x98\x06\x01" + b"\x9d\x06abcd" + b"\x99\x06abcdefgh" + b"\x92\x00\x80\x00" * 3
    scope = b"\x12" + _varint(len(odd)) + odd
    body = b"\x0a" + _varint(len(scope)) + scope
    assert len(ExportTraceServiceRequest.FromString(body).resource_spans[0].scope_spans[0].spans) == 3
    assert count_spans(body, 10) == 3


def chain(depth: int) -> bytes:
    """An attribute value nested so deep that protobuf itself would not write it."""
    value = b"\x0a\x01x"
    for _ in range(depth):
        inner = b"\x0a" + _varint(len(value)) + value
        value = b"\x2a" + _varint(len(inner)) + inner
    pair = b"\x0a\x01k\x12" + _varint(len(value)) + value
    span = b"\x4a" + _varint(len(pair)) + pair
    scope = b"\x12" + _varint(len(span)) + span
    sender = b"\x12" + _varint(len(scope)) + scope
    return b"\x0a" + _varint(len(sender)) + sender


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


WHOLE = request().SerializeToString()


@pytest.mark.parametrize(
    "body",
    [
        WHOLE[:-1],
        WHOLE[:40],
        WHOLE.replace(b"chat", b"ch\xff\xfe"),
        b"not protobuf at all",
        b'{"resourceSpans": []}',
        chain(5_000),
    ],
    ids=["cut at its end", "cut in its middle", "invalid utf-8", "text", "json", "too deep for protobuf"],
)
def test_what_is_no_protobuf_request_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed, match=r"^the body is no OTLP trace request in protobuf: "):
        otlp.decode(body, PROTOBUF)
    with pytest.raises(Malformed, match=r"^the body is no OTLP trace request in protobuf: "):
        otlp.decode(body, PROTOBUF, most_spans=10)


def in_span(text: str) -> bytes:
    return b'{"resourceSpans": [{"scopeSpans": [{"spans": [{%s}]}]}]}' % text.encode()


def in_value(text: str) -> bytes:
    times = f'"startTimeUnixNano": {START}'
    return in_span(f'"traceId": "{TRACE}", "spanId": "{SPAN}", {times}, "attributes": [{{"key": "k", "value": {text}}}]')


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"resourceSpans": [{"name": "ch\xff"}]}',
        b'"\\ud800"',
        b"[" * 100_000 + b"]" * 100_000,
        b"[]",
        b"null",
        b'{"resourceSpans": {}}',
        b'{"resourceSpans": [7]}',
        b'{"resourceSpans": [{"resource": []}]}',
        b'{"resourceSpans": [{"resource": [1]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [[]]}]}]}',
        in_span('"traceId": 5'),
        in_span(f'"traceId": "{TRACE}", "spanId": "{SPAN}", "startTimeUnixNano": "soon"'),
        in_span(f'"traceId": "{TRACE}", "spanId": "{SPAN}", "startTimeUnixNano": 0.5'),
        in_span(f'"traceId": "{TRACE}", "spanId": "{SPAN}", "startTimeUnixNano": "{"9" * 5000}"'),
        in_value("5"),
        in_value('{"stringValue": 5}'),
        in_value('{"boolValue": "true"}'),
        in_value('{"intValue": "9223372036854775808"}'),
        in_value('{"intValue": 1.5}'),
        in_value('{"doubleValue": "much"}'),
        in_value('{"arrayValue": [1]}'),
        in_value('{"kvlistValue": {"values": [1]}}'),
    ],
)
def test_what_is_no_json_request_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed, match=r"^the body is no (JSON|OTLP trace request in JSON): "):
        otlp.decode(body, JSON)


def test_json_may_hold_fields_that_nobody_knows_and_nulls() -> None:
    body = in_span(
        f'"traceId": "{TRACE.upper()}", "spanId": "{SPAN}", "startTimeUnixNano": "{START}", "endTimeUnixNano": {END}, '
        '"kind": "SPAN_KIND_SERVER", "status": {"code": "STATUS_CODE_ERROR", "message": null}, "events": null, '
        '"parentSpanId": "", "new": [{}], "attributes": [{"key": "k", "value": {"novelty": 1, "intValue": "12"}}]'
    )
    assert otlp.decode(body, JSON).spans == [
        ReceivedSpan(TRACE, SPAN, "", "", START, END, "server", "error", attributes={"k": 12})
    ]


@pytest.mark.parametrize(("kind", "read"), [(0, "internal"), (2, "server"), (77, "internal")])
def test_a_kind_that_nobody_knows_is_internal(kind: int, read: str) -> None:
    assert otlp.decode(request(kind=kind).SerializeToString()).spans[0].kind == read


def test_an_id_in_json_that_is_neither_hex_nor_base64_refuses_its_span() -> None:
    for trace_id in ("z" * 32, "!" * 22 + "==", "é" * 32):
        body = in_span(f'"traceId": "{trace_id}", "spanId": "{SPAN}", "startTimeUnixNano": {START}')
        assert otlp.decode(body, JSON).reason == "the trace id is not 16 bytes, or zero (1)"
