"""Calls of an MCP server's tools are given back; the server is connected to and asked what it has, as in a live run."""

from __future__ import annotations

from pathlib import Path

import pytest

from replayed import Stage

pytest.importorskip("mcp.client.client", reason="mcp 2 is not installed")

PROGRAM = """
import asyncio, pathlib, time
from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
import turnlog

server = MCPServer("archive", log_level="CRITICAL")

@server.tool()
def write(path: str) -> str:
    pathlib.Path(path).write_text("x")
    return f"written at {time.time()}"

@server.tool()
def fails() -> str:
    pathlib.Path("failed.txt").write_text("x")
    raise ValueError(f"at {time.time()}")

@server.resource("letters://{year}")
def letter(year: int) -> str:
    pathlib.Path("read.txt").write_text("x")
    return f"read at {time.time()}"

async def main():
    async with Client(server) as client:
        for name, given in (("write", {"path": "a.txt"}), ("fails", {}), ("write", {"path": "a.txt"})):
            result = await client.call_tool(name, given)
            print(result.is_error, result.content[0].text)
        print((await client.read_resource("letters://1848")).contents[0].text)

with turnlog.turn(input="go"):
    asyncio.run(main())
"""


def test_calls_of_a_server_are_given_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PROGRAM)
    printed = stage.record([])
    assert sorted(stage.take_effects()) == ["a.txt", "failed.txt", "read.txt"]
    done = stage.replay()
    assert (done.stdout, done.stderr, stage.take_effects()) == (printed, "", {})
    stage.assert_exact()
