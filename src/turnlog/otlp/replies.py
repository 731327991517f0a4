"""What an endpoint answers to a request that we sent: how much of it was refused, or what went wrong."""

from __future__ import annotations

from typing import Any

import orjson

from turnlog.otlp.decoded import JSON, PROTOBUF

_MOST_SHOWN = 200


def decode_response(body: bytes, content_type: str = PROTOBUF) -> tuple[int, str]:
    """How many spans were rejected, and why. An answer that cannot be read has rejected none."""
    if content_type == JSON:
        partial = _object(_object(_parsed(body)).get("partialSuccess"))
        rejected = str(partial.get("rejectedSpans") or 0)
        return int(rejected) if rejected.isdecimal() else 0, str(partial.get("errorMessage") or "")
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        partial_success = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError:
        return 0, ""
    return partial_success.rejected_spans, partial_success.error_message


def decode_status(body: bytes, content_type: str = PROTOBUF) -> str:
    """What is said to an error: a `google.rpc.Status`, or whatever text a proxy puts there."""
    if content_type == PROTOBUF:
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
        from google.rpc.status_pb2 import Status  # type: ignore[import-untyped, unused-ignore]

        try:
            return str(Status.FromString(body).message)
        except DecodeError:
            return ""
    if content_type == JSON:
        return str(_object(_parsed(body)).get("message") or "")
    return body[:_MOST_SHOWN].decode("utf-8", "replace") if content_type == "text/plain" else ""


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:
        return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
