"""A Strands agent with no line of turnlog in it. Record it with: turnlog run python examples/strands_agent.py"""

from strands import Agent, tool
from strands.models.openai import OpenAIModel

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"12 °C and rain in {city}"


# A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url.
SCRIPT = [
    Reply("I look up the weather first.", tool_calls=[ToolCall("get_weather", {"city": "Oslo"})]),
    Reply("Take an umbrella."),
]

with ScriptedModel(SCRIPT) as model:
    chat = OpenAIModel(client_args={"base_url": model.base_url, "api_key": "none"}, model_id="scripted")
    agent = Agent(model=chat, tools=[get_weather], name="guide", callback_handler=None)
    print(str(agent("What do I wear in Oslo?")).strip())
