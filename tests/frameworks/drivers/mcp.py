"""A loop by hand on the OpenAI SDK, whose tools are those of an MCP server."""

from __future__ import annotations

import json
import logging
from typing import Any

from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from openai import AsyncOpenAI
from scenario import SESSION, add, fail, hang, wait_on

import turnlog
from turnlog.demo.scripted_model import ScriptedModel

# Servers log every failure of a tool.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._model = AsyncOpenAI(base_url=model.base_url, api_key="none")
        self._messages: list[Any] = []
        self._server = self.serve()

    def serve(self) -> Any:
        server = MCPServer("tools", log_level="WARNING")
        for each in (add, fail, hang):
            server.add_tool(each)
        server.add_tool(wait_on, name="wait")
        return server

    def connect(self) -> Any:
        return Client(self._server)

    async def call(self, client: Any, name: str, arguments: dict[str, Any]) -> str:
        result = await client.call_tool(name, arguments, read_timeout_seconds=0.05 if name == "wait" else None)
        return result.content[0].text

    async def turn(self, text: str) -> str:
        with turnlog.session(SESSION):
            return await self._answer(text)

    async def stream(self, text: str, leave: bool = False) -> None:
        with turnlog.session(SESSION):
            await self._answer(text, stream=True, leave=leave)

    async def _answer(self, text: str, stream: bool = False, leave: bool = False) -> str:
        self._messages.append({"role": "user", "content": text})
        async with self.connect() as client:
            while True:
                asked = {"model": "scripted", "messages": self._messages}
                if stream:
                    async with self._model.chat.completions.stream(**asked) as events:
                        async for _ in events:
                            if leave:
                                self._messages.append({"role": "assistant", "content": "…"})
                                return "…"
                        message = (await events.get_final_completion()).choices[0].message
                else:
                    message = (await self._model.chat.completions.create(**asked)).choices[0].message
                self._messages.append(message.to_dict())
                if not message.tool_calls:
                    return message.content or ""
                for asked_for in message.tool_calls:
                    try:
                        said = await self.call(client, asked_for.function.name, json.loads(asked_for.function.arguments))
                    except MCPError as error:
                        said = str(error)
                    self._messages.append({"role": "tool", "tool_call_id": asked_for.id, "content": said})
