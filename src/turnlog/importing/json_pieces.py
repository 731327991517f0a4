"""The elements of a large JSON document, one after the other, without holding the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

# Arrays whose elements stand for themselves, and those whose elements stay under their name.
_ELEMENTS = {b'"data"': "", b'"resourceSpans"': "resourceSpans", b'"resource_spans"': "resourceSpans"}
_CHUNK = 1 << 20
_BETWEEN = re.compile(rb"[\s,:]*+")
_NESTING = re.compile(rb'["{}\[\]]')
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PLAIN = re.compile(rb"[^\s,:{}\[\]\"]++")


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def pieces(head: bytes, stream: Readable, largest: int) -> Iterator[tuple[str, bytes]]:
    """Each element with the name that it stays under; a document without such an array is one piece. Raises ValueError."""
    text = _Text(head, stream, largest)
    opening = text.next()
    if opening == b"[":
        for element in text.elements():
            yield "", element
        return
    if opening != b"{":
        raise ValueError("no JSON")
    kept: list[bytes] = []
    found = False
    while text.next(take=False) != b"}":
        name = text.value()
        text.next(take=False)
        if name in _ELEMENTS and text.next(take=False) == b"[":
            found = True
            text.next()
            for element in text.elements():
                yield _ELEMENTS[name], element
        else:
            kept.append(name + b":" + text.value())
            if sum(map(len, kept)) > largest:
                raise ValueError(f"one object of more than {largest // 1024**2} MiB")
    if not found:
        yield "", b"{" + b",".join(kept) + b"}"


class _Text:
    def __init__(self, head: bytes, stream: Readable, largest: int) -> None:
        self._text = head
        self._at = 0
        self._stream = stream
        self._largest = largest

    def elements(self) -> Iterator[bytes]:
        while self.next(take=False) != b"]":
            yield self.value()
        self.next()

    def next(self, *, take: bool = True) -> bytes:
        """The next character that is no space or sign between values."""
        while True:
            found = _BETWEEN.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                break
            self._more(self._at)
        letter = self._text[self._at : self._at + 1]
        self._at += take
        return letter

    def value(self) -> bytes:
        first = self.next(take=False)
        end = self._end_of_nested() if first in b"{[" else self._end_of_string(1) if first == b'"' else self._end_of_plain()
        piece = self._text[self._at : self._at + end]
        self._at += end
        return piece

    # Places below are counted from the value's beginning: what is before it goes when more is read.
    def _end_of_nested(self) -> int:
        depth, place = 0, 0
        while True:
            found = _NESTING.search(self._text, self._at + place)
            if found is None:
                place = len(self._text) - self._at
                self._more(self._at)
                continue
            place = found.end() - self._at
            match found[0]:
                case b'"':
                    place = self._end_of_string(place)
                case b"{" | b"[":
                    depth += 1
                case _:
                    depth -= 1
                    if depth == 0:
                        return place

    def _end_of_string(self, place: int) -> int:
        while (found := _STRING.match(self._text, self._at + place)) is None:
            self._more(self._at)
        return found.end() - self._at

    def _end_of_plain(self) -> int:
        while True:
            found = _PLAIN.match(self._text, self._at)
            if found is None:
                raise ValueError("no JSON")
            if found.end() < len(self._text):
                return found.end() - self._at
            self._more(self._at)

    def _more(self, keep: int) -> None:
        rest = self._text[keep:]
        if len(rest) > self._largest:
            raise ValueError(f"one value of more than {self._largest // 1024**2} MiB")
        # As much again as is kept: a long value is not copied once per chunk.
        chunk = self._stream.read(max(_CHUNK, len(rest)))
        if not chunk:
            raise ValueError("cut off")
        self._text, self._at = rest + chunk, 0
