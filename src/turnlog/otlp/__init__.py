"""OTLP trace requests: bytes in, received spans out; and the answers that OTLP expects.

Nothing here knows HTTP, sessions or state. A request whose bytes are not OTLP is refused as a whole; a span that cannot be
kept is counted and left out; a value that is too deep or too long is cut and counted.
"""

from __future__ import annotations

from turnlog.otlp.answers import encode_response, encode_status
from turnlog.otlp.decoded import JSON, PROTOBUF, Decoded, Malformed, TooManySpans

__all__ = [
    "JSON",
    "PROTOBUF",
    "Decoded",
    "Malformed",
    "TooManySpans",
    "decode",
    "encode_response",
    "encode_status",
]


def decode(body: bytes, content_type: str = PROTOBUF, *, most_spans: int | None = None) -> Decoded:
    """The spans of an `ExportTraceServiceRequest`. Raises Malformed, and TooManySpans when there are more than `most_spans`."""
    if content_type == JSON:
        from turnlog.otlp import json_form

        return json_form.decode(body, most_spans)
    from turnlog.otlp import protobuf_form

    return protobuf_form.decode(body, most_spans)
