"""Jaeger's JSON keeps what a span said: times, types, parents, links, events, whose it was."""

from __future__ import annotations

import json
from typing import Any

from importing.reading import given, lines
from turnlog.received import ReceivedEvent, ReceivedLink, ReceivedSpan

TRACE = "00000000000000000000000000000abc"


def tag(key: str, value: Any, kind: str = "string") -> dict[str, Any]:
    return {"key": key, "type": kind, "value": value}


def span(**more: Any) -> dict[str, Any]:
    return {"traceID": "abc", "spanID": "2", "operationName": "chat", "startTime": 1_700_000_000_000_001, "duration": 5, **more}


def answer(*spans: dict[str, Any]) -> dict[str, Any]:
    process = {"serviceName": "shop", "tags": [tag("process.pid", 7, "int64")]}
    return {"data": [{"traceID": "abc", "spans": list(spans), "processes": {"p1": process}, "warnings": None}], "total": 0}


def test_a_span_is_read_whole() -> None:
    raw = span(
        references=[
            {"refType": "CHILD_OF", "traceID": "abc", "spanID": "1"},
            {"refType": "FOLLOWS_FROM", "traceID": "def", "spanID": "9"},
        ],
        tags=[
            tag("gen_ai.operation.name", "chat"),
            tag("gen_ai.usage.input_tokens", 12, "int64"),
            tag("gen_ai.request.temperature", 0.5, "float64"),
            tag("streamed", True, "bool"),
            tag("span.kind", "client"),
            tag("otel.scope.name", "shop.agent"),
            tag("otel.status_code", "ERROR"),
            tag("otel.status_description", "no answer"),
            tag("error", True, "bool"),
        ],
        logs=[{"timestamp": 1_700_000_000_000_003, "fields": [tag("event", "exception"), tag("exception.type", "Timeout")]}],
        processID="p1",
        warnings=["clock skew"],
    )
    start = 1_700_000_000_000_001_000
    assert given(json.dumps(answer(raw)).encode()).spans == [
        ReceivedSpan(
            trace_id=TRACE,
            span_id="0000000000000002",
            parent_id="0000000000000001",
            name="chat",
            start_ns=start,
            end_ns=start + 5000,
            kind="client",
            status="error",
            status_message="no answer",
            scope="shop.agent",
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.usage.input_tokens": 12,
                "gen_ai.request.temperature": 0.5,
                "streamed": True,
                "jaeger.warnings": ["clock skew"],
            },
            events=(ReceivedEvent("exception", start + 2000, {"exception.type": "Timeout"}),),
            links=(ReceivedLink("0" * 29 + "def", "0" * 15 + "9"),),
            resource={"service.name": "shop", "process.pid": 7},
        )
    ]


def test_a_trace_from_the_page_a_list_and_lines_are_read_alike() -> None:
    whole = answer(span())
    for data in (json.dumps(whole, indent=4).encode(), json.dumps(whole["data"]).encode(), lines(whole["data"])):
        found = given(data)
        assert (found.format, [each.trace_id for each in found.spans]) == ("jaeger", [TRACE])


def test_a_span_without_an_id_is_told_and_the_others_are_read() -> None:
    found = given(json.dumps(answer(span(spanID="0"), span(spanID="xyz"), span(spanID="3"))).encode())
    assert [each.span_id for each in found.spans] == ["0000000000000003"]
    assert [bad.reason for bad in found.bad] == [
        "no span of Jaeger: '0' is no id",
        "no span of Jaeger: invalid literal for int() with base 16: '0000000000000xyz'",
    ]
