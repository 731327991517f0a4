"""Whether a tool's result reads like a failure. For results whose tool was never seen to run: an inference, and marked so."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

import orjson

_HEAD = 400
_TIMEOUT = re.compile(r"(?i)\A\W*(?:\w+\W+){0,6}?(?:timed? ?out|deadline exceeded)\b")
_ERROR = re.compile(
    r"\A\W*(?:(?i:error|exception|fatal|failed|failure)\s*(?:[:!(]|\b(?i:calling|executing|running|while|in|to|invoking|reading"
    r"|writing|opening|fetching)\b)|Traceback \(most recent call last\)|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b)"
)
_FAILED_WORDS = {"error", "failed", "failure", "timeout"}


def error_in(result: Any) -> str:
    """The error.type that a result suggests, or nothing."""
    if isinstance(result, str) and result[:1] == "{" and len(result) <= 1 << 20:
        with contextlib.suppress(ValueError):
            result = orjson.loads(result)
    if isinstance(result, Mapping):
        return _error_in_mapping(result)
    if not isinstance(result, str):
        return ""
    head = result[:_HEAD]
    if _ERROR.search(head):
        return "timeout" if re.search(r"(?i)time(?:d ?|-)?out", head) else "tool_error"
    return "timeout" if _TIMEOUT.search(head) else ""


def _error_in_mapping(result: Mapping[Any, Any]) -> str:
    status = str(result.get("status", "")).lower()
    said = result.get("error") or result.get("isError") or result.get("is_error")
    if said or result.get("success") is False or result.get("ok") is False or status in _FAILED_WORDS:
        return "timeout" if re.search(r"(?i)time(?:d ?|-)?out", f"{said} {status}") else "tool_error"
    return ""
