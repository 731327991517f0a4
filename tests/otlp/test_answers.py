"""Answers read by the library that senders use."""

from __future__ import annotations

import orjson
import pytest
from google.protobuf.json_format import Parse
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from turnlog.otlp import JSON, PROTOBUF, encode_response, encode_status


def test_full_success_says_nothing() -> None:
    assert encode_response(PROTOBUF) == b""
    assert encode_response(JSON) == b"{}"


@pytest.mark.parametrize(("rejected", "message"), [(3, "no start time (3)"), (0, "2 values were cut")])
def test_partial_success_reads_the_same_in_both_forms(rejected: int, message: str) -> None:
    binary = ExportTraceServiceResponse.FromString(encode_response(PROTOBUF, rejected, message))
    text = Parse(encode_response(JSON, rejected, message), ExportTraceServiceResponse())
    assert binary == text
    assert (binary.partial_success.rejected_spans, binary.partial_success.error_message) == (rejected, message)


def test_a_status_reads_the_same_in_both_forms() -> None:
    assert Status.FromString(encode_status(PROTOBUF, 3, "bad")) == Status(code=3, message="bad")
    assert orjson.loads(encode_status(JSON, 3, "bad")) == {"code": 3, "message": "bad"}
