"""Anthropic's tool runner replayed: sync, async and streaming, tools of every kind that it runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.twice import Twice
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

_base_client = pytest.importorskip("anthropic._base_client")
if not hasattr(_base_client, "start_api_call_span"):
    pytest.skip("the tool runner can be followed since 1.14", allow_module_level=True)

PROGRAM = """
import asyncio, json, logging, os, pathlib, sys, time
import anthropic
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import BetaBuiltinFunctionTool, ToolError

logging.disable(logging.ERROR)

def happened(what):
    with open("effects.txt", "a") as file:
        file.write(what + "\\n")

def write(path: str, text: str) -> str:
    "Writes a file."
    happened("write")
    pathlib.Path(path).write_text(text)
    return f"wrote {len(text)} at {time.time()}"

def look(n: int) -> list:
    "Looks."
    happened("look")
    if n == 2:
        raise ToolError([{"type": "text", "text": f"structured at {time.time()}"}])
    if n == 3:
        raise ValueError(f"no third at {time.time()}")
    return [{"type": "text", "text": f"seen at {time.time()}"}]

class Note(BetaBuiltinFunctionTool):
    def to_dict(self):
        return {"name": "note", "description": "Notes.", "input_schema": {"type": "object", "properties": {}}}

    def call(self, input):
        happened("note")
        return f"noted at {time.time()}"

async def write_later(path: str, text: str) -> str:
    "Writes a file."
    await asyncio.sleep(0.01)
    return write(path, text)

given = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "Work."}]}
options = {"base_url": os.environ["MODEL"], "api_key": "none", "max_retries": 0}
said = []

client = anthropic.Anthropic(**options)
runner = client.beta.messages.tool_runner(**given, tools=[beta_tool(write), beta_tool(look), Note()])
said.append(runner.until_done().content[0].text)
said.append(runner._params["messages"] if hasattr(runner, "_params") else None)
runner = client.beta.messages.tool_runner(**given, tools=[beta_tool(write)], stream=True)
said.append(["".join(stream.text_stream) for stream in runner])

async def later():
    async with anthropic.AsyncAnthropic(**options) as client:
        runner = client.beta.messages.tool_runner(**given, tools=[beta_async_tool(name="write")(write_later)])
        return (await runner.until_done()).content[0].text

said.append(asyncio.run(later()))
print(json.dumps(said, default=lambda value: value.model_dump()))
"""
WRITE = ToolCall("write", {"path": "out.txt", "text": "hello"})
SCRIPT = [
    Reply("Now.", tool_calls=[WRITE, *(ToolCall("look", {"n": n}) for n in (1, 2, 3)), ToolCall("note")]),
    "Done.",
    Reply("Again.", tool_calls=[WRITE, ToolCall("write", {"path": 1})]),
    "Streamed.",
    Reply("Later.", tool_calls=[WRITE]),
    "Later done.",
]


def test_no_tool_of_a_runner_runs_and_its_commits_are_the_same(tmp_path: Path) -> None:
    twice = Twice(tmp_path, PROGRAM, TURNLOG_SESSION="runner")
    with ScriptedModel(SCRIPT) as model:
        recorded = twice.record(MODEL=model.url)
    effects = twice.workspace / "effects.txt"
    assert effects.read_text().split() == ["write", "look", "look", "look", "note", "write", "write"]
    effects.unlink()
    (twice.workspace / "out.txt").unlink()
    replayed = twice.replay("runner", MODEL="http://127.0.0.1:9")
    assert json.loads(replayed.stdout) == json.loads(recorded.stdout)
    assert list(twice.workspace.iterdir()) == []
    assert twice.commits("runner") == twice.commits(twice.replay_of("runner"))
