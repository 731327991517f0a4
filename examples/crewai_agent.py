"""A CrewAI crew with no line of turnlog in it. Record it with: turnlog run python examples/crewai_agent.py"""

import os

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

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
    llm = LLM(model="openai/gpt-4o", base_url=model.base_url, api_key="none")
    guide = Agent(role="guide", goal="Help travellers.", backstory="You know the weather.", llm=llm, tools=[get_weather])
    task = Task(description="What do I wear in {city}?", expected_output="One sentence.", agent=guide)
    # The session's id is the crew's.
    print(Crew(agents=[guide], tasks=[task], name="guides").kickoff({"city": "Oslo"}).raw)
