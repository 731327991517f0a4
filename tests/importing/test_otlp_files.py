"""OTLP in protobuf: one message, and the file exporter's messages with their length before them."""

from __future__ import annotations

import gzip

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from importing.reading import given
from turnlog.importing import UnknownFormat
from turnlog.importing.source import Bad


def message(service: str, *names: str) -> bytes:
    spans = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": service}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    for name in names:
        provider.get_tracer("test").start_span(name, attributes={"long": "x" * 300}).end()
    encoded: bytes = encode_spans(spans.get_finished_spans()).SerializeToString()
    return encoded


def framed(*messages: bytes) -> bytes:
    return b"".join(len(each).to_bytes(4) + each for each in messages)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_one_message_is_read(pack: object) -> None:
    assert callable(pack)
    found = given(pack(message("shop", "a", "b")))
    assert (found.format, [span.name for span in found.spans]) == ("otlp-proto", ["a", "b"])
    assert {span.resource["service.name"] for span in found.spans} == {"shop"}


def test_messages_that_follow_each_other_are_one() -> None:
    found = given(message("shop", "a") + message("till", "b"))
    assert [(span.name, span.resource["service.name"]) for span in found.spans] == [("a", "shop"), ("b", "till")]


def test_messages_with_their_length_are_read_and_a_cut_one_is_told() -> None:
    found = given(framed(message("shop", "a"), message("shop", "b")) + framed(message("shop", "c"))[:-5])
    assert [span.name for span in found.spans] == ["a", "b"]
    assert found.bad == [Bad(3, "cut off")]


def test_a_message_that_is_none_is_told_and_the_next_is_read() -> None:
    found = given(framed(b"\x0a\x05what?", message("shop", "b")))
    assert [span.name for span in found.spans] == ["b"]
    assert [bad.place for bad in found.bad] == [1]


@pytest.mark.parametrize("data", [b"\x00\x01\x02\x03\xff\xff\xff\xff", b"\x9d\x00\xe5\x1a" * 40, b"\n\x00\xe5\x1a" * 40])
def test_bytes_that_are_no_protobuf_are_nothing_that_is_known(data: bytes) -> None:
    with pytest.raises(UnknownFormat, match=r"^holds nothing that turnlog knows"):
        given(data)
    found = given(data, "otlp-proto")
    assert (found.spans, len(found.bad)) == ([], 1)
