"""A hand-written tool loop over the OpenAI SDK's chat completions, whose tools are recorded by decorator."""

from __future__ import annotations

import asyncio
import inspect
import json

from openai import AsyncOpenAI
from scenario import SESSION, add, fail, hang, wait

import turnlog
from turnlog.demo.scripted_model import ScriptedModel

TOOLS = {each.__name__: turnlog.tool(each) for each in (add, fail, wait, hang)}


async def call(name: str, arguments: str) -> str:
    try:
        result = TOOLS[name](**json.loads(arguments))
        return str(await result if inspect.isawaitable(result) else result)
    except (ValueError, TimeoutError) as error:
        return f"{type(error).__name__}: {error}"


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._client = AsyncOpenAI(base_url=model.base_url, api_key="none")
        self._messages: list[dict] = []

    async def turn(self, text: str) -> str:
        self._messages.append({"role": "user", "content": text})
        with turnlog.session(SESSION):
            while True:
                completion = await self._client.chat.completions.create(model="scripted", messages=self._messages)
                answer = completion.choices[0].message
                if not await self._go_on(answer):
                    return answer.content

    async def stream(self, text: str, leave: bool = False) -> None:
        self._messages.append({"role": "user", "content": text})
        with turnlog.session(SESSION):
            while True:
                async with self._client.chat.completions.stream(model="scripted", messages=self._messages) as stream:
                    async for event in stream:
                        if leave and event.type == "content.delta":
                            return
                    if not await self._go_on((await stream.get_final_completion()).choices[0].message):
                        return

    async def _go_on(self, answer) -> bool:
        self._messages.append(answer.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        calls = answer.tool_calls or []
        results = await asyncio.gather(*(call(each.function.name, each.function.arguments) for each in calls))
        for each, result in zip(calls, results, strict=True):
            self._messages.append({"role": "tool", "tool_call_id": each.id, "content": result})
        return bool(calls)
