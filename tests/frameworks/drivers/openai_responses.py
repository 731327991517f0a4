"""A hand-written tool loop over the OpenAI SDK's responses, whose history the server keeps."""

from __future__ import annotations

import asyncio

from drivers.openai import call
from openai import AsyncOpenAI
from scenario import SESSION

import turnlog
from turnlog.demo.scripted_model import ScriptedModel


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._client = AsyncOpenAI(base_url=model.base_url, api_key="none")
        self._previous = None

    async def turn(self, text: str) -> str:
        given = [{"role": "user", "content": text}]
        with turnlog.session(SESSION):
            while given:
                response = await self._client.responses.create(**self._request(given))
                given = await self._go_on(response)
        return response.output_text

    async def stream(self, text: str, leave: bool = False) -> None:
        given = [{"role": "user", "content": text}]
        with turnlog.session(SESSION):
            while given:
                async with self._client.responses.stream(**self._request(given)) as stream:
                    async for event in stream:
                        if leave and event.type == "response.output_text.delta":
                            return
                    given = await self._go_on(await stream.get_final_response())

    def _request(self, given: list[dict]) -> dict:
        previous = {"previous_response_id": self._previous} if self._previous else {}
        return {"model": "scripted", "input": given, **previous}

    async def _go_on(self, response) -> list[dict]:
        calls = [item for item in response.output if item.type == "function_call"]
        results = await asyncio.gather(*(call(each.name, each.arguments) for each in calls))
        # Only a response whose calls have results can be gone on from.
        self._previous = response.id
        return [
            {"type": "function_call_output", "call_id": each.call_id, "output": result}
            for each, result in zip(calls, results, strict=True)
        ]
