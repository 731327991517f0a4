"""A Google ADK agent with no line of turnlog in it. Record it with: turnlog run python examples/google_adk_agent.py"""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall


def get_weather(city: str, tool_context: ToolContext) -> str:
    """The weather in a city."""
    tool_context.state["city"] = city
    return f"12 °C and rain in {city}"


# A stand-in for a model, so that the example runs offline. With a key, drop it and give the model's name.
SCRIPT = [
    Reply("I look up the weather first.", tool_calls=[ToolCall("get_weather", {"city": "Oslo"})]),
    Reply("Take an umbrella."),
]


async def main(model: ScriptedModel) -> None:
    gemini = Gemini(model="gemini-scripted", base_url=model.url, client_kwargs={"api_key": "none"})
    runner = InMemoryRunner(LlmAgent(name="guide", model=gemini, tools=[get_weather]), app_name="trips")
    await runner.session_service.create_session(app_name="trips", user_id="me", session_id="trip")
    question = types.Content(role="user", parts=[types.Part(text="What do I wear in Oslo?")])
    async for event in runner.run_async(user_id="me", session_id="trip", new_message=question):
        if event.is_final_response():
            print(event.content.parts[0].text)


with ScriptedModel(SCRIPT) as model:
    asyncio.run(main(model))
