"""What both forms of a request decode to, and the bounds that hold for both."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from turnlog.errors import TurnlogError
from turnlog.received import ReceivedSpan

PROTOBUF = "application/x-protobuf"
JSON = "application/json"

MOST_DEPTH = 16
MOST_TEXT = 1024 * 1024
# A value as large as this is no long answer of a tool any more: its span is refused, not cut.
HOSTILE_TEXT = 4 * 1024 * 1024
_INT64 = 2**63
_REMOTE = 0x300
_NO_TRACE = "0" * 32
_NO_SPAN = "0" * 16


class Malformed(TurnlogError):
    """The bytes are no OTLP trace request."""


class TooManySpans(TurnlogError):
    """A request holds more spans than the caller takes at once."""


class Refused(Exception):
    """A span that is well formed but cannot be kept."""


@dataclass(slots=True)
class Decoded:
    """`rejected` spans were left out, for `reason`; `cut` values are shorter or shallower than they came."""

    spans: list[ReceivedSpan] = field(default_factory=list)
    rejected: int = 0
    cut: int = 0
    _reasons: Counter[str] = field(default_factory=Counter)

    @property
    def reason(self) -> str:
        return "; ".join(f"{reason} ({count:,})" for reason, count in self._reasons.most_common())

    def reject(self, reason: str) -> None:
        self.rejected += 1
        self._reasons[reason] += 1

    def cut_text(self, text: str) -> str:
        if len(text) <= MOST_TEXT:
            return text
        if len(text) > HOSTILE_TEXT:
            raise Refused(f"an attribute is longer than {HOSTILE_TEXT // 1024**2} MiB")
        self.cut += 1
        return text[:MOST_TEXT]

    def cut_depth(self) -> str:
        self.cut += 1
        return f"… (deeper than {MOST_DEPTH})"


def check_size(spans: int, most: int | None) -> None:
    if most is not None and spans > most:
        raise TooManySpans(f"more than {most:,} spans in one request. Let the sender make smaller batches.")


def check_identity(trace_id: str, span_id: str, parent_id: str) -> str:
    """The parent's id, which is empty for a root whatever a sender writes there."""
    if len(trace_id) != 32 or trace_id == _NO_TRACE:
        raise Refused("the trace id is not 16 bytes, or zero")
    if len(span_id) != 16 or span_id == _NO_SPAN:
        raise Refused("the span id is not 8 bytes, or zero")
    if parent_id and len(parent_id) != 16:
        raise Refused("the parent's span id is not 8 bytes")
    return "" if parent_id == _NO_SPAN else parent_id


def is_link(trace_id: str, span_id: str) -> bool:
    return len(trace_id) == 32 and len(span_id) == 16 and trace_id != _NO_TRACE and span_id != _NO_SPAN


def is_remote(flags: int) -> bool:
    """Whether the sender knows where the parent is, and it is in another process."""
    return flags & _REMOTE == _REMOTE


def check_times(start_ns: int, end_ns: int) -> int:
    """The end, which is the start where a sender's clock went back in between or it named none."""
    if not 0 < start_ns < _INT64:
        raise Refused("there is no start time, or one beyond the year 2262")
    if not 0 <= end_ns < _INT64:
        raise Refused("the end time is beyond the year 2262")
    return max(start_ns, end_ns)


def plain_number(number: float) -> Any:
    """JSON has no number for these; OTLP writes them as text too."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
