"""The OpenAI Agents SDK replayed: runs, streams, tools that fail, are slow or refused, handoffs, agents as tools, approvals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replayed import Stage
from turnlog.demo.reply import Reply, ToolCall

pytest.importorskip("agents", reason="the OpenAI Agents SDK has an environment of its own: tests/frameworks/environments.py")

PROGRAM = """
import asyncio, json, logging, pathlib, sys, time
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, SQLiteSession
from agents import ToolGuardrailFunctionOutput, function_tool, set_tracing_disabled, tool_input_guardrail
from openai import AsyncOpenAI

set_tracing_disabled(True)
logging.disable(logging.ERROR)

def happened(what):
    with open("effects.txt", "a") as file:
        file.write(what + "\\n")

@function_tool
def write(path: str, text: str) -> str:
    "Writes a file."
    happened("write")
    pathlib.Path(path).write_text(text)
    return f"wrote {len(text)} at {time.time()}"

@function_tool
async def fetch(url: str) -> dict:
    "Fetches a page."
    happened("fetch")
    await asyncio.sleep(0.01)
    return {"url": url, "at": time.time()}

@function_tool
def fails(city: str) -> str:
    "Fails."
    happened("fails")
    raise ValueError(f"no weather in {city} at {time.time()}")

@function_tool(timeout=0.3)
async def slow() -> str:
    "Is slow."
    happened("slow")
    await asyncio.sleep(5)
    return "late"

@tool_input_guardrail
def nobody(data):
    return ToolGuardrailFunctionOutput.reject_content("not for you")

@function_tool(tool_input_guardrails=[nobody])
def forbidden() -> str:
    "Is never run."
    happened("forbidden")
    return "run"

@function_tool(needs_approval=True)
def book(place: str) -> str:
    "Books."
    happened("book")
    return f"{place} at {time.time()}"

async def main():
    async with AsyncOpenAI(base_url=sys.argv[1], api_key="none", max_retries=0) as client:
        responses, chat = OpenAIResponsesModel("m", client), OpenAIChatCompletionsModel("m", client)
        helper = Agent("helper", model=chat, tools=[write])
        agent = Agent(
            "worker",
            model=responses,
            tools=[write, fetch, fails, slow, book, forbidden, helper.as_tool("help", "Has somebody help.")],
            handoffs=[Agent("other", model=responses, tools=[fetch])],
        )
        session = SQLiteSession("desk")
        said = [(await Runner.run(agent, "Work.", session=session)).final_output]
        streamed = Runner.run_streamed(agent, "Work on.", session=session)
        said += [event.type async for event in streamed.stream_events()]
        result = await Runner.run(agent, "Book.", session=session)
        state = result.to_state()
        for question in result.interruptions:
            (state.approve if "Lorry" in question.arguments else state.reject)(question)
        said.append((await Runner.run(agent, state, session=session)).final_output)
        said.append((await Runner.run(agent, "Ask for help.", session=session)).final_output)
        said.append((await Runner.run(agent, "Hand over.", session=session)).last_agent.name)
        return said + [item.get("output") for item in await session.get_items()]

print(json.dumps(asyncio.run(main())))
"""


def calls(*named: tuple[str, dict[str, Any]]) -> Reply:
    return Reply("Now.", tool_calls=[ToolCall(name, given) for name, given in named])


WRITE = ("write", {"path": "out.txt", "text": "hello"})
SCRIPT = [
    calls(WRITE, ("fetch", {"url": "a"}), ("fetch", {"url": "b"}), ("fails", {"city": "Oslo"}), ("write", {"path": 1})),
    "Done.",
    calls(("slow", {}), WRITE),
    "Streamed.",
    calls(("book", {"place": "Lorry"}), ("book", {"place": "Nolla"}), ("forbidden", {})),
    "Booked.",
    calls(("help", {"input": "write it"})),
    calls(WRITE),
    "I wrote it.",
    "It is written.",
    calls(("transfer_to_other", {})),
    calls(("fetch", {"url": "c"})),
    "Over.",
]


def test_no_tool_of_an_agent_runs_and_its_commits_are_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PROGRAM)
    printed = stage.record(SCRIPT, session="")
    effects = stage.take_effects()["effects.txt"].split()
    assert sorted(effects) == ["book", "fails", "fetch", "fetch", "fetch", "slow", "write", "write", "write"]
    done = stage.replay(session="desk")
    assert (json.loads(done.stdout), done.stderr) == (json.loads(printed), "")
    assert stage.take_effects() == {}
    stage.assert_exact("desk")
