"""How the server is reached: by its standard streams, or over HTTP on this machine, with a token."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, MutableMapping
from email.message import Message
from http import HTTPStatus
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse

from turnlog.receiver.guard import Guard
from turnlog.receiver.refusal import Refusal
from turnlog.receiver.serving import CannotListen

PATH = "/mcp"
_TOLD = {
    HTTPStatus.UNAUTHORIZED: "the bearer token is missing or wrong. Clients send it in the header Authorization: Bearer TOKEN",
    HTTPStatus.FORBIDDEN: "the Host or Origin header names another site: only programs of this machine may ask, at the address "
    "that `turnlog mcp --http` prints",
}
_HOST = "127.0.0.1"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def serve_stdio(server: MCPServer[Any]) -> None:
    anyio.run(server.run_stdio_async)


def listen(port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((_HOST, port))
        # Whoever is told the address may connect at once.
        opened.listen()
    except OSError as error:
        opened.close()
        reason = error.strerror or str(error)
        raise CannotListen(
            f"cannot listen on port {port} of {_HOST}: {reason}. Choose one with --port; 0 takes a free one."
        ) from None
    return opened


def serve_http(server: MCPServer[Any], guard: Guard, opened: socket.socket) -> None:
    """Until SIGINT or SIGTERM. Requests stand for themselves: clients may come, go and reconnect."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[name for host in _LOOPBACK for name in (host, f"{host}:*")],
        allowed_origins=[f"http://{host}:*" for host in _LOOPBACK],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True, transport_security=security, host=_HOST
    )
    config = uvicorn.Config(guarded(app, guard), log_level="error", access_log=False, timeout_graceful_shutdown=5)
    uvicorn.Server(config).run(sockets=[opened])


def guarded(app: App, guard: Guard) -> App:
    """No request reaches the app that a page of another site could have sent, or that shows no token."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = Message()
        for name, value in scope["headers"]:
            headers[name.decode("latin-1")] = value.decode("latin-1")
        try:
            guard.check_source(headers)
            guard.check_token(headers)
        except Refusal as refusal:
            response = PlainTextResponse(_TOLD[refusal.status], int(refusal.status), refusal.headers)
            await response(scope, receive, send)
            return
        await app(scope, receive, send)

    return check
