"""The Claude Agent SDK: hooks beside the application's own, and the messages of the CLI, read from each connection's line.

The agent itself runs in the CLI's process. Tools of SDK MCP servers run in this one, inside the operation of their call.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from functools import partial
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from turnlog.instrument.calls import Account, Call, Frame, context_of, suppressed
from turnlog.instrument.claude_agent_sdk_agent import Histories, Tool
from turnlog.instrument.claude_agent_sdk_line import Line
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.late import end_late
from turnlog.semconv import GenAiOperation

# No hook before compaction: the CLI tells the model which hooks ran then.
_EVENTS = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop")

_lines: WeakKeyDictionary[Any, Line] = WeakKeyDictionary()
_running: ContextVar[Tool | None] = ContextVar("turnlog_claude_tool", default=None)


async def _listen(event: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
    """Makes the CLI tell of its events, which are read from the line: there they are in order with its messages."""
    return {}


class _Tap:
    """Reads what passes through a transport, in place: the SDK and the application both hold on to the object."""

    def __init__(self, account: Account, line: Line, transport: Any) -> None:
        self._transport = transport
        read, write = transport.read_messages, transport.write

        def read_messages() -> AsyncIterator[Any]:
            return _overhear(read(), partial(account.ask, "reading a message of the CLI", line.heard))

        async def write_and_tell(data: str) -> None:
            account.ask("reading a message to the CLI", line.wrote, data)
            await write(data)

        self._taps = {"read_messages": read_messages, "write": write_and_tell}
        vars(transport).update(self._taps)

    def remove(self) -> None:
        held = vars(self._transport)
        for name, tap in self._taps.items():
            if held.get(name) is tap:
                del held[name]


async def _overhear(frames: Any, heard: Callable[[Any], Any]) -> AsyncIterator[Any]:
    try:
        async for frame in frames:
            heard(frame)
            yield frame
    finally:
        if hasattr(frames, "aclose"):
            await frames.aclose()


def _install(module: ModuleType, account: Account) -> Undo:
    histories = Histories()
    taps: WeakKeyDictionary[Any, _Tap] = WeakKeyDictionary()

    def connect(wrapped: Callable[..., Any], query: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        account.ask("ending abandoned spans", end_late)
        given = (
            None if suppressed() else account.ask("connecting", _tapped, account, histories, taps, query, wrapped, args, kwargs)
        )
        if given is None:
            return wrapped(*args, **kwargs)
        result = wrapped(*given.args, **given.kwargs)
        _lines[query].callbacks = getattr(query, "hook_callbacks", {})
        return result

    async def close(wrapped: Callable[..., Any], query: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        line, tap = _lines.get(query), taps.pop(query, None)
        if line is not None:
            account.ask("closing a connection", line.finish, sys.exception())
        try:
            return await wrapped(*args, **kwargs)
        finally:
            if tap is not None:
                tap.remove()

    async def serve(wrapped: Callable[..., Any], query: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        line, call = _lines.get(query), Call(query, args, kwargs)
        asked = (call.argument(0, "server_name"), call.argument(1, "message"))
        tool = None if line is None else account.ask("reading a call of a tool", line.tool_for, *asked)
        if tool is None:
            return await wrapped(*args, **kwargs)
        before = _running.set(tool)
        try:
            with Frame(context_of(tool.operation, GenAiOperation.EXECUTE_TOOL.value), tool.operation):
                return await wrapped(*args, **kwargs)
        finally:
            _running.reset(before)

    undone = [
        patch(module.Query, "__init__", connect),
        patch(module.Query, "close", close),
        patch(module.Query, "_handle_sdk_mcp_request", serve),
    ]

    def undo() -> None:
        for each in undone:
            each()
        for line in list(_lines.values()):
            line.finish()
        for tap in list(taps.values()):
            tap.remove()
        _lines.clear()
        taps.clear()

    return undo


def _tapped(
    account: Account,
    histories: Histories,
    taps: WeakKeyDictionary[Any, _Tap],
    query: Any,
    connect: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> inspect.BoundArguments:
    given = inspect.signature(connect).bind(*args, **kwargs)
    transport = given.arguments["transport"]
    options = getattr(transport, "_options", None)
    system = getattr(options, "system_prompt", None)
    instructions = system if isinstance(system, str) else ""
    line = Line(account, histories, _listen, getattr(options, "resume", None) or "", instructions)
    hooks = given.arguments.get("hooks") or {}
    ours = {"matcher": None, "hooks": [_listen]}
    merged = {event: [*matchers] for event, matchers in hooks.items()}
    for event in _EVENTS:
        merged.setdefault(event, []).append(ours)
    given.arguments["hooks"] = merged
    taps[query] = _Tap(account, line, transport)
    _lines[query] = line
    return given


def _close_sessions(module: ModuleType, account: Account) -> Undo:
    async def disconnect(wrapped: Callable[..., Any], client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        line = _lines.get(client._query) if getattr(client, "_query", None) is not None else None
        try:
            return await wrapped(*args, **kwargs)
        finally:
            if line is not None:
                account.ask("closing a session", line.close_sessions)

    return patch(module.ClaudeSDKClient, "disconnect", disconnect)


def _keep_errors(module: ModuleType, account: Account) -> Undo:
    if not hasattr(module, "_tool_error_result"):
        return lambda: None

    def tell(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tool = _running.get()
        if tool is not None:
            tool.raised = sys.exception()
        return wrapped(*args, **kwargs)

    return patch(module, "_tool_error_result", tell)


CLAUDE_AGENT_SDK = Framework(
    "claude_agent_sdk",
    title="Claude Agent SDK",
    requires="claude-agent-sdk >= 0.2.150, < 0.3",
    records="`ClaudeSDKClient` and `query()`: turns, model calls, tools, sub-agents, permission requests, compaction; "
    "the CLI's session is the session",
    extra="claude-agent-sdk",
    extensions=(
        Extension("claude_agent_sdk._internal.query", _install),
        Extension("claude_agent_sdk.client", _close_sessions),
        Extension("claude_agent_sdk", _keep_errors),
    ),
    scopes=("openinference.instrumentation.claude_agent_sdk", "mcp-python-sdk"),
)
