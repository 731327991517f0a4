"""The bodies of answers: `ExportTraceServiceResponse` and `google.rpc.Status`, in the form that the request had."""

from __future__ import annotations

import orjson

from turnlog.otlp.decoded import JSON, PROTOBUF


def encode_response(content_type: str = PROTOBUF, rejected: int = 0, message: str = "") -> bytes:
    """Success; partial where spans were `rejected`. A `message` without any is a warning."""
    if content_type == JSON:
        partial = {"rejectedSpans": str(rejected)} if rejected else {}
        partial |= {"errorMessage": message} if message else {}
        return orjson.dumps({"partialSuccess": partial} if partial else {})
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    response = ExportTraceServiceResponse()
    if rejected or message:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = message
    return bytes(response.SerializeToString())


def encode_status(content_type: str, code: int, message: str) -> bytes:
    if content_type == JSON:
        return orjson.dumps({"code": code, "message": message})
    from google.rpc.status_pb2 import Status  # type: ignore[import-untyped, unused-ignore]

    return bytes(Status(code=code, message=message).SerializeToString())
