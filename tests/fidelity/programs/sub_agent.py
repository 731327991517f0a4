"""A LangChain agent whose tool hands the user's own words to a second agent, which has instructions and a tool of its own."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

REQUESTS = ("Hello.", "Which birds are missing?", "Thank you.")
model = ChatOpenAI(model="gpt-5")


@tool
def count_birds() -> str:
    """Count the birds on the pond."""
    return "9 ducks"


researcher = create_agent(model, [count_birds], name="researcher", system_prompt="You research.")


@tool
def research(question: str) -> str:
    """Ask the researcher."""
    return researcher.invoke({"messages": [("user", question)]})["messages"][-1].content


keeper = create_agent(model, [research], name="keeper", system_prompt="You keep the pond.", checkpointer=InMemorySaver())
for request in REQUESTS:
    state = keeper.invoke({"messages": [("user", request)]}, {"configurable": {"thread_id": "pond"}})
    print(state["messages"][-1].content)
