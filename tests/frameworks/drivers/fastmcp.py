"""The loop by hand of the `mcp` driver, with FastMCP's client and server."""

from __future__ import annotations

import logging
from typing import Any

from drivers import mcp
from fastmcp import Client, FastMCP
from scenario import add, fail, hang, wait_on

logging.getLogger("fastmcp").setLevel(logging.CRITICAL)


class Driver(mcp.Driver):
    def serve(self) -> Any:
        server = FastMCP("tools")
        for each in (add, fail, hang):
            server.tool(each)
        server.tool(wait_on, name="wait")
        return server

    def connect(self) -> Any:
        return Client(self._server)

    async def call(self, client: Any, name: str, arguments: dict[str, Any]) -> str:
        limit = 0.05 if name == "wait" else None
        result = await client.call_tool(name, arguments, timeout=limit, raise_on_error=False)
        return result.content[0].text
