"""OTLP in files: lines of JSON or length-prefixed messages as the collector's file exporter writes them, or one document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.importing.source import Source
from turnlog.otlp import Decoded, Malformed, decode
from turnlog.otlp.json_form import decode_request
from turnlog.received import ReceivedSpan


def is_otlp(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in ("resourceSpans", "resource_spans"))


def read_json(source: Source) -> Iterator[ReceivedSpan]:
    for place, value in source.records():
        try:
            decoded = decode_request(value)
        except Malformed as error:
            source.reject(place, str(error))
        else:
            yield from _kept(decoded, source, place)


def read_protobuf(source: Source) -> Iterator[ReceivedSpan]:
    for place, message in source.messages():
        try:
            decoded = decode(message)
        except Malformed as error:
            source.reject(place, str(error))
        else:
            yield from _kept(decoded, source, place)


def _kept(decoded: Decoded, source: Source, place: int) -> Iterator[ReceivedSpan]:
    if decoded.rejected:
        source.reject(place, decoded.reason)
    yield from decoded.spans
