"""What a scripted model says, whichever API it is asked through."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. With a `status` other than 200 it is an HTTP error; with `drop` the connection breaks off, half-way
    through if it is a stream."""

    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[ToolCall] = ()
    input_tokens: int = 11
    output_tokens: int = 7
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    delay: float = 0.0
    status: int = 200
    drop: bool = False


def pieces(text: str) -> list[str]:
    """The text in the pieces in which a stream brings it."""
    return re.findall(r"\S+\s*|\s+", text)
