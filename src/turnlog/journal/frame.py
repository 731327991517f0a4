"""The frame: how rows lie in a journal file, and how they are found again after a crash.

A frame is a header (magic, payload length, CRC-32 of payload and row count, row count) and newline-delimited JSON.
Whoever reads checks the CRC, stops at a frame that is not whole yet, and steps over bytes that are no frame.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"\xf5tlj"  # 0xf5 never occurs in UTF-8, so no payload can look like a frame
_HEADER = struct.Struct("<4sIII")
HEADER_SIZE = _HEADER.size
PAYLOAD_LIMIT = 64 * 1024 * 1024


class Frame(NamedTuple):
    """One stretch of a journal: a whole frame with its rows, or (`rows` 0) bytes that are none and are set aside."""

    start: int
    end: int
    rows: int
    payload: bytes


def encode_frame(payload: bytes, rows: int) -> bytes:
    return _HEADER.pack(MAGIC, len(payload), _checksum(payload, rows), rows) + payload


def _checksum(payload: bytes, rows: int) -> int:
    return zlib.crc32(payload, rows)


def read_frames(data: bytes, base: int, complete: bool) -> Iterator[Frame]:
    """The frames in `data`, which starts at offset `base` of its file.

    A frame that ends beyond the data is left for later, unless the file is `complete`: then its writer died in the
    middle, and what remains is set aside.
    """
    position = 0
    while position < len(data):
        header = data[position : position + HEADER_SIZE]
        if header.startswith(MAGIC) and len(header) == HEADER_SIZE:
            _, length, checksum, rows = _HEADER.unpack(header)
            end = position + HEADER_SIZE + length
            payload = data[position + HEADER_SIZE : end]
            if length <= PAYLOAD_LIMIT:
                if end > len(data):
                    following = data.find(MAGIC, position + 1)
                    if following < 0 and not complete:
                        return
                elif _checksum(payload, rows) == checksum and rows:
                    yield Frame(base + position, base + end, rows, payload)
                    position = end
                    continue
        elif not complete and MAGIC.startswith(header[: len(MAGIC)]):
            return
        following = data.find(MAGIC, position + 1)
        if following < 0:
            following = len(data)
            if not complete:
                following -= _magic_prefix(data)
                if following <= position:
                    return
        yield Frame(base + position, base + following, 0, data[position:following])
        position = following


def _magic_prefix(data: bytes) -> int:
    """How many bytes at the end of the data could be the beginning of a magic that is still being written."""
    return next((size for size in range(len(MAGIC) - 1, 0, -1) if data.endswith(MAGIC[:size])), 0)
