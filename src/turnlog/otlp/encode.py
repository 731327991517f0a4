"""Received spans as an `ExportTraceServiceRequest`: protobuf to send, JSON as the collector's file exporter writes a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from turnlog.content import dump_json
from turnlog.otlp.decoded import JSON, PROTOBUF
from turnlog.received import KINDS, STATUSES, ReceivedSpan

_KINDS = {kind: number for number, kind in enumerate(KINDS, start=1)}
_STATUSES = {status: number for number, status in enumerate(STATUSES)}
_INT64 = 2**63


def encode(spans: Sequence[ReceivedSpan], content_type: str = PROTOBUF) -> bytes:
    return dump_json(_as_json(spans)) if content_type == JSON else _as_protobuf(spans)


def batches(
    spans: Sequence[ReceivedSpan], content_type: str, most_spans: int, most_bytes: int
) -> Iterator[tuple[bytes, Sequence[ReceivedSpan]]]:
    """The spans in order, as requests within these bounds; one span that is larger goes alone."""
    for first in range(0, len(spans), most_spans):
        yield from _halved(spans[first : first + most_spans], content_type, most_bytes)


def _halved(
    spans: Sequence[ReceivedSpan], content_type: str, most_bytes: int
) -> Iterator[tuple[bytes, Sequence[ReceivedSpan]]]:
    body = encode(spans, content_type)
    if len(body) <= most_bytes or len(spans) == 1:
        yield body, spans
        return
    middle = len(spans) // 2
    yield from _halved(spans[:middle], content_type, most_bytes)
    yield from _halved(spans[middle:], content_type, most_bytes)


def _by_resource(spans: Iterable[ReceivedSpan]) -> Iterator[tuple[Mapping[str, Any], dict[str, list[ReceivedSpan]]]]:
    """Resources, each with its spans by scope."""
    found: dict[int, tuple[Mapping[str, Any], dict[str, list[ReceivedSpan]]]] = {}
    for span in spans:
        _, scopes = found.setdefault(id(span.resource), (span.resource, {}))
        scopes.setdefault(span.scope, []).append(span)
    yield from found.values()


def _as_json(spans: Iterable[ReceivedSpan]) -> dict[str, Any]:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _json_pairs(resource)},
                "scopeSpans": [
                    {"scope": {"name": name} if name else {}, "spans": [_json_span(span) for span in told]}
                    for name, told in scopes.items()
                ],
            }
            for resource, scopes in _by_resource(spans)
        ]
    }


def _json_span(span: ReceivedSpan) -> dict[str, Any]:
    written: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _json_pairs(span.attributes),
    }
    if span.events:
        written["events"] = [
            {"timeUnixNano": str(event.at_ns), "name": event.name, "attributes": _json_pairs(event.attributes)}
            for event in span.events
        ]
    if span.links:
        written["links"] = [{"traceId": link.trace_id, "spanId": link.span_id} for link in span.links]
    status = {"message": span.status_message} if span.status_message else {}
    written["status"] = status | ({"code": _STATUSES[span.status]} if _STATUSES[span.status] else {})
    return written


def _json_pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _json_value(value)} for key, value in attributes.items()]


def _json_value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        # As text: JSON's numbers are doubles to many readers.
        return {"intValue" if -_INT64 <= value < _INT64 else "stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _json_pairs(value)}}
    if isinstance(value, Sequence):
        return {"arrayValue": {"values": [_json_value(item) for item in value]}}
    return {}


def _as_protobuf(spans: Iterable[ReceivedSpan]) -> bytes:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    for resource, scopes in _by_resource(spans):
        whose = request.resource_spans.add()
        _fill_pairs(whose.resource.attributes, resource)
        for name, told in scopes.items():
            scope = whose.scope_spans.add()
            scope.scope.name = name
            for span in told:
                _fill_span(scope.spans.add(), span)
    return bytes(request.SerializeToString())


def _fill_span(message: Any, span: ReceivedSpan) -> None:
    message.trace_id = bytes.fromhex(span.trace_id)
    message.span_id = bytes.fromhex(span.span_id)
    message.parent_span_id = bytes.fromhex(span.parent_id)
    message.name = span.name
    message.kind = _KINDS[span.kind]
    message.start_time_unix_nano = span.start_ns
    message.end_time_unix_nano = span.end_ns
    message.status.code = _STATUSES[span.status]
    message.status.message = span.status_message
    _fill_pairs(message.attributes, span.attributes)
    for event in span.events:
        written = message.events.add(name=event.name, time_unix_nano=event.at_ns)
        _fill_pairs(written.attributes, event.attributes)
    for link in span.links:
        message.links.add(trace_id=bytes.fromhex(link.trace_id), span_id=bytes.fromhex(link.span_id))


def _fill_pairs(pairs: Any, attributes: Mapping[str, Any]) -> None:
    for key, value in attributes.items():
        _fill_value(pairs.add(key=key).value, value)


def _fill_value(message: Any, value: Any) -> None:
    if isinstance(value, str):
        message.string_value = value
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, int):
        if -_INT64 <= value < _INT64:
            message.int_value = value
        else:
            message.string_value = str(value)
    elif isinstance(value, float):
        message.double_value = value
    elif isinstance(value, Mapping):
        message.kvlist_value.SetInParent()
        _fill_pairs(message.kvlist_value.values, value)
    elif isinstance(value, Sequence):
        message.array_value.SetInParent()
        for item in value:
            _fill_value(message.array_value.values.add(), item)
    else:
        message.SetInParent()
