"""Phoenix's spans: its REST answers, the CLI's traces, lines from its page, and frames written with `to_json`.

Attributes are OpenInference's, flattened or nested; they are flattened here, which is how they were sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from turnlog.importing.source import Source
from turnlog.importing.values import cause, nanoseconds, span_id, trace_id
from turnlog.otlp import Malformed
from turnlog.otlp.json_form import decode_request
from turnlog.received import ReceivedEvent, ReceivedSpan

_KIND = "openinference.span.kind"
_STATUSES = {"OK": "ok", "ERROR": "error"}


def is_phoenix(value: Any) -> bool:
    return isinstance(value, dict) and (
        ("span_kind" in value and ("context" in value or "context.span_id" in value))
        or (isinstance(value.get("spans"), list) and "traceId" in value and "rootSpan" in value)
        or ("start_time_unix_nano" in value and "span_id" in value)
    )


def read(source: Source) -> Iterator[ReceivedSpan]:
    for place, value in source.records():
        if not is_phoenix(value):
            source.reject(place, "no span of Phoenix")
            continue
        for span in value["spans"] if "rootSpan" in value else (value,):
            try:
                yield from _spans(span)
            except (KeyError, TypeError, ValueError, AttributeError, Malformed) as error:
                source.reject(place, f"no span of Phoenix: {cause(error)}")


def _spans(span: Mapping[str, Any]) -> Iterator[ReceivedSpan]:
    if "start_time_unix_nano" in span:
        yield from decode_request({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).spans
        return
    context = span.get("context") or {key: span[f"context.{key}"] for key in ("trace_id", "span_id")}
    columns = {key.removeprefix("attributes."): value for key, value in span.items() if key.startswith("attributes.")}
    attributes = dict(_flat({**columns, **(span.get("attributes") or {})}))
    attributes.setdefault(_KIND, str(span.get("span_kind") or "UNKNOWN"))
    start_ns = nanoseconds(span["start_time"])
    parent = span.get("parent_id")
    yield ReceivedSpan(
        trace_id(context["trace_id"]),
        span_id(context["span_id"]),
        span_id(parent) if parent else "",
        str(span.get("name") or ""),
        start_ns,
        max(start_ns, nanoseconds(span["end_time"])) if span.get("end_time") else start_ns,
        status=_STATUSES.get(str(span.get("status_code")), "unset"),
        status_message=str(span.get("status_message") or ""),
        attributes=attributes,
        events=tuple(
            ReceivedEvent(str(each.get("name") or ""), nanoseconds(each["timestamp"]), each.get("attributes") or {})
            for each in span.get("events") or ()
        ),
    )


def _flat(attributes: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in attributes.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            yield from _flat({str(index): item for index, item in enumerate(value)}, f"{name}.")
        elif value is not None:
            yield name, value
