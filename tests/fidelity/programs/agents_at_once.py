"""Two LangChain agents of one kind at work at the same time, each with a thread id and a file of its own."""

import asyncio
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

REQUESTS = {
    "ham": ("Note that ham is out of stock.", "And who told me so?"),
    "jam": ("Note that jam is out of stock.", "And who told me so?"),
}


@tool
async def save_note(path: str, text: str) -> str:
    """Save a note in a file."""
    with Path(path).open("w") as file:
        for word in text.split():
            file.write(f"{word} ")
            await asyncio.sleep(0.02)
    return "saved"


async def work(agent, thread, requests):
    for request in requests:
        async for _ in agent.astream({"messages": [("user", request)]}, {"configurable": {"thread_id": thread}}):
            await asyncio.sleep(0)


async def main():
    agent = create_agent(
        ChatOpenAI(model="gpt-5"), [save_note], system_prompt="You keep the shop's notes.", checkpointer=InMemorySaver()
    )
    await asyncio.gather(*(work(agent, thread, requests) for thread, requests in REQUESTS.items()))


asyncio.run(main())
