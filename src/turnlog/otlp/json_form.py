"""OTLP in JSON: hex ids, 64-bit numbers as text or number, enumerations as number or name, names in camelCase.

Also what protobuf's own JSON printer writes, which people store and send although the specification does not have it: names in
snake_case, ids in base64. Fields of other names are ignored, as the specification asks.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

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
from turnlog.received import KINDS, STATUSES, ReceivedEvent, ReceivedLink, ReceivedSpan

_KINDS: dict[Any, str] = dict(enumerate(KINDS, start=1))
_KINDS |= {f"SPAN_KIND_{kind.upper()}": kind for kind in KINDS}
_STATUSES: dict[Any, str] = dict(enumerate(STATUSES)) | {f"STATUS_CODE_{status.upper()}": status for status in STATUSES}
_HEX = frozenset("0123456789abcdefABCDEF")
_INT64 = 2**63
_NOT_A_NUMBER = ("NaN", "Infinity", "-Infinity")


def decode(body: bytes, most_spans: int | None) -> Decoded:
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"the body is no JSON: {error}") from error
    return decode_request(request, most_spans)


def decode_request(request: Any, most_spans: int | None = None) -> Decoded:
    """The same from JSON that is parsed already."""
    resources = [
        (_object(resource), _scopes(resource)) for resource in _list(_object(request), "resourceSpans", "resource_spans")
    ]
    check_size(sum(len(spans) for _, scopes in resources for _, spans in scopes), most_spans)
    decoded = Decoded()
    for resource, scopes in resources:
        try:
            whose = _attributes(_list(_part(resource, "resource"), "attributes"), decoded)
        except Refused as refused:
            for _ in range(sum(len(spans) for _, spans in scopes)):
                decoded.reject(str(refused))
            continue
        for name, spans in scopes:
            for span in spans:
                try:
                    decoded.spans.append(_span(_object(span), name, whose, decoded))
                except Refused as refused:
                    decoded.reject(str(refused))
    return decoded


def _scopes(resource: Any) -> list[tuple[str, list[Any]]]:
    scopes = map(_object, _list(_object(resource), "scopeSpans", "scope_spans"))
    return [(_text(_part(scope, "scope"), "name"), _list(scope, "spans")) for scope in scopes]


def _span(span: Mapping[str, Any], scope: str, resource: dict[str, Any], decoded: Decoded) -> ReceivedSpan:
    trace_id, span_id = _id(span, "traceId", "trace_id"), _id(span, "spanId", "span_id")
    parent_id = check_identity(trace_id, span_id, _id(span, "parentSpanId", "parent_span_id"))
    start_ns = _integer(_either(span, "startTimeUnixNano", "start_time_unix_nano"))
    end_ns = check_times(start_ns, _integer(_either(span, "endTimeUnixNano", "end_time_unix_nano")))
    status = _part(span, "status")
    return ReceivedSpan(
        trace_id,
        span_id,
        parent_id,
        decoded.cut_text(_text(span, "name")),
        start_ns,
        end_ns,
        _named(_KINDS, span.get("kind"), "internal"),
        _named(_STATUSES, status.get("code"), "unset"),
        decoded.cut_text(_text(status, "message")),
        scope,
        _attributes(_list(span, "attributes"), decoded),
        tuple(_event(_object(event), decoded) for event in _list(span, "events")),
        _links(map(_object, _list(span, "links"))),
        resource,
        is_remote(_integer(span.get("flags"))),
    )


def _event(event: Mapping[str, Any], decoded: Decoded) -> ReceivedEvent:
    at_ns = _integer(_either(event, "timeUnixNano", "time_unix_nano"))
    return ReceivedEvent(decoded.cut_text(_text(event, "name")), at_ns, _attributes(_list(event, "attributes"), decoded))


def _links(links: Iterable[Mapping[str, Any]]) -> tuple[ReceivedLink, ...]:
    ids = ((_id(link, "traceId", "trace_id"), _id(link, "spanId", "span_id")) for link in links)
    return tuple(ReceivedLink(trace_id, span_id) for trace_id, span_id in ids if is_link(trace_id, span_id))


def _attributes(attributes: Iterable[Any], decoded: Decoded, depth: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in attributes:
        pair = _object(attribute)
        value = _part(pair, "value")
        text = value.get("stringValue")
        if type(text) is str and len(text) <= MOST_TEXT:
            found[_text(pair, "key")] = text
        else:
            found[_text(pair, "key")] = _value(value, decoded, depth)
    return found


def _value(value: Mapping[str, Any], decoded: Decoded, depth: int) -> Any:
    for name, held in value.items():
        if held is None:
            continue
        if name in ("stringValue", "string_value") and isinstance(held, str):
            return decoded.cut_text(held)
        if name in ("intValue", "int_value"):
            return _int64(held)
        if name in ("boolValue", "bool_value") and isinstance(held, bool):
            return held
        if name in ("doubleValue", "double_value"):
            return _double(held)
        if name in ("bytesValue", "bytes_value") and isinstance(held, str):
            return decoded.cut_text(held)
        if name in ("arrayValue", "array_value"):
            items = _list(_object(held), "values")
            return decoded.cut_depth() if depth >= MOST_DEPTH else [_value(_object(item), decoded, depth + 1) for item in items]
        if name in ("kvlistValue", "kvlist_value"):
            pairs = _list(_object(held), "values")
            return decoded.cut_depth() if depth >= MOST_DEPTH else _attributes(pairs, decoded, depth + 1)
        if name.endswith(("Value", "_value")):
            raise Malformed(f"the body is no OTLP trace request in JSON: {name} holds a {type(held).__name__}")
    return None


def _either(mapping: Mapping[str, Any], camel: str, snake: str) -> Any:
    value = mapping.get(camel)
    return mapping.get(snake) if value is None else value


def _object(value: Any) -> dict[str, Any]:
    if type(value) is dict:
        return value
    raise Malformed(f"the body is no OTLP trace request in JSON: a {type(value).__name__} where an object belongs")


def _part(mapping: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = mapping.get(name)
    return {} if value is None else _object(value)


def _list(mapping: Mapping[str, Any], camel: str, snake: str = "") -> list[Any]:
    value = _either(mapping, camel, snake)
    if value is None:
        return []
    if type(value) is list:
        return value
    raise Malformed(f"the body is no OTLP trace request in JSON: {camel} is a {type(value).__name__}")


def _text(mapping: Mapping[str, Any], name: str) -> str:
    value = mapping.get(name)
    if type(value) is str:
        return value
    if value is None:
        return ""
    raise Malformed(f"the body is no OTLP trace request in JSON: {name} is a {type(value).__name__}")


def _id(mapping: Mapping[str, Any], camel: str, snake: str) -> str:
    """In lower-case hex; what is neither hex nor base64 becomes a text that no id has the length of."""
    text = _either(mapping, camel, snake)
    if text is None:
        return ""
    if type(text) is not str:
        raise Malformed(f"the body is no OTLP trace request in JSON: {camel} is a {type(text).__name__}")
    if text[-1:] == "=" and len(text) in (12, 24):
        try:
            return b64decode(text, validate=True).hex()
        except ValueError:
            return "?"
    return text.lower() if _HEX.issuperset(text) else "?"


def _named(names: Mapping[Any, str], value: Any, default: str) -> str:
    return names.get(value, default) if isinstance(value, int | str) else default


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    if value is None or value == "":
        return 0
    if type(value) is str and len(value) <= 20:
        try:
            return int(value)
        except ValueError:
            pass
    if type(value) is float and value.is_integer():
        return int(value)
    raise Malformed(f"the body is no OTLP trace request in JSON: {str(value)[:40]!r} is no whole number")


def _int64(value: Any) -> int:
    number = _integer(value)
    if -_INT64 <= number < _INT64:
        return number
    raise Malformed(f"the body is no OTLP trace request in JSON: {number} has more than 64 bits")


def _double(value: Any) -> Any:
    if type(value) in (int, float):
        return plain_number(float(value))
    if value in _NOT_A_NUMBER:
        return value
    try:
        return plain_number(float(value))
    except (TypeError, ValueError):
        raise Malformed(f"the body is no OTLP trace request in JSON: {str(value)[:40]!r} is no number") from None
