"""An agent of two turns with LangChain and a scripted model: it writes a file, then fails to publish it.

    turnlog run python tests/stack/agent.py SESSION [--quiet]

Everybody in it says PRIVATE, and its second tool makes a span of its own that carries SECRET wherever a careless program would
put it. With `--quiet` there is only the first turn, in which nothing fails.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry import trace

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

PRIVATE = "damson"
SECRET = "sk-ant-0123456789abcdefghij"
SCRIPT = [
    Reply(
        f"The {PRIVATE} goes into a file.", tool_calls=[ToolCall("save", {"path": "list.txt", "content": f"1 kg {PRIVATE}"})]
    ),
    Reply(f"The {PRIVATE} is on the list."),
    Reply(f"Now everybody may see the {PRIVATE}.", tool_calls=[ToolCall("publish", {"text": f"1 kg {PRIVATE}"})]),
    Reply(f"I may not publish the {PRIVATE}."),
]


@tool
def save(path: str, content: str) -> str:
    """Write a file."""
    Path(path).write_text(content)
    return f"saved: {content}"


@tool
def publish(text: str) -> str:
    """Put a text where everybody can see it."""
    with trace.get_tracer("shop").start_as_current_span("POST /list") as span:
        span.set_attribute("http.request.header.authorization", f"Basic {SECRET}")
        span.set_attribute("shop.note", f"uses {SECRET}")
        span.set_attribute("shop.notes", ["two", f"uses {SECRET}"])
        raise PermissionError(f"{SECRET} may not publish")


@wrap_tool_call
def tell_the_model(request: Any, handler: Any) -> Any:
    try:
        return handler(request)
    except PermissionError as error:
        return ToolMessage(f"refused: {PRIVATE} {error}", tool_call_id=request.tool_call["id"], status="error")


def main(session: str, quiet: bool) -> None:
    with ScriptedModel(SCRIPT) as model:
        agent: Any = create_agent(
            ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none"),  # type: ignore[arg-type]
            tools=[save, publish],
            middleware=[tell_the_model],
            system_prompt=f"You look after the {PRIVATE}.",
            checkpointer=InMemorySaver(),
            name="keeper",
        )
        for text in (f"Write down 1 kg of {PRIVATE}.", "Publish it.")[: 1 if quiet else 2]:
            agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": session}})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        main(sys.argv[1], "--quiet" in sys.argv)
