"""OTLP JSON as the collector's file exporter writes it: one `ExportTraceServiceRequest` a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from turnlog.otlp import JSON
from turnlog.otlp.encode import batches
from turnlog.received import ReceivedSpan

MOST_SPANS = 256
# The collector's otlpjsonfile receiver cuts a line at 1 MiB unless it is told otherwise.
_MOST_BYTES = 1000 * 1000


def write_lines(spans: Sequence[ReceivedSpan], file: BinaryIO) -> None:
    for line, _ in batches(spans, JSON, MOST_SPANS, _MOST_BYTES):
        file.write(line + b"\n")
