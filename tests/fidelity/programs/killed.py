"""An agent whose second tool call takes the whole process down."""

import os
import signal

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver


@tool
def measure(what: str) -> str:
    """Measure something."""
    return f"{what}: 7"


@tool
def deploy(version: str) -> str:
    """Deploy a version."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


agent = create_agent(ChatOpenAI(model="gpt-5"), [measure, deploy], checkpointer=InMemorySaver())
agent.invoke({"messages": [("user", "Measure the load, then deploy 1.4.")]}, {"configurable": {"thread_id": "ops"}})
