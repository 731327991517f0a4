"""The demo's agent: an ordinary LangChain program with four tools, and one call of the bare OpenAI SDK at the end.

It is run by `turnlog run`, like any program of a user's. Only `choose` knows of turnlog: it records a decision by hand.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openai import OpenAI

import turnlog
from turnlog.demo.script import CHANGELOG_REQUEST, MODEL, REQUESTS

# A fresh Python that is recorded takes a second to start on a busy machine, and its test must then still pass.
TEST_SECONDS = 3.0


@tool
def write_file(path: str, content: str) -> str:
    """Write a file in the workspace."""
    Path(path).write_text(content)
    return f"wrote {len(content.splitlines())} lines to {path}"


@tool
def read_file(path: str) -> str:
    """Read a file in the workspace."""
    return Path(path).read_text()


@tool
def run_tests(path: str) -> str:
    """Run a test file; it may take a second at most."""
    try:
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=TEST_SECONDS)  # noqa: S603 - the demo's own file
    except subprocess.TimeoutExpired as late:
        raise TimeoutError(f"{path} did not finish within {TEST_SECONDS:g} s") from late
    return done.stdout.strip() or done.stderr.strip()


@tool
def choose(about: str, choice: str, why: str, alternatives: list[str]) -> str:
    """Say what you decided, and why, before you act on it."""
    turnlog.decide(choice, why=why, alternatives=alternatives, about=about)
    return f"{about}: {choice}"


@wrap_tool_call
def tell_the_model(request: Any, handler: Any) -> Any:
    """A failing tool becomes a message that the model can react to, instead of the end of the run."""
    try:
        return handler(request)
    except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model should hear of it
        return ToolMessage(f"{type(error).__name__}: {error}", tool_call_id=request.tool_call["id"], status="error")


def main(base_url: str, thread: str) -> None:
    agent: Any = create_agent(
        ChatOpenAI(model=MODEL, base_url=base_url, api_key="none"),  # type: ignore[arg-type]
        tools=[write_file, read_file, run_tests, choose],
        middleware=[tell_the_model],
        checkpointer=InMemorySaver(),
        name="coder",
    )
    for request in REQUESTS:
        print(f"user:  {request}", flush=True)  # noqa: T201 - an ordinary program talks on stdout
        answer = agent.invoke({"messages": [("user", request)]}, {"configurable": {"thread_id": thread}})
        print(f"coder: {answer['messages'][-1].content}", flush=True)  # noqa: T201
    print(f"user:  {CHANGELOG_REQUEST}", flush=True)  # noqa: T201
    with turnlog.session(thread):
        client = OpenAI(base_url=base_url, api_key="none")
        completion = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": CHANGELOG_REQUEST}])
    print(f"model: {completion.choices[0].message.content}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
