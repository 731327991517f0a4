"""The Anthropic SDK's tool runner."""

from __future__ import annotations

import logging

from anthropic import AsyncAnthropic, beta_async_tool
from scenario import SESSION, add, fail, hang, wait

import turnlog
from turnlog.demo.scripted_model import ScriptedModel


@beta_async_tool(name="add")
async def adding(a: int, b: int) -> str:
    """Add two numbers."""
    return str(add(a, b))


@beta_async_tool(name="fail")
async def failing(reason: str) -> str:
    """Fail."""
    return fail(reason)


TOOLS = [adding, failing, beta_async_tool(wait), beta_async_tool(hang)]


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        # The runner logs every failure of a tool.
        logging.getLogger("anthropic").setLevel(logging.CRITICAL)
        self._client = AsyncAnthropic(base_url=model.url, api_key="none")
        self._messages: list[dict] = []

    async def turn(self, text: str) -> str:
        with turnlog.session(SESSION):
            runner = self._run(text)
            message = await runner.until_done()
        self._keep(runner, message)
        return message.content[0].text

    async def stream(self, text: str, leave: bool = False) -> None:
        with turnlog.session(SESSION):
            runner = self._run(text, stream=True)
            async for stream in runner:
                async for event in stream:
                    if leave and event.type == "text":
                        break
                if leave:
                    await stream.close()
                    break
                message = await stream.get_final_message()
        if not leave:
            self._keep(runner, message)
        elif hasattr(runner, "close"):
            # Else its generator is closed with the event loop, where it sometimes fails, with turnlog or without.
            await runner.close()

    def _run(self, text: str, **how: bool):
        self._messages.append({"role": "user", "content": text})
        given = {"model": "scripted", "max_tokens": 100, "messages": list(self._messages), "tools": TOOLS}
        return self._client.beta.messages.tool_runner(**given, **how)

    def _keep(self, runner, message) -> None:
        self._messages = [*runner._params["messages"], {"role": "assistant", "content": message.content}]
