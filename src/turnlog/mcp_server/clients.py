"""The configuration with which common MCP clients start the server, and where each of them keeps it."""

from __future__ import annotations

import json
import shlex
from functools import partial
from typing import Any, NamedTuple


class Client(NamedTuple):
    """`where` is the file, `how` what to type instead of editing it, where the client has a command for that."""

    name: str
    title: str
    where: str
    text: str
    how: str = ""


def clients(command: str, arguments: list[str], environment: dict[str, str]) -> list[Client]:
    server: dict[str, Any] = {"command": command, "args": arguments} | ({"env": environment} if environment else {})
    plain = _json({"mcpServers": {"turnlog": server}})
    typed = {"type": "stdio", **server}
    run = ["--", command, *arguments]
    given = [f"{name}={value}" for name, value in environment.items()]
    return [
        Client(
            "claude-code",
            "Claude Code",
            ".mcp.json in the project, or ~/.claude.json",
            _json({"mcpServers": {"turnlog": typed}}),
            shlex.join(["claude", "mcp", "add", "turnlog", *(word for each in given for word in ("-e", each)), *run]),
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            "~/Library/Application Support/Claude/claude_desktop_config.json (macOS), "
            "%APPDATA%\\Claude\\claude_desktop_config.json (Windows)",
            plain,
        ),
        Client("cursor", "Cursor", ".cursor/mcp.json in the project, or ~/.cursor/mcp.json", plain),
        Client(
            "vscode",
            "VS Code",
            ".vscode/mcp.json in the project",
            _json({"servers": {"turnlog": typed}}),
            shlex.join(["code", "--add-mcp", json.dumps({"name": "turnlog", **server})]),
        ),
        Client(
            "codex",
            "Codex",
            "~/.codex/config.toml",
            _toml(server),
            shlex.join(["codex", "mcp", "add", "turnlog", *(word for each in given for word in ("--env", each)), *run]),
        ),
        Client("other", "any other client", "wherever it keeps its MCP servers", plain),
    ]


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2)


def _toml(server: dict[str, Any]) -> str:
    """JSON's strings and lists of strings are TOML's too, but for escapes in pairs."""
    write = partial(json.dumps, ensure_ascii=False)
    lines = ["[mcp_servers.turnlog]", *(f"{key} = {write(server[key])}" for key in ("command", "args"))]
    if "env" in server:
        lines += ["", "[mcp_servers.turnlog.env]", *(f"{key} = {write(value)}" for key, value in server["env"].items())]
    return "\n".join(lines)
