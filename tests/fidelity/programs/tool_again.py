"""A LangChain agent whose tool fails the first time; the agent hears of it and calls again, and once more as it was told."""

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

attempts = []


@tool
def ring_the_bell(times: int) -> str:
    """Ring the bell."""
    attempts.append(times)
    if len(attempts) == 1:
        raise ConnectionError("the rope is stuck")
    return f"rang {times} times"


@wrap_tool_call
def tell_the_model(request, handler):
    try:
        return handler(request)
    except Exception as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


agent = create_agent(ChatOpenAI(model="gpt-5"), [ring_the_bell], middleware=[tell_the_model])
state = agent.invoke({"messages": [("user", "Ring the bell three times, and then again.")]})
print(state["messages"][-1].content)
