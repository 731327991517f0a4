"""A LangChain agent whose model asks for three tools in one breath; they run at once, each on its own file."""

import threading
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

together = threading.Barrier(3)


def write(path, text):
    together.wait()
    with Path(path).open("w") as file:
        together.wait()
        file.write(text)
    together.wait()
    return "written"


@tool
def write_verse(number: int) -> str:
    """Write a verse."""
    return write(f"verse{number}.txt", "It was a dark and stormy night.")


@tool
def write_chorus() -> str:
    """Write the chorus."""
    return write("chorus.txt", "And the wind blew.")


@tool
def write_title() -> str:
    """Write the title."""
    return write("title.txt", "The Night")


agent = create_agent(ChatOpenAI(model="gpt-5"), [write_verse, write_chorus, write_title])
state = agent.invoke({"messages": [("user", "Write me a song.")]})
print(state["messages"][-1].content)
