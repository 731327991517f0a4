"""What is encoded, in either form, decodes to the same spans; OpenTelemetry's own classes read it too."""

from __future__ import annotations

import orjson
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from turnlog import otlp
from turnlog.otlp import JSON, PROTOBUF
from turnlog.otlp.encode import batches, encode
from turnlog.received import ReceivedEvent, ReceivedLink, ReceivedSpan

TRACE, SPAN, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
START, END = 1_763_300_000_000_000_001, 1_763_300_000_500_000_002
GUIDE = {"service.name": "guide", "process.pid": 7}
FORMS = pytest.mark.parametrize("form", [PROTOBUF, JSON])


def spans() -> list[ReceivedSpan]:
    """A root and its child, of two scopes, and a span of another resource."""
    attributes = {
        "text": "žluť\n\u2028",
        "empty": "",
        "yes": True,
        "no": False,
        "zero": 0,
        "large": 2**63 - 1,
        "least": -(2**63),
        "half": 0.5,
        "whole": 1.0,
        "list": ["a", 1, 0.5, False, ["b"], {}],
        "map": {"a": {"b": [1]}, "none": None},
        "nothing": [],
    }
    event = ReceivedEvent("exception", START + 1, {"exception.type": "ValueError"})
    failed = ReceivedSpan(
        TRACE, SPAN, PARENT, "chat", START, END, "client", "error", "no", "one", attributes, (event,), (), GUIDE
    )
    root = ReceivedSpan(
        TRACE, PARENT, "", "agent", START, END, scope="two", links=(ReceivedLink(SPAN * 2, SPAN),), resource=GUIDE
    )
    other = ReceivedSpan(
        TRACE, SPAN[::-1], PARENT, "GET", START, END, "server", "ok", "", "three", resource={"service.name": "tools"}
    )
    return [failed, root, other]


@FORMS
def test_a_request_decodes_to_the_spans_that_were_encoded(form: str) -> None:
    decoded = otlp.decode(encode(spans(), form), form)
    assert (decoded.spans, decoded.rejected, decoded.cut) == (spans(), 0, 0)


@FORMS
def test_a_number_of_more_than_64_bits_is_text(form: str) -> None:
    (span,) = otlp.decode(encode([ReceivedSpan(TRACE, SPAN, "", "a", START, END, attributes={"n": 2**63})], form), form).spans
    assert span.attributes == {"n": str(2**63)}


def test_json_is_written_as_the_collector_does() -> None:
    span = ReceivedSpan(
        TRACE, SPAN, "", "a", START, END, "client", "error", "no", "s", {"n": 1, "b": True}, resource={"r": "x"}
    )
    assert orjson.loads(encode([span], JSON)) == {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "r", "value": {"stringValue": "x"}}]},
                "scopeSpans": [
                    {
                        "scope": {"name": "s"},
                        "spans": [
                            {
                                "traceId": TRACE,
                                "spanId": SPAN,
                                "name": "a",
                                "kind": 3,
                                "startTimeUnixNano": str(START),
                                "endTimeUnixNano": str(END),
                                "attributes": [
                                    {"key": "n", "value": {"intValue": "1"}},
                                    {"key": "b", "value": {"boolValue": True}},
                                ],
                                "status": {"message": "no", "code": 2},
                            }
                        ],
                    }
                ],
            }
        ]
    }


def test_both_forms_say_the_same_to_opentelemetry_itself() -> None:
    written = orjson.loads(encode(spans(), JSON))
    for resource in written["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for part in [span, *span.get("links", [])]:
                    # Ids are hex in OTLP and base64 in protobuf's own JSON.
                    part |= {key: bytes.fromhex(part[key]) for key in ("traceId", "spanId", "parentSpanId") if key in part}
    in_base64 = orjson.loads(orjson.dumps(written, default=_base64))
    assert ParseDict(in_base64, ExportTraceServiceRequest()) == ExportTraceServiceRequest.FromString(encode(spans()))


def _base64(value: bytes) -> str:
    from base64 import b64encode

    return b64encode(value).decode()


@FORMS
def test_batches_stay_within_their_bounds_and_keep_the_order(form: str) -> None:
    many = [
        ReceivedSpan(TRACE, f"{number:016x}", "", "a", START, END, attributes={"text": "x" * size}, resource=GUIDE)
        for number, size in enumerate([10] * 7 + [3000] * 4 + [9000], start=1)
    ]
    cut = list(batches(many, form, 5, 8000))
    assert [len(batch) for _, batch in cut] == [5, 2, 1, 2, 1, 1]
    assert [len(body) <= 8000 for body, _ in cut] == [True] * 5 + [False]
    assert [span for body, _ in cut for span in otlp.decode(body, form).spans] == many
