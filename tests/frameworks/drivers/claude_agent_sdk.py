"""`ClaudeSDKClient` with the real CLI, which runs the scenario's tools in this process. A cancelled turn is interrupted."""

from __future__ import annotations

import asyncio
import inspect
import tempfile
import uuid
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, StreamEvent, TextBlock, create_sdk_mcp_server, tool
from claude_agent_sdk.types import AssistantMessage
from scenario import SESSION, add, fail, hang, wait

from turnlog.demo.scripted_model import ScriptedModel


def as_tool(function: Any) -> Any:
    kinds = {"int": int, "float": float, "str": str}
    schema = {name: kinds[each.annotation] for name, each in inspect.signature(function).parameters.items()}

    @tool(function.__name__, function.__doc__, schema)
    async def run(arguments: dict[str, Any]) -> dict[str, Any]:
        result = function(**arguments)
        text = str(await result if inspect.isawaitable(result) else result)
        return {"content": [{"type": "text", "text": text}]}

    return run


def environment(model: ScriptedModel, home: str) -> dict[str, str]:
    """The CLI with this model and nobody else, and tools named as the model names them."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": home,
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "HOME": home,
    }


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._home = tempfile.TemporaryDirectory()
        self._client: ClaudeSDKClient | None = None
        self._left = False
        tools = [as_tool(each) for each in (add, fail, wait, hang)]
        self._options = ClaudeAgentOptions(
            model="claude-sonnet-4-5",
            session_id=str(uuid.uuid5(uuid.NAMESPACE_URL, SESSION)),
            cwd=self._home.name,
            setting_sources=[],
            include_partial_messages=True,
            mcp_servers={"scenario": create_sdk_mcp_server("scenario", tools=tools)},
            allowed_tools=[f"mcp__scenario__{each.name}" for each in tools],
            env=environment(model, self._home.name),
        )

    async def turn(self, text: str) -> str:
        client = await self._ask(text)
        try:
            return await self._read(client)
        except asyncio.CancelledError:
            await client.interrupt()
            await self._read(client)
            raise

    async def stream(self, text: str, leave: bool = False) -> None:
        client = await self._ask(text)
        async for message in client.receive_response():
            if leave and isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta":
                self._left = True
                break

    async def close(self) -> None:
        if self._client is not None:
            await self._client.disconnect()
        self._home.cleanup()

    async def _ask(self, text: str) -> ClaudeSDKClient:
        if self._client is None:
            self._client = ClaudeSDKClient(self._options)
            await self._client.connect()
        if self._left:
            # The CLI goes on with a turn that nobody reads, and its messages wait.
            self._left = False
            await self._read(self._client)
        await self._client.query(text)
        return self._client

    async def _read(self, client: ClaudeSDKClient) -> str:
        said = [message async for message in client.receive_response() if isinstance(message, AssistantMessage)]
        return "".join(block.text for block in said[-1].content if isinstance(block, TextBlock)) if said else ""
