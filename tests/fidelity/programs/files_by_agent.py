"""A LangChain agent that keeps house in a folder, with tools in Python and one that runs shell commands."""

import subprocess
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def write_file(path: str, content: str) -> str:
    """Write a file."""
    Path(path).write_text(content)
    return "written"


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


@tool
def delete_file(path: str) -> str:
    """Delete a file."""
    Path(path).unlink()
    return "deleted"


@tool
def publish(title: str) -> str:
    """Make a page of everything so far."""
    Path("page.html").write_text(f"<h1>{title}</h1>")
    return "published"


@tool
def bash(command: str) -> str:
    """Run a shell command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout or "(no output)"


Path("old.txt").write_text("to be thrown away")
Path("draft.txt").write_text("first")
agent = create_agent(ChatOpenAI(model="gpt-5"), [write_file, read_file, delete_file, publish, bash])
state = agent.invoke({"messages": [("user", "Tidy up and publish.")]})
print(state["messages"][-1].content)
