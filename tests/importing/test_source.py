"""Files are recognised by what they hold, unpacked, read a piece at a time, and read on behind what cannot be read."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from importing.reading import given, lines
from turnlog.errors import TurnlogError
from turnlog.importing import CutOff, UnknownFormat
from turnlog.importing.json_pieces import pieces
from turnlog.importing.source import LARGEST, Bad, Source


def otlp(*names: str) -> dict[str, Any]:
    spans = [
        {"traceId": "0" * 31 + "1", "spanId": f"{number:016x}", "name": name, "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
        for number, name in enumerate(names, 1)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def names(data: bytes) -> list[str]:
    return [span.name for span in given(data).spans]


class Endless(io.RawIOBase):
    """A document that is made while it is read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._rest and (part := next(self._parts, b"")):
            self._rest = part
        taken, self._rest = self._rest[: len(into)], self._rest[len(into) :]
        into[: len(taken)] = taken
        return len(taken)


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_and_lines_of_documents_are_read_alike(indent: int | None) -> None:
    assert names(json.dumps(otlp("a", "b"), indent=indent).encode()) == ["a", "b"]
    assert names(lines([otlp("a"), otlp("b")])) == ["a", "b"]


def test_gzip_is_unpacked_whatever_the_file_is_called() -> None:
    assert names(gzip.compress(lines([otlp("a")]))) == ["a"]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python unpacks zstd from 3.14 on")
def test_zstd_is_refused_with_what_to_do() -> None:
    with pytest.raises(TurnlogError, match="zstd -d"):
        given(b"\x28\xb5\x2f\xfd....")


def test_a_byte_order_mark_and_blank_lines_are_no_lines() -> None:
    assert names(b"\xef\xbb\xbf\n\n" + lines([otlp("a")]) + b"\n\n") == ["a"]


def test_bad_lines_are_counted_with_their_place_and_reading_goes_on() -> None:
    found = given(lines([otlp("a")]) + b"{oops\n[1, 2]\n" + lines([otlp("b")]) + b'{"resourceSp')
    assert [span.name for span in found.spans] == ["a", "b"]
    assert [(bad.place, bad.reason[:40]) for bad in found.bad] == [
        (2, "no JSON"),
        (3, "the body is no OTLP trace request in JSON"[:40]),
        (3, "the body is no OTLP trace request in JSON"[:40]),
        (5, "cut off"),
    ]


def test_a_bad_first_line_does_not_hide_the_others() -> None:
    found = given(b"{oops\n" + lines([otlp("a")]))
    assert [span.name for span in found.spans] == ["a"]
    assert found.bad == [Bad(1, "no JSON")]


def test_a_document_that_breaks_off_gives_what_is_before() -> None:
    text = json.dumps({"resourceSpans": [otlp(name)["resourceSpans"][0] for name in "ab"]}, indent=1)
    found = given(text[:-40].encode())
    assert [span.name for span in found.spans] == ["a"]
    assert found.bad == [Bad(2, "cut off")]


@pytest.mark.parametrize("data", [b"", b"\n", b"# A heading\n", b'{"a": 1}\n', b"[]", b"1\n2\n"])
def test_what_holds_nothing_that_is_known_is_refused(data: bytes) -> None:
    with pytest.raises(UnknownFormat):
        given(data)


@pytest.mark.parametrize("name", ["", "codex", "otlp-proto"])
@pytest.mark.parametrize("data", [b"", gzip.compress(b"")])
def test_an_empty_file_is_called_empty(name: str, data: bytes) -> None:
    with pytest.raises(UnknownFormat, match=r"^is empty$"):
        given(data, name)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_trace_that_breaks_off_is_called_cut_off(indent: int | None) -> None:
    text = json.dumps({"data": [{"traceID": "1", "spans": [{"spanID": "2"}]}]}, indent=indent)
    with pytest.raises(CutOff, match=r"^is cut off"):
        given(text[:-20].encode())


@pytest.mark.parametrize("data", [b"# A heading", b'{"a": 1}\n{"b": '])
def test_what_is_not_known_is_not_called_cut_off(data: bytes) -> None:
    with pytest.raises(UnknownFormat):
        given(data)


def test_a_file_of_another_format_than_the_named_is_refused() -> None:
    with pytest.raises(UnknownFormat, match=r"^holds nothing of the format codex, but of otlp; leave out --format$"):
        given(lines([otlp("a")]), "codex")


def test_a_line_that_is_too_long_is_left_out() -> None:
    long = b'{"resourceSpans": "' + b"x" * (LARGEST + 10) + b'"}\n'
    found = given(lines([otlp("a")]) + long + lines([otlp("b")]))
    assert [span.name for span in found.spans] == ["a", "b"]
    assert found.bad == [Bad(2, "longer than 64 MiB")]


@pytest.mark.parametrize("opening", [b"[\n", b'{"total": 1, "data": [\n', b'{"resourceSpans": [\n'])
def test_a_large_document_is_never_held_whole(opening: bytes) -> None:
    one = json.dumps({"text": 'a "quoted" } ] text' * 500}).encode()

    def parts() -> Iterator[bytes]:
        yield opening
        for number in range(5000):
            yield one if not number else b",\n" + one
        yield b"]" if opening == b"[\n" else b"]}"

    tracemalloc.start()
    try:
        source = Source(Endless(parts()), None, lambda _: None)  # type: ignore[arg-type]
        count = sum(1 for _ in source.records())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (count, source.bad) == (5000, [])
    assert peak < 12 * 1024**2 < 5000 * len(one)


def test_pieces_are_cut_right_wherever_the_chunks_end() -> None:
    values: list[Any] = [{"a": ["}", '"]', "\\", {"b": None}]}, [], {}, 'text, with ] and \\"', 12.5, True, {"ü": "\n"}]
    for text in (json.dumps(values), json.dumps(values, indent=3, ensure_ascii=False)):
        data = text.encode()

        class Slow:
            def __init__(self, data: bytes) -> None:
                self._rest = data

            def read(self, size: int, /) -> bytes:
                part, self._rest = self._rest[:1], self._rest[1:]
                return part

        assert [json.loads(piece) for _, piece in pieces(data[:1], Slow(data[1:]), 1 << 20)] == values


def test_the_bytes_that_were_read_are_told() -> None:
    data = gzip.compress(lines([otlp("a")] * 100))
    counts: list[int] = []
    list(Source(io.BytesIO(data), None, counts.append).records())
    assert sum(counts) == len(data)
