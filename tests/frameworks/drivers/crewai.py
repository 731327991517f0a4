"""A CrewAI flow whose state has the session's id, and whose agent answers."""
# ruff: noqa: E402 - CrewAI reads the environment when it is imported

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from typing import Any

home = tempfile.mkdtemp()
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "CREWAI_STORAGE_DIR": home, "HOME": home}
logging.getLogger("crewai").setLevel(logging.ERROR)

from crewai import LLM, Agent
from crewai.flow.flow import Flow, start
from crewai.tools import tool
from scenario import SESSION, add, fail, hanging, wait

from turnlog.demo.scripted_model import ScriptedModel


class Answer(Flow):
    agent: Any = None
    history: Any = None

    @start()
    async def answer(self) -> str:
        output = await self.agent.kickoff_async([*self.history, {"role": "user", "content": self.state["text"]}])
        self.history[:] = [message for message in output.messages if message["role"] != "system"]
        return output.raw


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self._history: list[Any] = []
        self._stop: Any = None

    def _flow(self, stream: bool = False) -> Flow:
        main = asyncio.get_event_loop() if not stream else None

        async def hang(name: str) -> str:
            """Never answer."""
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
            # Tools run in threads, with loops of their own.
            main.call_soon_threadsafe(hanging.set)
            await asyncio.sleep(60)
            return name

        llm = LLM(model="openai/gpt-4o", base_url=self._model.base_url, api_key="none", stream=stream, max_retries=0)
        tools = [tool(each) for each in (add, fail, wait, hang)]
        agent = Agent(role="helper", goal="help", backstory="You help.", llm=llm, tools=tools, cache=False, max_retry_limit=0)
        flow = Answer(suppress_flow_events=True)
        flow.agent, flow.history = agent, self._history
        return flow

    async def turn(self, text: str) -> str:
        run = asyncio.ensure_future(self._flow().kickoff_async(inputs={"id": SESSION, "text": text}))
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            # A run cannot be stopped, but a tool of the application's can.
            self._stop()
            await asyncio.wait([run])
            raise

    async def stream(self, text: str, leave: bool = False) -> None:
        def read() -> None:
            frames = self._flow(stream=True).stream_events(inputs={"id": SESSION, "text": text})
            for frame in frames:
                if leave and frame.type == "llm_stream_chunk":
                    break
            # Whoever leaves the stream waits for the run all the same.
            frames.close()

        await asyncio.to_thread(read)
