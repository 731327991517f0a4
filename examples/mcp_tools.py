"""A loop by hand whose tools are those of an MCP server. Record it with: turnlog run python examples/mcp_tools.py"""

import asyncio
import json

from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
from openai import AsyncOpenAI

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

server = MCPServer("archive", log_level="WARNING")


@server.tool()
def find_letter(year: int) -> str:
    """Find a letter by its year."""
    return f"letters://{year}/spring"


@server.resource("letters://{year}/{season}")
def letter(year: int, season: str) -> str:
    return f"The {season} of {year} was wet."


# A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url.
SCRIPT = [Reply("I look for the letter.", tool_calls=[ToolCall("find_letter", {"year": 1848})]), Reply("It was wet.")]


async def main(model: ScriptedModel) -> None:
    openai = AsyncOpenAI(base_url=model.base_url, api_key="none")
    messages = [{"role": "user", "content": "How was the spring of 1848?"}]
    async with Client(server) as client:
        asked = (await openai.chat.completions.create(model="scripted", messages=messages)).choices[0].message
        call = asked.tool_calls[0]
        found = (await client.call_tool(call.function.name, json.loads(call.function.arguments))).content[0].text
        text = (await client.read_resource(found)).contents[0].text
        messages += [asked.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": text}]
        print((await openai.chat.completions.create(model="scripted", messages=messages)).choices[0].message.content)


with ScriptedModel(SCRIPT) as model:
    asyncio.run(main(model))
