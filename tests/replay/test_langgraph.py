"""A LangGraph agent with ChatOpenAI is replayed whole: model and tools, streamed or not, and what its tools did to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from replayed import Stage
from turnlog.demo.reply import Reply, ToolCall

AGENT = """
import asyncio, sys
from pathlib import Path
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

@tool
def write(path: str, text: str) -> str:
    "Write a file."
    if not Path(path).parent.is_dir():
        return "no such folder"
    Path(path).write_text(text)
    sys.stderr.write(f"wrote {path}\\n")
    return f"wrote {path}"

agent = create_agent(
    ChatOpenAI(model="m", base_url=sys.argv[1], api_key="none", streaming=STREAMING),
    tools=[write], checkpointer=InMemorySaver(), name="writer",
)
config = {"configurable": {"thread_id": "ticket-7"}}

def ask(text):
    print(agent.invoke({"messages": [("user", text)]}, config)["messages"][-1].content)

async def ask_async(text):
    async for kind, piece in agent.astream({"messages": [("user", text)]}, config, stream_mode=["messages", "values"]):
        if kind == "messages":
            print(type(piece[0]).__name__, piece[0].content)

ask("write two files")
asyncio.run(ask_async("and one more"))
"""
SCRIPT = (
    Reply(
        "I write them.",
        tool_calls=[ToolCall("write", {"path": "a.txt", "text": "A"}), ToolCall("write", {"path": "b.txt", "text": "B"})],
    ),
    "Both are there.",
    Reply(tool_calls=[ToolCall("write", {"path": "/nowhere/c.txt", "text": "C"})]),
    "There was no such folder.",
)


@pytest.mark.parametrize("streaming", ["False", "True"])
def test_an_agent_is_replayed_whole(tmp_path: Path, streaming: str) -> None:
    program = AGENT.replace("STREAMING", streaming).replace(
        "    Path(path).write_text(text)\n",
        "    if 'nowhere' in path: return 'no such folder'\n    Path(path).write_text(text)\n",
    )
    stage = Stage(tmp_path, program)
    printed = stage.record(SCRIPT, session="")
    assert stage.take_effects() == {"a.txt": "A", "b.txt": "B"}
    done = stage.replay(session="ticket-7")
    assert (done.stdout, done.stderr) == (printed, "")
    assert stage.take_effects() == {}
    stage.assert_exact("ticket-7")


def test_a_live_side_is_live_and_the_other_given_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, AGENT.replace("STREAMING", "False").replace("asyncio.run", "0 and asyncio.run"))
    printed = stage.record(SCRIPT[:2])
    done = stage.replay("--tools", "live")
    assert done.stdout == printed
    assert sorted(done.stderr.split()) == ["a.txt", "b.txt", "wrote", "wrote"]
    done, requests = stage.replay_live(SCRIPT[:2], "--model", "live")
    assert (done.stdout, done.stderr, requests) == (printed, "", 2)


def test_from_a_turn_on_everything_is_live(tmp_path: Path) -> None:
    stage = Stage(tmp_path, AGENT.replace("STREAMING", "False").replace("/nowhere/", ""))
    script = (*SCRIPT[:2], Reply(tool_calls=[ToolCall("write", {"path": "c.txt", "text": "C"})]), "It is there.")
    stage.record(script)
    done, requests = stage.replay_live(
        [Reply(tool_calls=[ToolCall("write", {"path": "d.txt", "text": "D"})]), "Another."], "--from-turn", "2"
    )
    assert (done.stdout.splitlines()[0], "Another." in done.stdout) == ("Both are there.", True)
    assert (done.stderr, requests) == ("wrote d.txt\n", 2)
    newest = stage.sessions()[-1]
    recorded, replayed = stage.commits("s", at_once=True), stage.commits(newest, at_once=True)
    assert [commit for commit in replayed if commit["turn"] == 1] == [commit for commit in recorded if commit["turn"] == 1]
    assert [commit["tool"] for commit in replayed if commit["turn"] == 2 and commit["kind"] == "tool"] == ["write"]
