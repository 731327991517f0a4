"""turnlog: session state for AI agents, on OpenTelemetry and DuckDB.

The public names, each loaded when it is first used: `turnlog log` must not pay for the tracing side, nor a traced program
for the reading side.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnlog.brief import briefing
    from turnlog.continuing.messages import messages
    from turnlog.errors import IllegalTransition, NotCaptured, NotFound, SessionLeased, TurnlogError
    from turnlog.lifecycle import session
    from turnlog.manual import PendingAction, ToolError, ToolResult, decide, note, pending, tool, turn, verify
    from turnlog.queries import SessionState
    from turnlog.resuming import resume
    from turnlog.runtime import init, shutdown
    from turnlog.trusted import distrust, trust

__version__ = "0.1.0"

_HOMES = {
    "IllegalTransition": "errors",
    "NotCaptured": "errors",
    "NotFound": "errors",
    "PendingAction": "manual",
    "SessionLeased": "errors",
    "SessionState": "queries",
    "ToolError": "manual",
    "ToolResult": "manual",
    "TurnlogError": "errors",
    "briefing": "brief",
    "decide": "manual",
    "distrust": "trusted",
    "init": "runtime",
    "messages": "continuing.messages",
    "note": "manual",
    "pending": "manual",
    "resume": "resuming",
    "session": "lifecycle",
    "shutdown": "runtime",
    "tool": "manual",
    "trust": "trusted",
    "turn": "manual",
    "verify": "manual",
}

__all__ = [
    "IllegalTransition",
    "NotCaptured",
    "NotFound",
    "PendingAction",
    "SessionLeased",
    "SessionState",
    "ToolError",
    "ToolResult",
    "TurnlogError",
    "briefing",
    "decide",
    "distrust",
    "init",
    "messages",
    "note",
    "pending",
    "resume",
    "session",
    "shutdown",
    "tool",
    "trust",
    "turn",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'turnlog' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"turnlog.{_HOMES[name]}"), name)
    return value
