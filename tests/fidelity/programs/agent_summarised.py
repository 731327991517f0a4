"""A LangChain agent whose memory is summarised by LangChain's own middleware: the last two messages stay as they are."""

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

QUESTIONS = ("Who built the bridge?", "When was that?", "How long is it?", "Is it still open?")

agent = create_agent(
    ChatOpenAI(model="gpt-5"),
    tools=[],
    system_prompt="You are a city guide.",
    middleware=[SummarizationMiddleware(ChatOpenAI(model="gpt-5-mini"), trigger=("messages", 6), keep=("messages", 2))],
    checkpointer=InMemorySaver(),
)
for question in QUESTIONS:
    state = agent.invoke({"messages": [("user", question)]}, {"configurable": {"thread_id": "tour-1"}})
    print(state["messages"][-1].content)
