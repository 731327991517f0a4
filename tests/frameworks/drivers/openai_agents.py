"""The OpenAI Agents SDK on its own session, with the responses API."""

from __future__ import annotations

from agents import Agent, OpenAIResponsesModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from scenario import SESSION, add, fail, hang, wait_on

from turnlog.demo.scripted_model import ScriptedModel


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        set_tracing_disabled(True)
        client = AsyncOpenAI(base_url=model.base_url, api_key="none")
        wait = function_tool(wait_on, name_override="wait", timeout=0.05)
        self._agent = Agent(
            "tester",
            model=OpenAIResponsesModel("scripted", client),
            tools=[*(function_tool(each) for each in (add, fail, hang)), wait],
        )
        self._session = SQLiteSession(SESSION)

    async def turn(self, text: str) -> str:
        return (await Runner.run(self._agent, text, session=self._session)).final_output

    async def stream(self, text: str, leave: bool = False) -> None:
        result = Runner.run_streamed(self._agent, text, session=self._session)
        async for event in result.stream_events():
            if leave and event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                break
        if leave:
            # The run goes on without its reader.
            await result.run_loop_task
