"""`turnlog mcp`: serve session state to agents over MCP; `turnlog mcp install`: what their clients need to be told."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import sys
from pathlib import Path

from turnlog import __version__
from turnlog.cli.render import Styled, complain, screen
from turnlog.errors import MissingExtra
from turnlog.settings import Settings, read_settings

_PORT = 4339


def mcp(options: argparse.Namespace) -> int:
    if (options.port is not None or options.token_file) and not options.http:
        options.refuse("--port and --token-file go with --http")
    if options.action == "install":
        if options.http:
            options.refuse("install is for clients that start the server themselves: leave --http out")
        return _install(options)
    try:
        from turnlog.mcp_server.server import build
    except ImportError:
        raise MissingExtra("the MCP server needs the MCP SDK: pip install 'turnlog[mcp]'") from None
    settings = read_settings()
    for problem in settings.problems:
        complain(problem)
    server, turnlog = build(settings, options.session or "", __version__)
    try:
        if options.http:
            _serve_http(server, settings, options)
        else:
            from turnlog.mcp_server.serving import serve_stdio

            serve_stdio(server)
    finally:
        turnlog.reports.close()
    return 0


def _serve_http(server: object, settings: Settings, options: argparse.Namespace) -> None:
    from turnlog.cli.serve import read_token
    from turnlog.mcp_server.serving import PATH, listen, serve_http
    from turnlog.receiver import guard_for

    token = read_token(options.token_file) or secrets.token_urlsafe(32)
    guard = guard_for("127.0.0.1", token)
    opened = listen(_PORT if options.port is None else options.port)
    url = f"http://127.0.0.1:{opened.getsockname()[1]}{PATH}"
    out = screen(whole=True)
    if options.json:
        shown = {} if options.token_file else {"token": token}
        out.json({"event": "listening", "url": url, "directory": str(settings.directory), "pid": os.getpid()} | shown)
    else:
        kept = f"the token in {options.token_file}" if options.token_file else f"this token, which is shown once: {token}"
        out.line(f"listening on {url}. Clients send the header Authorization: Bearer with {kept}")
    out.stream.flush()
    serve_http(server, guard, opened)  # type: ignore[arg-type]


def _install(options: argparse.Namespace) -> int:
    from turnlog.mcp_server.clients import clients

    settings = read_settings()
    command = shutil.which("turnlog") or str(Path(sys.executable).with_name("turnlog"))
    arguments = ["mcp", *(["--session", options.session] if options.session else [])]
    # A client starts its servers with an environment of its own.
    environment = {"TURNLOG_DIR": str(settings.directory.absolute())} if os.environ.get("TURNLOG_DIR") else {}
    found = clients(command, arguments, environment)
    out = screen(whole=True)
    if options.json:
        for client in found:
            out.json(client._asdict())
        return 0
    for client in found:
        out.line(Styled(client.title, "bold"), f"  {client.where}")
        out.block(client.text)
        if client.how:
            out.line(Styled("  or: ", "dim"), client.how)
        out.line()
    return 0
