"""A hand-written tool loop over the Anthropic SDK, whose tools are recorded by decorator."""

from __future__ import annotations

import asyncio
import inspect

from anthropic import AsyncAnthropic
from scenario import SESSION, add, fail, hang, wait

import turnlog
from turnlog.demo.scripted_model import ScriptedModel

TOOLS = {each.__name__: turnlog.tool(each) for each in (add, fail, wait, hang)}


async def call(block) -> dict:
    try:
        result = TOOLS[block.name](**block.input)
        said = {"content": str(await result if inspect.isawaitable(result) else result)}
    except (ValueError, TimeoutError) as error:
        said = {"content": str(error), "is_error": True}
    return {"type": "tool_result", "tool_use_id": block.id, **said}


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._client = AsyncAnthropic(base_url=model.url, api_key="none")
        self._messages: list[dict] = []

    async def turn(self, text: str) -> str:
        self._messages.append({"role": "user", "content": text})
        with turnlog.session(SESSION):
            while True:
                message = await self._client.messages.create(**self._request())
                if not await self._go_on(message):
                    return message.content[0].text

    async def stream(self, text: str, leave: bool = False) -> None:
        self._messages.append({"role": "user", "content": text})
        with turnlog.session(SESSION):
            while True:
                async with self._client.messages.stream(**self._request()) as stream:
                    async for event in stream:
                        if leave and event.type == "text":
                            return
                    if not await self._go_on(await stream.get_final_message()):
                        return

    def _request(self) -> dict:
        return {"model": "scripted", "max_tokens": 100, "messages": self._messages}

    async def _go_on(self, message) -> bool:
        self._messages.append({"role": "assistant", "content": message.content})
        results = await asyncio.gather(*(call(block) for block in message.content if block.type == "tool_use"))
        if results:
            self._messages.append({"role": "user", "content": results})
        return bool(results)
