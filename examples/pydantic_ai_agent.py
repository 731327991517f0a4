"""A Pydantic AI agent with no line of turnlog in it. Record it with: turnlog run python examples/pydantic_ai_agent.py"""

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall


def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Kristiania":
        raise ModelRetry("no such city today")
    return f"12 °C and rain in {city}"


# A stand-in for a model, so that the example runs offline. With a key, drop it and the provider.
SCRIPT = [
    Reply("I look up the weather first.", tool_calls=[ToolCall("get_weather", {"city": "Kristiania"})]),
    Reply("That is Oslo's old name.", tool_calls=[ToolCall("get_weather", {"city": "Oslo"})]),
    Reply("Take an umbrella."),
]

with ScriptedModel(SCRIPT) as model:
    provider = OpenAIProvider(base_url=model.base_url, api_key="none")
    agent = Agent(OpenAIChatModel("scripted", provider=provider), name="guide", tools=[get_weather])
    answer = agent.run_sync("What do I wear in Kristiania?", conversation_id="trip")
    print(answer.output)
