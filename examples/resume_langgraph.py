"""A LangGraph agent that dies in the middle of a tool call. Run it twice: the second run goes on from the checkpoint, which
LangGraph keeps in a file of its own. Needs: pip install langgraph-checkpoint-sqlite"""

import os
import signal

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver

import turnlog
from turnlog.continuing.langgraph import config
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

SESSION = "trip"
turnlog.init()


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    if not is_resumed:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"12 °C and rain in {city}"


def answer(body: dict) -> Reply | str:
    """A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url."""
    if body["messages"][-1]["role"] == "tool":
        return "Take an umbrella."
    return Reply("I look up the weather first.", tool_calls=[ToolCall("get_weather", {"city": "Oslo"})])


try:
    turnlog.resume(SESSION)
    where, said, is_resumed = config(SESSION), None, True
except turnlog.NotFound:
    where, is_resumed = {"configurable": {"thread_id": SESSION}}, False
    said = {"messages": [("user", "What do I wear in Oslo?")]}

with ScriptedModel(answer) as model, SqliteSaver.from_conn_string("checkpoints.sqlite") as saver:
    chat = ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none")
    agent = create_agent(chat, tools=[get_weather], checkpointer=saver)
    print(agent.invoke(said, where, durability="sync")["messages"][-1].content)
