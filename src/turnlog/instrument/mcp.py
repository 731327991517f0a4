"""MCP: a call of a tool, resource or prompt is one commit, whoever of client and server is recorded, and however many spans
the SDK makes of it.

Inside a framework's own call of the same tool it is that call's hop, and no second commit. A client whose call is recorded
tells the server into which store, so that a server that writes to the same one leaves the call to it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.instrument.calls import Account, Call, Hook, Start, begin, running_tool
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.drivers import complete_async
from turnlog.instrument.mcp_requests import (
    PROMPT,
    PROMPTED,
    READ,
    RECORDED,
    RESOURCE,
    SCOPES,
    TOOL,
    answer,
    failure,
    request,
    stores,
)
from turnlog.semconv import GenAiOperation


def _sent(method: str) -> Callable[[Call], Start | None]:
    subject = "uri" if method == RESOURCE else "name"

    def at_start(call: Call) -> Start | None:
        server = None
        # A client that is not connected has no session to ask.
        with contextlib.suppress(RuntimeError):
            server = getattr(call.instance.server_info, "name", None)
        arguments = None if method == RESOURCE else call.argument(1, "arguments")
        meta = call.kwargs.get("meta")
        return request(method, str(call.argument(0, subject)), arguments, server, SpanKind.CLIENT, meta, is_sent=False)

    return at_start


def _served(call: Call) -> Start | None:
    context = call.args[0]
    params = context.params or {}
    if context.method not in (TOOL, RESOURCE, PROMPT) or context.request_id is None:
        return None
    subject = str(params.get("uri" if context.method == RESOURCE else "name", ""))
    return request(context.method, subject, params.get("arguments"), None, SpanKind.SERVER, context.meta)


_SERVED = Hook("mcp.server", GenAiOperation.EXECUTE_TOOL, at_start=_served, at_end=answer, at_error=failure)


def _serve(otel: ModuleType, account: Account) -> Undo:
    """Inside the server's own tracing, which every server has and FastMCP replaces."""

    async def handle(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        context, call_next, *rest = args

        async def call(context: Any) -> Any:
            frame = begin(_SERVED, account, Call(instance, (context,), {}))
            return await (call_next(context) if frame is None else complete_async(frame, call_next, context))

        return await wrapped(context, call, *rest, **kwargs)

    return patch(otel.OpenTelemetryMiddleware, "__call__", handle)


def _tell_server(dispatcher: ModuleType, account: Account) -> Undo:
    def tell(meta: dict[str, Any]) -> None:
        if running_tool() is not None and (known := stores()):
            meta[RECORDED] = " ".join(sorted(known))

    def inject(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = wrapped(*args, **kwargs)
        account.ask("telling the server", tell, *args, *kwargs.values())
        return result

    return patch(dispatcher, "inject_trace_context", inject)


def _say_address(transport: ModuleType, account: Account) -> Undo:
    """The sender's context comes along to where the URL is known."""

    def say(url: str, sent: Any) -> None:
        # A tool that connects to a server is not on that server.
        if (tool := running_tool()) is not None and getattr(sent.message, "method", "") in (TOOL, RESOURCE, PROMPT):
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            tool.set({semconv.SERVER_ADDRESS: parts.hostname, semconv.SERVER_PORT: port})

    def post(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        account.ask("reading the server's address", lambda: say(instance.url, args[0].session_message))
        return wrapped(*args, **kwargs)

    return patch(transport.StreamableHTTPTransport, "_handle_post_request", post)


MCP = Framework(
    "mcp",
    title="MCP",
    requires="mcp >= 2.0, < 3",
    records="calls of tools, resources and prompts, by the client or else by the server; one commit for both sides",
    hooks=tuple(
        Hook(
            f"mcp.client.{owner}.{name}",
            GenAiOperation.EXECUTE_TOOL,
            at_start=_sent(method),
            at_end=answer,
            at_error=failure,
        )
        for owner in ("client:Client", "session:ClientSession")
        for name, method in (("call_tool", TOOL), (READ, RESOURCE), (PROMPTED, PROMPT))
    ),
    extensions=(
        Extension("mcp.server._otel", _serve),
        Extension("mcp.shared.jsonrpc_dispatcher", _tell_server),
        Extension("mcp.client.streamable_http", _say_address),
    ),
    scopes=SCOPES[:1],
)
