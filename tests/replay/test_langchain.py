"""Tools of a LangChain agent replayed under LangGraph's ToolNode: no tool runs, and the commits are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replayed import Stage
from turnlog.demo.scripted_model import Reply, ToolCall

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_openai")

PROGRAM = """
from __future__ import annotations

import asyncio, json, os, pathlib, sys, time
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

def happened(what: str) -> None:
    with open("effects.txt", "a") as file:
        file.write(what + "\\n")

@tool
def write(path: str, text: str) -> str:
    "Writes a file."
    happened("write")
    pathlib.Path(path).write_text(text)
    return f"wrote {len(text)} at {time.time()}"

@tool
async def fetch(url: str) -> list[dict[str, Any]]:
    "Fetches a page."
    happened("fetch")
    await asyncio.sleep(0.01)
    return [{"type": "text", "text": f"{url} at {time.time()}"}]

@tool(response_format="content_and_artifact")
def chart(points: int) -> tuple[str, dict[str, Any]]:
    "Draws."
    happened("chart")
    return f"{points} points", {"raw": tuple(range(points)), "at": time.time()}

def fails(city: str) -> str:
    "Fails."
    happened("fails")
    raise ToolException(f"no weather in {city} at {time.time()}")

class Counter(BaseTool):
    name: str = "counter"
    description: str = "Counts."

    def _run(self, step: int, runtime: ToolRuntime = None) -> int:
        happened("counter")
        assert runtime.tool_call_id
        return step + int(time.time() * 1000)

class Doubler(Counter):
    name: str = "doubler"

    def _run(self, step: int, runtime: ToolRuntime) -> int:
        return 2 * super()._run(step, runtime)

@tool
def hand_over(to: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    "Hands over."
    happened("hand_over")
    return Command(update={"messages": [ToolMessage(f"over to {to} at {time.time()}", tool_call_id=tool_call_id)]})

@tool
def ask(question: str) -> str:
    "Asks a person, twice."
    happened("ask")
    first = interrupt(question)
    return f"{first} and {interrupt(question + ' Really?')} at {time.time()}"

class Exploded(Exception):
    def __init__(self, city: str, code: int) -> None:
        super().__init__(f"no {city}")
        self.code = code

@tool
def explode(city: str) -> str:
    "Explodes."
    happened("explode")
    raise Exploded(city, int(time.time()))

@tool
def lookup(word: str) -> str:
    "Looks up."
    happened("lookup")
    return f"{word} at {time.time()}"

@tool
def research(topic: str) -> str:
    "Has another agent look."
    return create_agent(model, [lookup]).invoke({"messages": [("user", topic)]})["messages"][-1].content

failing = StructuredTool.from_function(fails, handle_tool_error=True)
tools = [write, fetch, chart, failing, Counter(), Doubler(), hand_over, ask, explode, research]
model = ChatOpenAI(model="m", base_url=sys.argv[1], api_key="none", max_retries=0)
agent = create_agent(model, tools, checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "chain"}}

def messages(result: dict[str, Any]) -> list[Any]:
    return [[m.type, m.content, getattr(m, "artifact", None), getattr(m, "status", None)] for m in result["messages"]]

async def later(given: Any) -> Any:
    return await agent.ainvoke(given, thread)

one = agent.invoke({"messages": [("user", "Work.")]}, thread)
two = asyncio.run(later({"messages": [("user", "Work later.")]}))
questions = []
three = agent.invoke({"messages": [("user", "Ask.")]}, thread)
while "__interrupt__" in three:
    questions.append([each.value for each in three["__interrupt__"]])
    three = agent.invoke(Command(resume=f"yes {len(questions)}"), thread)
four = agent.invoke({"messages": [("user", "Research.")]}, thread)
try:
    agent.invoke({"messages": [("user", "Explode.")]}, thread)
except Exploded as error:
    exploded = [str(error), error.code]
print(json.dumps([messages(four), questions, exploded]))
"""


def calls(*named: tuple[str, dict[str, Any]]) -> Reply:
    return Reply("Now.", tool_calls=[ToolCall(name, given) for name, given in named])


WORK = (
    ("write", {"path": "out.txt", "text": "hello"}),
    ("chart", {"points": 3}),
    ("fails", {"city": "Oslo"}),
    ("counter", {"step": 1}),
    ("doubler", {"step": 1}),
    ("hand_over", {"to": "them"}),
)
SCRIPT = [
    calls(*WORK),
    "Done.",
    calls(("write", {"path": 1})),
    calls(*WORK, ("fetch", {"url": "a"}), ("fetch", {"url": "b"})),
    "Done later.",
    calls(("ask", {"question": "Send?"})),
    "Sent.",
    calls(("research", {"topic": "rain"})),
    calls(("lookup", {"word": "rain"})),
    "Rain is wet.",
    "It is wet.",
    calls(("explode", {"city": "Oslo"})),
]


def test_no_tool_of_an_agent_runs_and_its_commits_are_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PROGRAM)
    printed = stage.record(SCRIPT, session="")
    done = ["chart", "counter", "counter", "fails", "hand_over", "write"]
    effects = stage.take_effects()["effects.txt"].split()
    assert sorted(effects) == sorted([*done, *done, *["ask"] * 3, *["fetch"] * 2, "lookup", "explode"])
    replayed = stage.replay(session="chain")
    assert (json.loads(replayed.stdout), replayed.stderr) == (json.loads(printed), "")
    assert stage.take_effects() == {}
    stage.assert_exact("chain")


MANY = """
import sys
import httpx
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

class Many(BaseChatModel):
    _llm_type = "many"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        def ask(number):
            body = {"model": "m", "messages": [{"role": "user", "content": str(number)}]}
            return httpx.post(sys.argv[1] + "/chat/completions", json=body).json()["choices"][0]["message"]["content"]

        said = {number: ask(number) for number in (1, 2, 3)}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(str(sorted(said.items()))))])

print(Many().invoke("hi").content)
"""
ECHO = lambda body: Reply(f"heard {body['messages'][-1]['content']}")  # noqa: E731


def test_requests_of_one_call_get_their_own_answers_in_whatever_order_they_are_sent(tmp_path: Path) -> None:
    stage = Stage(tmp_path, MANY)
    printed = stage.record(ECHO)
    stage.program = MANY.replace("(1, 2, 3)", "(3, 1, 2)")
    done = stage.replay()
    assert (done.stdout, done.stderr) == (printed, "")


def test_a_call_of_more_requests_than_are_kept_is_refused(tmp_path: Path) -> None:
    stage = Stage(tmp_path, MANY.replace("(1, 2, 3)", "range(17)"))
    stage.record(ECHO)
    done = stage.replay(code=1)
    assert (done.stdout, "more than 16 requests in one call" in done.stderr) == ("", True)
