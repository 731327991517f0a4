"""Jaeger's JSON, as its page and its query API give it: traces with typed tags, processes and references, in microseconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turnlog.importing.source import Source
from turnlog.importing.values import cause, storable
from turnlog.received import KINDS, ReceivedEvent, ReceivedLink, ReceivedSpan

Json = Mapping[str, Any]
_SAID_ELSEWHERE = {"span.kind", "otel.status_code", "otel.status_description", "otel.scope.name", "error"}
_NOT_SO = (KeyError, TypeError, ValueError, AttributeError)
_SCOPES = ("otel.scope.name", "otel.library.name")


def is_jaeger(value: Any) -> bool:
    return isinstance(value, dict) and "traceID" in value and isinstance(value.get("spans"), list)


def read(source: Source) -> Iterator[ReceivedSpan]:
    for place, trace in source.records():
        if not is_jaeger(trace):
            source.reject(place, "no trace of Jaeger")
            continue
        try:
            resources = {name: _resource(process) for name, process in (trace.get("processes") or {}).items()}
        except _NOT_SO as error:
            source.reject(place, f"no processes of Jaeger: {cause(error)}")
            continue
        for span in trace["spans"]:
            try:
                yield _span(span, resources)
            except _NOT_SO as error:
                source.reject(place, f"no span of Jaeger: {cause(error)}")


def _span(span: Json, resources: Mapping[str, Json]) -> ReceivedSpan:
    trace_id = _id(span["traceID"], 32)
    tags = _tags(span.get("tags"))
    above = [each for each in span.get("references") or () if each.get("refType") == "CHILD_OF"]
    parent = next((each["spanID"] for each in above if _id(each["traceID"], 32) == trace_id), span.get("parentSpanID") or "")
    start_ns = storable(int(span["startTime"]) * 1000)
    status = str(tags.get("otel.status_code") or ("ERROR" if tags.get("error") in (True, "true") else "unset")).lower()
    kind = str(tags.get("span.kind") or "internal")
    process = span.get("process")
    warnings = [str(each) for each in span.get("warnings") or ()]
    return ReceivedSpan(
        trace_id,
        _id(span["spanID"], 16),
        _id(parent, 16) if parent else "",
        str(span.get("operationName") or ""),
        start_ns,
        storable(start_ns + max(0, int(span.get("duration") or 0)) * 1000),
        kind if kind in KINDS else "internal",
        status if status in ("ok", "error") else "unset",
        str(tags.get("otel.status_description") or ""),
        str(next((tags[key] for key in _SCOPES if tags.get(key)), "")),
        {key: value for key, value in tags.items() if key not in _SAID_ELSEWHERE}
        | ({"jaeger.warnings": warnings} if warnings else {}),
        tuple(_event(each) for each in span.get("logs") or ()),
        tuple(
            ReceivedLink(_id(each["traceID"], 32), _id(each["spanID"], 16))
            for each in span.get("references") or ()
            if each.get("refType") == "FOLLOWS_FROM" or _id(each["traceID"], 32) != trace_id
        ),
        _resource(process) if isinstance(process, Mapping) else resources.get(str(span.get("processID")), {}),
    )


def _resource(process: Json) -> Json:
    return {"service.name": process.get("serviceName") or "", **_tags(process.get("tags"))}


def _event(log: Json) -> ReceivedEvent:
    fields = _tags(log.get("fields"))
    return ReceivedEvent(str(fields.pop("event", fields.pop("message", ""))), int(log["timestamp"]) * 1000, fields)


def _tags(tags: Iterable[Json] | None) -> dict[str, Any]:
    return {str(tag["key"]): _typed(tag.get("type"), tag.get("value")) for tag in tags or ()}


def _typed(kind: Any, value: Any) -> Any:
    match str(kind or "string").lower():
        case "int64":
            return int(value)
        case "float64":
            return float(value)
        case "bool":
            return value is True or value == "true"
        case _:
            return value


def _id(text: Any, size: int) -> str:
    """Jaeger leaves out leading zeros, and has 64 bits for traces of old clients."""
    digits = str(text).lower().rjust(size, "0")
    if len(digits) != size or int(digits, 16) == 0:
        raise ValueError(f"{text!r} is no id")
    return digits
