"""A LangChain agent with no line of turnlog in it. Record it with: turnlog run python examples/langchain_agent.py"""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

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
    agent = create_agent(
        ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none"), tools=[get_weather], name="guide"
    )
    answer = agent.invoke({"messages": [("user", "What do I wear in Oslo?")]})
    print(answer["messages"][-1].content)
