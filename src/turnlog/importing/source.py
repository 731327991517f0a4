"""A file on its way in: unpacked, cut into JSON values or protobuf messages, a bounded piece at a time.

What cannot be read is counted, the first few with their place and reason, and reading goes on behind it.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from turnlog.errors import TurnlogError
from turnlog.importing.json_pieces import pieces

# One line, message or element of a document; a batch of the collector has a few MB.
LARGEST = 64 * 1024 * 1024
_SHOWN = 5
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BLANK = b" \t\r\n\xef\xbb\xbf"
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_HEAD = 64
_CUT_OFF = "cut off"
# One message begins with a resource's spans, in which a resource, a scope's spans or a schema come first.
_MESSAGE = re.compile(rb"\n[\x80-\xff]{0,4}[\x00-\x7f](?:[\n\x12\x1a]|\Z)")


class Bad(NamedTuple):
    """`place` is a line's number, or an element's where a document is not in lines."""

    place: int
    reason: str


class Record(NamedTuple):
    place: int
    value: Any


class Source:
    """`path` is None for standard input. `advanced` is told how many bytes of the file were just read."""

    def __init__(self, raw: BinaryIO, path: Path | None, advanced: Callable[[int], None]) -> None:
        self.path = path
        self.bad: list[Bad] = []
        self.bad_count = 0
        self.unfinished = 0
        self._stream = _unpacked(_Counted(raw, advanced))
        self._records: Iterator[Record] | None = None

    def reject(self, place: int, reason: str) -> None:
        self.bad_count += 1
        if len(self.bad) < _SHOWN:
            self.bad.append(Bad(place, reason))

    @property
    def is_empty(self) -> bool:
        return not self._stream.peek(1)

    @property
    def is_cut_off(self) -> bool:
        return bool(self.bad) and self.bad[-1].reason == _CUT_OFF

    @property
    def may_be_protobuf(self) -> bool:
        head = self._stream.peek(_HEAD)[:_HEAD]
        is_framed = 0 < int.from_bytes(head[:4]) <= LARGEST and head[4:].startswith((b"\n", _ZSTD))
        return is_framed or _MESSAGE.match(head) is not None

    @property
    def is_text(self) -> bool:
        """Protobuf begins with a line feed, and may go on with a brace; text has no other control characters."""
        return _CONTROL.search(self._stream.peek(_HEAD)[:_HEAD]) is None

    def records(self) -> Iterator[Record]:
        """The JSON values of lines, or of a document; the elements of `[…]`, `{"data": […]}` and `{"resourceSpans": […]}`."""
        if self._records is None:
            self._records = self._read_records()
        return self._records

    def put_back(self, records: Iterator[Record]) -> None:
        self._records = records

    def _read_records(self) -> Iterator[Record]:
        head = b""
        number = 0
        while not head.strip(_BLANK):
            head = self._stream.readline(LARGEST)
            number += 1
            if not head:
                return
        if _is_document(head):
            yield from self._elements(head.lstrip(_BLANK))
        else:
            yield from self._line(number, head)
            yield from self._lines(number)

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """Protobuf: the resources of one message, or messages with four bytes of length before each."""
        head = self._stream.peek(5)[:5]
        cut = self._resources if head[:1] == b"\n" else self._frames
        yield from enumerate(cut(), 1)

    def _lines(self, number: int) -> Iterator[Record]:
        while line := self._stream.readline(LARGEST):
            number += 1
            if len(line) == LARGEST and not line.endswith(b"\n"):
                self._skip_line()
                self.reject(number, f"longer than {LARGEST // 1024**2} MiB")
            else:
                yield from self._line(number, line)

    def _line(self, number: int, line: bytes) -> Iterator[Record]:
        text = line.strip(_BLANK)
        if not text:
            return
        try:
            value = orjson.loads(text)
        except ValueError:
            self.reject(number, _CUT_OFF if text[:1] in b"{[" and not line.endswith(b"\n") else "no JSON")
            return
        listed = value.get("data") if isinstance(value, dict) else value
        for each in listed if isinstance(listed, list) else (value,):
            yield Record(number, each)

    def _elements(self, read: bytes) -> Iterator[Record]:
        number = 0
        try:
            for number, (key, piece) in enumerate(pieces(read, self._stream, LARGEST), 1):
                try:
                    value = orjson.loads(piece)
                except ValueError:
                    self.reject(number, "no JSON")
                    continue
                yield Record(number, {key: [value]} if key else value)
        except ValueError as error:
            self.reject(number + 1, str(error))

    def _skip_line(self) -> None:
        while (rest := self._stream.readline(LARGEST)) and not rest.endswith(b"\n"):
            pass

    def _resources(self) -> Iterator[bytes]:
        while tag := self._stream.read(1):
            size, text = self._varint()
            if tag != b"\n" or size > LARGEST:
                self.reject(1, "no OTLP message")
                return
            yield tag + text + self._exactly(size)

    def _varint(self) -> tuple[int, bytes]:
        text = b""
        while (not text or text[-1] & 0x80) and len(text) < 10 and (byte := self._stream.read(1)):
            text += byte
        return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(text)), text

    def _frames(self) -> Iterator[bytes]:
        number = 0
        while head := self._stream.read(4):
            number += 1
            size = int.from_bytes(head)
            if len(head) < 4 or not 0 < size <= LARGEST:
                self.reject(number, "no length of a message")
                return
            frame = self._exactly(size)
            if len(frame) < size:
                self.reject(number, _CUT_OFF)
                return
            yield _zstd(io.BytesIO(frame)).read() if frame.startswith(_ZSTD) else frame

    def _exactly(self, size: int) -> bytes:
        return self._stream.read(size)


class _Counted(io.RawIOBase):
    def __init__(self, raw: Any, advanced: Callable[[int], None]) -> None:
        self._raw = raw
        self._advanced = advanced

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        data = self._raw.read(len(into))
        into[: len(data)] = data
        self._advanced(len(data))
        return len(data)


def _is_document(head: bytes) -> bool:
    """Whether the first line of a JSON file only begins something: people and tools indent documents."""
    return len(head) >= LARGEST or head.rstrip(_BLANK)[-1:] in (b"{", b"[", b",", b":")


def _buffered(raw: Any) -> io.BufferedReader:
    return io.BufferedReader(raw, 1 << 20)


def _unpacked(raw: Any) -> io.BufferedReader:
    stream = _buffered(raw)
    head = stream.peek(4)[:4]
    if head.startswith(_GZIP):
        return _buffered(gzip.GzipFile(fileobj=stream))
    if head == _ZSTD:
        return _buffered(_zstd(stream))
    return stream


def _zstd(stream: io.BufferedIOBase) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise TurnlogError("this file is packed with zstd, which Python has from 3.14 on: unpack it with `zstd -d`") from None
    return zstd.ZstdFile(stream)
