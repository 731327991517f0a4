"""LlamaIndex's `FunctionAgent` with a `Memory`."""

from __future__ import annotations

import asyncio

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.memory import Memory
from llama_index.llms.openai import OpenAI
from scenario import SESSION, add, fail, hang, wait

from turnlog.demo.scripted_model import ScriptedModel


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        llm = OpenAI(model="gpt-4o", api_base=model.base_url, api_key="none", max_retries=0)
        self._agent = FunctionAgent(tools=[add, fail, wait, hang], llm=llm, streaming=False)
        self._streaming = FunctionAgent(tools=[add, fail, wait, hang], llm=llm)
        self._memory = Memory.from_defaults(session_id=SESSION)

    async def turn(self, text: str) -> str:
        run = self._agent.run(text, memory=self._memory)
        try:
            return str(await run)
        except asyncio.CancelledError:
            await run.cancel_run()
            raise

    async def stream(self, text: str, leave: bool = False) -> None:
        run = self._streaming.run(text, memory=self._memory)
        async for event in run.stream_events():
            if leave and isinstance(event, AgentStream) and event.delta:
                break
        # Whoever leaves the stream does not stop the run.
        await run
