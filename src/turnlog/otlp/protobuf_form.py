"""OTLP in protobuf. Attributes are nearly all of the cost, and nearly all of them are texts, so those are asked for first."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from turnlog.otlp.decoded import (
    MOST_DEPTH,
    MOST_TEXT,
    Decoded,
    Malformed,
    Refused,
    check_identity,
    check_size,
    check_times,
    is_link,
    is_remote,
    plain_number,
)
from turnlog.otlp.wire import count_spans
from turnlog.received import KINDS, STATUSES, ReceivedEvent, ReceivedLink, ReceivedSpan

_KINDS = dict(enumerate(KINDS, start=1))
_STATUSES = dict(enumerate(STATUSES))
# A tenth of the time that decoding takes; below this size a flood of empty spans takes no memory to speak of.
_WORTH_COUNTING = 1024 * 1024


def decode(body: bytes, most_spans: int | None) -> Decoded:
    if most_spans is not None and len(body) > _WORTH_COUNTING:
        check_size(count_spans(body, most_spans), most_spans)
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise Malformed(f"the body is no OTLP trace request in protobuf: {error}") from error
    check_size(sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans), most_spans)
    decoded = Decoded()
    for resource in request.resource_spans:
        count = sum(len(scope.spans) for scope in resource.scope_spans)
        try:
            whose = _attributes(resource.resource.attributes, decoded)
        except Refused as refused:
            for _ in range(count):
                decoded.reject(str(refused))
            continue
        for scope in resource.scope_spans:
            name = scope.scope.name
            for span in scope.spans:
                try:
                    decoded.spans.append(_span(span, name, whose, decoded))
                except Refused as refused:
                    decoded.reject(str(refused))
    return decoded


def _span(span: Any, scope: str, resource: dict[str, Any], decoded: Decoded) -> ReceivedSpan:
    trace_id, span_id = span.trace_id.hex(), span.span_id.hex()
    parent_id = check_identity(trace_id, span_id, span.parent_span_id.hex())
    start_ns = span.start_time_unix_nano
    end_ns = check_times(start_ns, span.end_time_unix_nano)
    status = span.status
    return ReceivedSpan(
        trace_id,
        span_id,
        parent_id,
        decoded.cut_text(span.name),
        start_ns,
        end_ns,
        _KINDS.get(span.kind, "internal"),
        _STATUSES.get(status.code, "unset"),
        decoded.cut_text(status.message),
        scope,
        _attributes(span.attributes, decoded),
        tuple([_event(event, decoded) for event in span.events]) if span.events else (),
        _links(span.links) if span.links else (),
        resource,
        is_remote(span.flags),
    )


def _event(event: Any, decoded: Decoded) -> ReceivedEvent:
    return ReceivedEvent(decoded.cut_text(event.name), event.time_unix_nano, _attributes(event.attributes, decoded))


def _links(links: Iterable[Any]) -> tuple[ReceivedLink, ...]:
    ids = ((link.trace_id.hex(), link.span_id.hex()) for link in links)
    return tuple(ReceivedLink(trace_id, span_id) for trace_id, span_id in ids if is_link(trace_id, span_id))


def _attributes(attributes: Iterable[Any], decoded: Decoded, depth: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in attributes:
        value = attribute.value
        text = value.string_value
        if text:
            found[attribute.key] = text if len(text) <= MOST_TEXT else decoded.cut_text(text)
        else:
            found[attribute.key] = value.int_value or _value(value, decoded, depth)
    return found


def _value(value: Any, decoded: Decoded, depth: int) -> Any:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return decoded.cut_text(value.string_value)
    if kind == "int_value":
        return value.int_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "double_value":
        return plain_number(value.double_value)
    if kind == "bytes_value":
        return decoded.cut_text(b64encode(value.bytes_value).decode())
    if kind == "array_value":
        if depth >= MOST_DEPTH:
            return decoded.cut_depth()
        return [_value(item, decoded, depth + 1) for item in value.array_value.values]
    if kind == "kvlist_value":
        if depth >= MOST_DEPTH:
            return decoded.cut_depth()
        return _attributes(value.kvlist_value.values, decoded, depth + 1)
    return None
