"""Tool calls that really run, and what was recorded of the files they touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from opentelemetry.sdk.trace import ReadableSpan

from recording import Recording
from turnlog import semconv

MakeObserved = Callable[..., Recording]


def delta(span: ReadableSpan) -> list[dict[str, str]]:
    changes: list[dict[str, str]] = orjson.loads(str((span.attributes or {}).get(semconv.COMMIT_DELTA, "[]")))
    return [change for change in changes if change["kind"] == "file"]


def calls(recording: Recording) -> list[tuple[str, list[str]]]:
    """Every tool call that has ended, with what it did to which file and how that is known; sorted by path."""
    found = []
    for span in recording.spans:
        attributes: Any = span.attributes
        if attributes.get(semconv.GEN_AI_OPERATION_NAME) == "execute_tool":
            files = sorted(delta(span), key=lambda change: (change["key"], change["op"]))
            found.append((attributes[semconv.GEN_AI_TOOL_NAME], [_said(change) for change in files]))
    return found


def touched(recording: Recording) -> list[str]:
    """The files of the last tool call."""
    return calls(recording)[-1][1]


def _said(change: dict[str, str]) -> str:
    source = f" < {change['renamed_from']}" if "renamed_from" in change else ""
    return f"{change['action']} {change['key']}{source} ({change['evidence']})"
