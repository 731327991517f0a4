"""A Pydantic AI agent on OpenAI's chat completions, with `conversation_id`."""

from __future__ import annotations

import functools

from pydantic_ai import Agent, AgentRunResultEvent, ModelRetry, Tool
from pydantic_ai.messages import ModelMessage, PartDeltaEvent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scenario import SESSION, add, fail, hang, wait_on

from turnlog.demo.scripted_model import ScriptedModel


@functools.wraps(fail)
def fail_and_tell(reason: str) -> str:
    try:
        return fail(reason)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        provider = OpenAIProvider(base_url=model.base_url, api_key="none")
        self._agent = Agent(
            OpenAIChatModel("scripted", provider=provider),
            name="tester",
            tools=[add, fail_and_tell, hang, Tool(wait_on, name="wait", timeout=0.05)],
        )
        self._history: list[ModelMessage] = []

    async def turn(self, text: str) -> str:
        result = await self._agent.run(text, message_history=self._history, conversation_id=SESSION)
        self._history = result.all_messages()
        return result.output

    async def stream(self, text: str, leave: bool = False) -> None:
        # Not run_stream(), which takes the first text for the answer.
        given = {"message_history": self._history, "conversation_id": SESSION}
        async with self._agent.run_stream_events(text, **given) as events:
            async for event in events:
                if leave and isinstance(event, PartDeltaEvent):
                    break
                if isinstance(event, AgentRunResultEvent):
                    self._history = event.result.all_messages()
