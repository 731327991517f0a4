"""Anthropic's SDK replayed: messages, streams, and its tool runner with tools of every kind that it runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replayed import Stage
from turnlog.demo.scripted_model import Reply, ToolCall

_base_client = pytest.importorskip("anthropic._base_client")

MESSAGES = """
import asyncio, sys
from anthropic import Anthropic, AsyncAnthropic
ask = {"model": "m", "max_tokens": 99, "system": "Be kind."}
client = Anthropic(base_url=sys.argv[2], api_key="none")
print(client.messages.create(**ask, messages=[{"role": "user", "content": "hi"}]).content[0].text)
with client.messages.stream(**ask, messages=[{"role": "user", "content": "again"}]) as stream:
    print(list(stream.text_stream))
async def later():
    client = AsyncAnthropic(base_url=sys.argv[2], api_key="none")
    async with client.messages.stream(**ask, messages=[{"role": "user", "content": "later"}]) as stream:
        return [text async for text in stream.text_stream]
print(asyncio.run(later()))
"""
RUNNER = """
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
options = {"base_url": sys.argv[2], "api_key": "none", "max_retries": 0}
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


def test_messages_and_streams_are_replayed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, MESSAGES)
    printed = stage.record([Reply("one two three four")] * 3)
    done = stage.replay()
    assert (done.stdout, done.stderr) == (printed, "")
    stage.assert_exact()


@pytest.mark.skipif(not hasattr(_base_client, "start_api_call_span"), reason="the tool runner can be followed since 1.14")
def test_no_tool_of_a_runner_runs_and_its_commits_are_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, RUNNER)
    printed = stage.record(SCRIPT)
    effects = stage.take_effects()
    assert effects["effects.txt"].split() == ["write", "look", "look", "look", "note", "write", "write"]
    done = stage.replay()
    assert (json.loads(done.stdout), done.stderr) == (json.loads(printed), "")
    assert stage.take_effects() == {}
    stage.assert_exact()
