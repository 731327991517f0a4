"""Rows of a journal: one JSON object a line, typed columns at the top level, other attributes below `attributes`."""

from __future__ import annotations

import functools
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import orjson
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from turnlog import semconv
from turnlog.content import Blob, ContentPolicy, as_text, dump_json, redact, without_secrets
from turnlog.foreign import is_content
from turnlog.settings import Capture
from turnlog.span_attributes import attributes_of

ROW_LIMIT = 512 * 1024
TEXT_LIMIT = 64 * 1024
_INT64 = 2**63
_CONTENT = {
    semconv.GEN_AI_INPUT_MESSAGES,
    semconv.GEN_AI_OUTPUT_MESSAGES,
    semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
    semconv.GEN_AI_TOOL_CALL_ARGUMENTS,
    semconv.GEN_AI_TOOL_CALL_RESULT,
    semconv.EXCEPTION_MESSAGE,
    "exception.stacktrace",
}
_HARMLESS = frozenset(semconv.ATTRIBUTE_TYPES) - _CONTENT
_TEXTS = {column.key: column.name for column in semconv.COLUMNS if column.type == "VARCHAR"}
_OTHERS = {column.key: (column.name, column.type) for column in semconv.COLUMNS if column.type != "VARCHAR"}
_KINDS = {kind: kind.name.lower() for kind in SpanKind}
_STATUSES = {code: code.name.lower() for code in StatusCode}


def span_row(
    span: ReadableSpan,
    record: str,
    policy: ContentPolicy,
    said: Collection[str] = (),
    beside: Mapping[str, Any] | None = None,
    message: str | None = None,
) -> bytes:
    """The row of a span that starts (`record` is "start") or has ended ("end"), without the attributes that were `said` before,
    and with those that are known `beside` it, for which it may have no room. `message`: how it failed, where that is known
    better than its status says.

    Spans of other instrumentations carry prompts and secrets in their attributes; the policy decides what of them is
    written, whatever the application sends elsewhere.
    """
    context = span.get_span_context()
    if context is None or span.start_time is None:
        raise ValueError("a span without context or start time cannot be recorded")
    row: dict[str, Any] = {
        "record": record,
        "trace_id": format_trace_id(context.trace_id),
        "span_id": format_span_id(context.span_id),
        "parent_id": format_span_id(span.parent.span_id) if span.parent else "",
        "name": _name(span.name),
        "span_kind": _KINDS[span.kind],
        "start_ns": span.start_time,
        "end_ns": span.end_time or 0,
        "status": _STATUSES[span.status.status_code],
    }
    if failure := span.status.description if message is None else message:
        row["status_message"] = policy.summary(failure)
    if span.instrumentation_scope is not None:
        row["scope"] = span.instrumentation_scope.name
    rest: dict[str, Any] = {}
    attributes = attributes_of(span)
    for key, value in ({**attributes, **beside} if beside else attributes).items():
        if key in said:
            continue
        if key in _TEXTS and type(value) is str:
            row[_TEXTS[key]] = value
        elif key in _OTHERS and (typed := _typed(value, _OTHERS[key][1])) is not None:
            row[_OTHERS[key][0]] = typed
        elif key in _HARMLESS:
            rest[key] = value
        elif (screened := _screened(key, value, policy)) is not None:
            rest[key] = screened
    if rest:
        row["attributes"] = rest
    # The SDK's own properties copy both.
    if span._links:
        row["links"] = [
            {"trace_id": format_trace_id(link.context.trace_id), "span_id": format_span_id(link.context.span_id)}
            for link in span.links
        ]
    if span._events:
        row["events"] = [
            {"name": event.name, "at_ns": event.timestamp, "attributes": _screened_all(event.attributes or {}, policy)}
            for event in span.events
        ]
    line = dump_json(row)
    return (line if len(line) <= ROW_LIMIT else _shortened(row)) + b"\n"


@functools.lru_cache(maxsize=256)
def _name(name: str) -> str:
    return str(without_secrets(name))


def blob_rows(blobs: Iterable[Blob]) -> bytes:
    now = time.time_ns()
    return b"".join(
        dump_json({"record": "blob", "start_ns": now, "hash": blob.hash, "text": blob.text}) + b"\n" for blob in blobs
    )


def _screened_all(attributes: Mapping[str, Any], policy: ContentPolicy) -> dict[str, Any]:
    screened = ((key, _screened(key, value, policy)) for key, value in attributes.items())
    return {key: value for key, value in screened if value is not None}


def _screened(key: str, value: Any, policy: ContentPolicy) -> Any:
    """Content as the capture level has it, texts of unknown meaning without their secrets, all else as it is."""
    if key in _HARMLESS:
        return value
    if key in _CONTENT:
        return _content(value, policy) or None
    if is_content(key):
        # Said by an instrumentation beside us, often message by message: a summary of each would be the whole.
        return redact(as_text(value)[:ROW_LIMIT]) if _keeps_content(policy) else None
    return without_secrets(value, ROW_LIMIT)


def _content(value: Any, policy: ContentPolicy) -> str:
    if _keeps_content(policy):
        return redact(as_text(value)[:ROW_LIMIT])
    return policy.summary(value)


def _keeps_content(policy: ContentPolicy) -> bool:
    return policy.capture is Capture.FULL or policy.on_spans


def _typed(value: Any, kind: str) -> Any:
    """The value as its column takes it, or None: what was written in another type stays an attribute."""
    if kind == "BIGINT":
        return value if type(value) is int and -_INT64 <= value < _INT64 else None
    if kind == "BOOLEAN":
        return value if isinstance(value, bool) else None
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except ValueError:
            return None
    return list(value) if isinstance(value, list | tuple) else None


def _shortened(row: dict[str, Any]) -> bytes:
    """The row with its long texts cut and a count of the cuts; without its attributes when even that is too long."""
    cuts = 0

    def cut(value: Any) -> Any:
        nonlocal cuts
        if isinstance(value, str | bytes) and len(value) > TEXT_LIMIT:
            cuts += 1
            mark = f"… (+{len(value) - TEXT_LIMIT:,} chars)"
            return redact(value[:TEXT_LIMIT]) + mark if isinstance(value, str) else value[:TEXT_LIMIT] + mark.encode()
        if isinstance(value, dict):
            return {key: cut(item) for key, item in value.items()}
        return [cut(item) for item in value] if isinstance(value, list | tuple) else value

    row = cut(row)
    line = dump_json(row | {"lost": cuts})
    if len(line) <= ROW_LIMIT:
        return line
    large = ("attributes", "events", "links", "delta", "alternatives")
    return dump_json({key: value for key, value in row.items() if key not in large} | {"lost": cuts + 1})
