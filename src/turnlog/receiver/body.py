"""A request's body, read and inflated within bounds: bytes are counted while they come, and a slow sender is not waited for."""

from __future__ import annotations

import socket
import time
import zlib
from email.message import Message
from http import HTTPStatus
from io import BufferedIOBase

from turnlog.receiver.refusal import Refusal

MOST_COMPRESSED = 4 * 1024 * 1024
MOST_BYTES = 16 * 1024 * 1024
_PIECE = 64 * 1024
_LONGEST_LINE = 256
_MOST_TRAILERS = 16
_SMALLER = "Let the sender make smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE; in a collector, send_batch_max_size)"


class Source:
    """What a sender sends, until a deadline."""

    def __init__(self, connection: socket.socket, stream: BufferedIOBase, seconds: float) -> None:
        self._connection = connection
        self._stream = stream
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def some(self, most: int) -> bytes:
        """As much as has come, at most so many bytes; none when the sender has closed."""
        left = self._deadline - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError
            self._connection.settimeout(left)
            return self._stream.read1(min(most, _PIECE))
        except TimeoutError:
            raise Refusal(HTTPStatus.REQUEST_TIMEOUT, f"the body did not come within {self._seconds:g} s") from None

    def exactly(self, count: int) -> list[bytes]:
        pieces = []
        while count:
            piece = self.some(count)
            if not piece:
                raise Refusal(HTTPStatus.BAD_REQUEST, "the body ended before its length")
            pieces.append(piece)
            count -= len(piece)
        return pieces

    def line(self) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n"):
            if len(line) > _LONGEST_LINE:
                raise Refusal(HTTPStatus.BAD_REQUEST, "a line of the chunked body is too long")
            line += b"".join(self.exactly(1))
        return bytes(line).strip()


def has_body(headers: Message) -> bool:
    return "Transfer-Encoding" in headers or headers.get("Content-Length", "0").strip() != "0"


def is_compressed(headers: Message) -> bool:
    encoding = ", ".join(headers.get_all("Content-Encoding", [])).strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise Refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"the Content-Encoding {encoding[:100]} is not read here. Set OTEL_EXPORTER_OTLP_COMPRESSION to gzip or none",
            {"Accept-Encoding": "gzip"},
        )
    return encoding == "gzip"


def read_body(headers: Message, source: Source) -> bytes:
    """The body as it was sent."""
    most = MOST_COMPRESSED if is_compressed(headers) else MOST_BYTES
    codings, lengths = headers.get_all("Transfer-Encoding", []), headers.get_all("Content-Length", [])
    if (codings and lengths) or len(lengths) > 1:
        raise Refusal(HTTPStatus.BAD_REQUEST, "the body has two lengths")
    if codings:
        if [coding.strip().lower() for coding in codings] != ["chunked"]:
            raise Refusal(HTTPStatus.NOT_IMPLEMENTED, "of the transfer codings, only chunked is read here")
        return _chunks(source, most)
    if not lengths:
        raise Refusal(HTTPStatus.LENGTH_REQUIRED, "the body has no Content-Length")
    length = lengths[0].strip()
    if not (length.isascii() and length.isdecimal()):
        raise Refusal(HTTPStatus.BAD_REQUEST, "the Content-Length is no number")
    if len(length) > 18 or int(length) > most:
        raise _too_large(most)
    return b"".join(source.exactly(int(length)))


def inflate(body: bytes) -> bytes:
    """What gzip made the body of, if it is no more than is taken: a bomb is stopped at the bound."""
    stream = zlib.decompressobj(31)
    try:
        inflated = stream.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"the body is no gzip: {error}") from None
    if len(inflated) > MOST_BYTES:
        raise _too_large(MOST_BYTES)
    if not stream.eof or stream.unused_data:
        raise Refusal(HTTPStatus.BAD_REQUEST, "the body is no single, whole gzip member")
    return inflated


def _chunks(source: Source, most: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while length := _chunk_length(source.line()):
        size += length
        if size > most:
            raise _too_large(most)
        pieces += source.exactly(length)
        if source.line():
            raise Refusal(HTTPStatus.BAD_REQUEST, "a chunk of the body is longer than it says")
    for _ in range(_MOST_TRAILERS):
        if not source.line():
            return b"".join(pieces)
    raise Refusal(HTTPStatus.BAD_REQUEST, "the chunked body has too many trailers")


def _chunk_length(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 8 or not set(digits) <= set(b"0123456789abcdefABCDEF"):
        raise Refusal(HTTPStatus.BAD_REQUEST, "a chunk of the body has no length")
    return int(digits, 16)


def _too_large(most: int) -> Refusal:
    compressed = "compressed" if most == MOST_COMPRESSED else "uncompressed"
    message = f"the body has more than {most // 1024**2} MiB {compressed}. {_SMALLER}"
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
