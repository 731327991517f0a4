"""The official client, connected to the server in each way that there is, and what its answers say."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from programs import environment, running
from turnlog.mcp_server.server import build
from turnlog.settings import Settings


class Said(NamedTuple):
    is_error: bool
    text: str


async def ask(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool answers; it must not be an error."""
    said = await say(client, tool, **arguments)
    assert not said.is_error, said.text
    return said.text


async def say(client: Client, tool: str, **arguments: Any) -> Said:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    return Said(bool(result.is_error), content.text)


@asynccontextmanager
async def beside(settings: Settings, session: str = "") -> AsyncIterator[Client]:
    """A client of a server in this process."""
    server, turnlog = build(settings, session)
    try:
        async with Client(server) as client:
            yield client
    finally:
        turnlog.reports.close()


@asynccontextmanager
async def over_stdio(settings: Settings, *words: str, **more: str) -> AsyncIterator[Client]:
    """A client that starts the server, as the configuration of `turnlog mcp install` has it do."""
    env = environment(settings.directory, **more)
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "turnlog", "mcp", *words], env=env)
    async with Client(stdio_client(parameters)) as client:
        yield client


class Served(NamedTuple):
    url: str
    token: str


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[Served]:
    """`turnlog mcp --http` on a free port, and the token that it shows."""
    command = (sys.executable, "-m", "turnlog", "mcp", "--http", "--port", "0", "--json")
    with running(*command, directory=settings.directory) as program:
        assert program.stdout is not None
        told = json.loads(program.stdout.readline())
        yield Served(told["url"], told["token"])


@asynccontextmanager
async def over_http(at: Served, **headers: str) -> AsyncIterator[Client]:
    shown = {"Authorization": f"Bearer {at.token}", **headers}
    async with httpx2.AsyncClient(headers=shown) as http, Client(streamable_http_client(at.url, http_client=http)) as client:
        yield client


async def pages(read: Callable[[str], Any]) -> list[str]:
    """Every page of an answer, by the cursors that they end with."""
    found, cursor = [], ""
    while True:
        found.append(await read(cursor))
        more = re.search(r"^more: the same with cursor (\S+)$", found[-1], re.MULTILINE)
        if more is None:
            return found
        assert more[1] != cursor and len(found) < 1000
        cursor = more[1]


def plain(text: str) -> list[str]:
    """The lines without what differs from run to run: ids, times, cursors."""
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r"^since: s[0-9a-f]+$", "since: CURSOR", text, flags=re.MULTILINE)
    text = re.sub(r"sha256:[0-9a-f]+", "HASH", text)
    text = re.sub(r"\b[0-9a-f]{10,16}\b", "ID", text)
    return re.sub(r", \d+ ms\.", ", MS.", text).splitlines()
