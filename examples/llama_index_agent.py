"""A LlamaIndex agent with no line of turnlog in it. Record it with: turnlog run python examples/llama_index_agent.py"""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory
from llama_index.llms.openai import OpenAI

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"12 °C and rain in {city}"


# A stand-in for a model, so that the example runs offline. With a key, drop it and the api_base.
SCRIPT = [
    Reply("I look up the weather first.", tool_calls=[ToolCall("get_weather", {"city": "Oslo"})]),
    Reply("Take an umbrella."),
]


async def main() -> None:
    with ScriptedModel(SCRIPT) as model:
        llm = OpenAI(model="gpt-4o", api_base=model.base_url, api_key="none")
        agent = FunctionAgent(name="guide", tools=[get_weather], llm=llm)
        # The session's id is the memory's.
        print(await agent.run("What do I wear in Oslo?", memory=Memory.from_defaults(session_id="oslo")))


asyncio.run(main())
