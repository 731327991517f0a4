"""An agent of Microsoft's Agent Framework with a session."""

from __future__ import annotations

import logging

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient
from scenario import SESSION, add, fail, hang, wait

from turnlog.demo.scripted_model import ScriptedModel

# It says of every tool that failed that it failed.
logging.getLogger("agent_framework").setLevel(logging.CRITICAL)


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._agent = Agent(
            client=OpenAIChatCompletionClient(model="scripted", base_url=model.base_url, api_key="none"),
            name="worker",
            tools=[tool(each, approval_mode="never_require") for each in (add, fail, wait, hang)],
        )
        self._session = self._agent.create_session(session_id=SESSION)

    async def turn(self, text: str) -> str:
        return (await self._agent.run(text, session=self._session)).text

    async def stream(self, text: str, leave: bool = False) -> None:
        async with self._agent.run(text, session=self._session, stream=True) as updates:
            async for update in updates:
                if leave and update.text:
                    break
