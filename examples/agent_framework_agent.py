"""An agent of Microsoft's Agent Framework with no line of turnlog in it.

Record it with: turnlog run python examples/agent_framework_agent.py
"""

import asyncio

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall


@tool(approval_mode="never_require")
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"12 °C and rain in {city}"


# A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url.
SCRIPT = [
    Reply("I look up the weather first.", tool_calls=[ToolCall("get_weather", {"city": "Oslo"})]),
    Reply("Take an umbrella."),
]


async def main() -> None:
    with ScriptedModel(SCRIPT) as model:
        client = OpenAIChatCompletionClient(model="scripted", base_url=model.base_url, api_key="none")
        agent = Agent(client=client, name="guide", tools=[get_weather])
        answer = await agent.run("What do I wear in Oslo?", session=agent.create_session(session_id="trip"))
        print(answer.messages[-1].text)


asyncio.run(main())
