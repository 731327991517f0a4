"""Bind, make the token, serve until told to stop."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

import uvicorn

from turnlog.errors import TurnlogError
from turnlog.receiver.guard import guard_for
from turnlog.settings import Settings
from turnlog.web.access import TOKEN, Access
from turnlog.web.app import create_app, make_token


def serve_page(settings: Settings, port: int, listening: Callable[[str], None]) -> None:
    """`listening` is told the address, with its token, once the socket is bound."""
    token = make_token()
    bound = _bind(port)
    number = bound.getsockname()[1]
    page = create_app(settings, stopping=lambda: server.should_exit)
    app = Access(page, guard_for("127.0.0.1", token), number)
    # Ctrl-C does not wait for a long statement.
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    listening(f"http://127.0.0.1:{number}/?{TOKEN}={token}")
    server.run(sockets=[bound])


def _bind(port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", port))
        # A browser that is opened at once waits in the queue until the server is up.
        bound.listen(128)
    except OSError as error:
        bound.close()
        why = "is not for ordinary users" if error.errno == errno.EACCES else "is taken"
        raise TurnlogError(f"port {port} {why} ({error.strerror}): choose another with --port, or 0 for any.") from None
    return bound
