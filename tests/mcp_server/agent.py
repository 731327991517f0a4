"""A LangGraph agent that goes in circles, asks turnlog about itself while it runs, and records what it decides then.

Another session of the same process is newer whenever it asks.
"""

from __future__ import annotations

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import turnlog
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "turnlog", "mcp"], env=dict(os.environ))
LOOK = Reply("I look again.", tool_calls=[ToolCall("look", {"at": "sky"})])
SCRIPT = [
    *[LOOK] * 3,
    Reply("Am I going in circles?", tool_calls=[ToolCall("whats_my_state", {})]),
    Reply("I stop looking.", tool_calls=[ToolCall("record_decision", {"choice": "stop", "why": "it stays grey"})]),
    Reply("It is grey."),
]


@tool
def look(at: str) -> str:
    """Look at something."""
    return "grey"


@turnlog.tool
def ping() -> str:
    return "pong"


async def main(model: ScriptedModel) -> None:
    async with Client(stdio_client(SERVER)) as client:

        async def ask(name: str, arguments: dict[str, str]) -> str:
            with turnlog.session("newer"), turnlog.turn(input="ping"):
                ping()
            text = str((await client.call_tool(name, arguments)).content[0].text)
            print(text, flush=True)
            return text

        @tool
        async def whats_my_state() -> str:
            """Your own state."""
            return await ask("whats_my_state", {})

        @tool
        async def record_decision(choice: str, why: str) -> str:
            """Record a decision."""
            return await ask("record_decision", {"choice": choice, "why": why})

        chat = ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none")
        agent = create_agent(chat, tools=[look, whats_my_state, record_decision], name="watcher")
        question = {"messages": [("user", "How is the sky?")]}
        answer = await agent.ainvoke(question, {"configurable": {"thread_id": "sky-watch"}})
        print(answer["messages"][-1].content)


with ScriptedModel(SCRIPT) as model:
    asyncio.run(main(model))
