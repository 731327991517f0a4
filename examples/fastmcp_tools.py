"""A FastMCP client that calls a FastMCP server. Record it with: turnlog run python examples/fastmcp_tools.py"""

import asyncio

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

import turnlog

server = FastMCP("archive")


@server.tool
def find_letter(year: int) -> str:
    """Find a letter by its year."""
    if year < 1840:
        raise ToolError(f"no letters from {year}")
    return f"letters://{year}/spring"


@server.resource("letters://{year}/{season}")
def letter(year: int, season: str) -> str:
    return f"The {season} of {year} was wet."


async def main() -> None:
    async with Client(server) as client:
        with turnlog.session("archive"):
            with turnlog.turn("How was the spring of 1848?"):
                found = await client.call_tool("find_letter", {"year": 1848})
                print((await client.read_resource(found.data))[0].text)
            with turnlog.turn("And that of 1830?"):
                try:
                    await client.call_tool("find_letter", {"year": 1830})
                except ToolError as error:
                    print(f"Nobody knows: {error}.")


asyncio.run(main())
