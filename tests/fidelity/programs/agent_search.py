"""A LangChain agent that searches the web. Its middleware shows the model only what came since the latest question."""

from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

REQUESTS = ("Which library parses dates best? Use it.", "Write a file that greets me.")


@tool
def web_search(query: str) -> str:
    """Search the web."""
    return "Everybody uses whenever."


@tool
def write_file(path: str, content: str) -> str:
    """Write a file."""
    Path(path).write_text(content)
    return "written"


@wrap_model_call
def only_the_latest(request, handler):
    latest = max(index for index, message in enumerate(request.messages) if message.type == "human")
    return handler(request.override(messages=request.messages[latest:]))


agent = create_agent(
    ChatOpenAI(model="gpt-5"),
    [web_search, write_file],
    system_prompt="You are a programmer.",
    middleware=[only_the_latest],
    checkpointer=InMemorySaver(),
)
for request in REQUESTS:
    state = agent.invoke({"messages": [("user", request)]}, {"configurable": {"thread_id": "dates"}})
    print(state["messages"][-1].content)
