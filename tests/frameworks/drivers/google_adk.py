"""A Google ADK agent on Gemini's API, with the session service's id."""

from __future__ import annotations

import asyncio
import logging

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from scenario import SESSION, add, fail, hang, wait

from turnlog.demo.scripted_model import ScriptedModel

# It warns of the call that was cancelled, whenever it leaves it out of what it sends.
logging.getLogger("google_adk").setLevel(logging.ERROR)


def tell_the_model(tool, args, tool_context, error):
    return {"error": str(error)}


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        agent = LlmAgent(
            name="tester",
            model=Gemini(model="gemini-scripted", base_url=model.url, client_kwargs={"api_key": "none"}),
            tools=[add, fail, wait, hang],
            on_tool_error_callback=tell_the_model,
        )
        self._runner = InMemoryRunner(app=App(name="conformance", root_agent=agent))
        self._runner.auto_create_session = True

    async def turn(self, text: str) -> str:
        said = [event async for event in self._run(text, StreamingMode.NONE)]
        return said[-1].content.parts[-1].text

    async def stream(self, text: str, leave: bool = False) -> None:
        async for event in self._run(text, StreamingMode.SSE):
            if leave and event.partial:
                # ADK reads on beside its caller: how far it comes until it is left would be a matter of luck.
                await asyncio.sleep(0.5)
                break

    def _run(self, text: str, mode: StreamingMode):
        message = types.Content(role="user", parts=[types.Part(text=text)])
        config = RunConfig(streaming_mode=mode)
        return self._runner.run_async(user_id="u", session_id=SESSION, new_message=message, run_config=config)
