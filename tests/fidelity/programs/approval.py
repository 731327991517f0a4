"""Payments wait for a person. One is approved and made; the other still waits when the program ends."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt


@tool
def pay(amount: int, to: str) -> str:
    """Pay somebody, once a person has agreed."""
    agreed = interrupt(f"pay {amount} to {to}?")
    return "paid" if agreed else "refused"


agent = create_agent(ChatOpenAI(model="gpt-5"), [pay], checkpointer=InMemorySaver())
for person in ("Ann", "Ben"):
    agent.invoke({"messages": [("user", f"Pay 5 to {person}.")]}, {"configurable": {"thread_id": f"pay-{person}"}})
state = agent.invoke(Command(resume=True), {"configurable": {"thread_id": "pay-Ann"}})
print(state["messages"][-1].content)
