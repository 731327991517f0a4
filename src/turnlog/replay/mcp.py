"""MCP's boundary: what a client's session sends. Connecting to a server, and asking it what it has, is as in a live run."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from turnlog.instrument.calls import Account
from turnlog.instrument.core import Extension, Framework, Undo, patch, undo_all
from turnlog.replay.tools import through


def _install(session: ModuleType, account: Account) -> Undo:
    def send(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return through(wrapped)(*args, **kwargs)

    return undo_all(*(patch(session.ClientSession, name, send) for name in ("call_tool", "read_resource", "get_prompt")))


MCP = Framework(
    "mcp",
    title="MCP",
    requires="mcp >= 2.0, < 3",
    records="",
    extensions=(Extension("mcp.client.session", _install),),
)
