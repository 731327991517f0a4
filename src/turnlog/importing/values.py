"""Times and ids, as files have them, in the form of received spans."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEX = frozenset("0123456789abcdef")


def nanoseconds(value: Any) -> int:
    """A time as ISO text, or as a number of seconds, milli-, micro- or nanoseconds: whichever is of our century."""
    if isinstance(value, str):
        at = datetime.fromisoformat(value)
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return storable((at - _EPOCH) // timedelta(microseconds=1) * 1000)
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{value!r} is no time")
    unit = next(unit for unit in (10**9, 10**6, 10**3, 1) if value * unit < 10**19 or unit == 1)
    return storable(int(value) * unit if isinstance(value, int) else int(value * 1_000_000) * unit // 1_000_000)


def storable(time_ns: int) -> int:
    if 0 < time_ns < 2**63:
        return time_ns
    raise ValueError(f"{time_ns} is no time between 1970 and 2262")


def trace_id(text: str) -> str:
    """An id that is one already, or one that is always the same for the same text."""
    plain = text.lower().replace("-", "")
    return plain if len(plain) == 32 and _HEX.issuperset(plain) else made_id(32, text)


def span_id(text: str) -> str:
    return text.lower() if len(text) == 16 and _HEX.issuperset(text.lower()) else made_id(16, text)


def cause(error: Exception) -> str:
    """What was wrong with a line, in words: types of Python say nothing to whoever has the file."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error) if isinstance(error, ValueError) else "it has another form"


def made_id(size: int, *words: str) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:size]
