"""How many spans a protobuf request holds, told before it is parsed: 16 MiB of empty spans, which gzip sends as 16 kB, take
1.4 GB once they are parsed.
"""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.otlp.decoded import Malformed

_RESOURCE_SPANS, _SCOPE_SPANS, _SPANS = 1, 2, 2
_FIXED = {1: 8, 5: 4}


def count_spans(body: bytes, most: int) -> int:
    """Exact up to `most`, and more than that for more."""
    count = 0
    for resource in _messages(body, 0, len(body), _RESOURCE_SPANS):
        for scope in _messages(body, *resource, _SCOPE_SPANS):
            for _ in _messages(body, *scope, _SPANS):
                count += 1
                if count > most:
                    return count
    return count


def _messages(body: bytes, at: int, end: int, number: int) -> Iterator[tuple[int, int]]:
    """Where the messages lie that this field holds."""
    while at < end:
        tag, at = _varint(body, at)
        wire = tag & 7
        if wire == 2:
            length, at = _varint(body, at)
            if at + length > end:
                raise Malformed("the body is no OTLP trace request in protobuf: it is truncated")
            if tag >> 3 == number:
                yield at, at + length
            at += length
        elif wire == 0:
            _, at = _varint(body, at)
        elif wire in _FIXED:
            at += _FIXED[wire]
        else:
            raise Malformed(f"the body is no OTLP trace request in protobuf: a field of wire type {wire}")


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """The number that begins here, and where the next thing does."""
    number = 0
    for index, byte in enumerate(body[at : at + 10]):
        number |= (byte & 127) << 7 * index
        if byte < 128:
            return number, at + index + 1
    raise Malformed("the body is no OTLP trace request in protobuf: a number without an end")
