"""Frames in bytes: whole ones are found whatever lies around them, and nothing is read twice or too early."""

from __future__ import annotations

import pytest

from turnlog.journal.frame import HEADER_SIZE, MAGIC, Frame, encode_frame, read_frames

ROWS = [b'{"n":1}\n', b'{"n":2}\n{"n":3}\n', b'{"n":4}\n']
FRAMES = [encode_frame(ROWS[0], 1), encode_frame(ROWS[1], 2), encode_frame(ROWS[2], 1)]
DATA = b"".join(FRAMES)


def read(data: bytes, complete: bool = True) -> list[tuple[int, bytes]]:
    return [(frame.rows, frame.payload) for frame in read_frames(data, 0, complete)]


def whole(data: bytes) -> list[bytes]:
    return [payload for rows, payload in read(data) if rows]


def bad(data: bytes) -> int:
    return sum(1 for rows, _ in read(data) if not rows)


def test_frames_come_back_with_their_place_and_rows() -> None:
    first, second = len(FRAMES[0]), len(FRAMES[0]) + len(FRAMES[1])
    assert list(read_frames(DATA, 100, complete=False)) == [
        Frame(100, 100 + first, 1, ROWS[0]),
        Frame(100 + first, 100 + second, 2, ROWS[1]),
        Frame(100 + second, 100 + len(DATA), 1, ROWS[2]),
    ]


@pytest.mark.parametrize("size", range(len(DATA)))
def test_what_is_not_whole_yet_is_left_for_later(size: int) -> None:
    found = list(read_frames(DATA[:size], 0, complete=False))
    assert all(frame.rows for frame in found)
    reached = found[-1].end if found else 0
    assert [frame.payload for frame in found] + whole(DATA[reached:]) == ROWS


@pytest.mark.parametrize("size", range(1, len(FRAMES[2])))
def test_a_torn_last_frame_is_set_aside_once_its_file_is_complete(size: int) -> None:
    data = FRAMES[0] + FRAMES[2][:size]
    assert read(data) == [(1, ROWS[0]), (0, FRAMES[2][:size])]


@pytest.mark.parametrize("place", range(len(FRAMES[1])))
@pytest.mark.parametrize("complete", [True, False])
def test_a_corrupt_byte_costs_its_own_frame_only(place: int, complete: bool) -> None:
    middle = bytearray(FRAMES[1])
    middle[place] ^= 0xFF
    found = read(FRAMES[0] + bytes(middle) + FRAMES[2], complete)
    assert [payload for rows, payload in found if rows] == [ROWS[0], ROWS[2]]
    assert sum(1 for rows, _ in found if not rows) == 1


@pytest.mark.parametrize("garbage", [b"\0" * 500, b"text\n" * 9, MAGIC, MAGIC + b"\xff" * 12, bytes(range(200))])
def test_garbage_between_frames_is_one_piece_and_costs_no_neighbour(garbage: bytes) -> None:
    data = FRAMES[0] + garbage + FRAMES[2]
    assert (whole(data), bad(data)) == ([ROWS[0], ROWS[2]], 1)


def test_bytes_that_are_no_frames_at_all_are_one_piece() -> None:
    assert read(b"no journal") == [(0, b"no journal")]
    assert read(b"") == []


def test_a_live_file_that_ends_in_half_a_magic_waits_for_the_other_half() -> None:
    garbage = b"xx" + MAGIC[:2]
    (found,) = read_frames(garbage, 0, complete=False)
    assert found == Frame(0, 2, 0, b"xx")


def test_an_absurd_length_does_not_swallow_what_follows() -> None:
    header = bytearray(FRAMES[1])
    header[4:8] = (60 * 1024 * 1024).to_bytes(4, "little")
    data = FRAMES[0] + bytes(header) + FRAMES[2]
    assert (whole(data), bad(data)) == ([ROWS[0], ROWS[2]], 1)
    assert HEADER_SIZE == 16
