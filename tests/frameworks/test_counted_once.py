"""Libraries that turnlog does not hook and that call through ones that it does: each model call and tool call is one commit."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from programs import commits, run
from turnlog import queries
from turnlog.settings import Settings

TWO_TURNS = [
    (1, "decision", "", "ok"),
    (1, "tool", "add", "ok"),
    (1, "decision", "", "ok"),
    (2, "decision", "", "ok"),
    (2, "tool", "add", "ok"),
    (2, "decision", "", "ok"),
]
LITELLM = """
import asyncio, json, time, litellm
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
def answer(body):
    asks = body["messages"][-1]["role"] == "user"
    return Reply("I add.", tool_calls=[ToolCall("add", {"a": 1, "b": 2})]) if asks else Reply("Three.")
litellm.suppress_debug_info = True
litellm.callbacks = CALLBACKS
messages = []
async def turn(model, text, stream):
    messages.append({"role": "user", "content": text})
    while True:
        given = {"model": "openai/m", "messages": messages, "api_base": model.base_url, "api_key": "none"}
        if stream:
            pieces = [piece async for piece in await litellm.acompletion(**given, stream=True)]
            reply = litellm.stream_chunk_builder(pieces, messages=messages)
        else:
            reply = litellm.completion(**given)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return print(message.content)
        for call in message.tool_calls:
            said = str(sum(json.loads(call.function.arguments).values()))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
async def main(model):
    await turn(model, "Add.", False)
    await turn(model, "Add again.", True)
with ScriptedModel(answer) as model:
    asyncio.run(main(model))
# Its callbacks run on threads of their own.
time.sleep(0.5)
"""
SMOLAGENTS = """
from smolagents import MODEL, ToolCallingAgent, tool
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
@tool
def add(a: int, b: int) -> int:
    '''Adds two numbers.

    Args:
        a: one
        b: the other
    '''
    return a + b
def answer(body):
    last = body["messages"][-1]
    text = last["content"] if isinstance(last["content"], str) else last["content"][-1]["text"]
    if "Add" in text:
        return Reply("I add.", tool_calls=[ToolCall("add", {"a": 1, "b": 2})])
    return Reply("", tool_calls=[ToolCall("final_answer", {"answer": "Three."})])
with ScriptedModel(answer) as scripted:
    model = MODEL(GIVEN, api_base=scripted.base_url, api_key="none")
    agent = ToolCallingAgent(tools=[add], model=model, verbosity_level=0)
    print(agent.run("Add."))
    print(agent.run("Add again.", reset=False))
"""


def play(program: str, directory: Path, **environment: str) -> str:
    # In a file, because smolagents read the source of a tool.
    path = directory / "program.py"
    path.write_text(program)
    command = (sys.executable, "-m", "turnlog", "run", sys.executable, path)
    return run(*command, directory=directory, LITELLM_LOCAL_MODEL_COST_MAP="True", **environment).stdout


def needs(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: `python tests/frameworks/environments.py counted-once-test` runs this")


@pytest.mark.parametrize("callbacks", ["[]", '["otel"]'], ids=["without its own spans", "with its own spans"])
def test_litellm_is_counted_once(callbacks: str, tmp_path: Path) -> None:
    needs("litellm")
    assert play(LITELLM.replace("CALLBACKS", callbacks), tmp_path) == "Three.\nThree.\n"
    assert commits(tmp_path) == TWO_TURNS
    with queries.reading(Settings(directory=tmp_path)) as db:
        assert len(queries.sessions(db)) == 1
        native = db.execute("select count(*) from span_rows where name = 'litellm_request'").fetchall()
    assert native == [(4 if "otel" in callbacks else 0,)]


@pytest.mark.parametrize(("model", "given"), [("OpenAIModel", "'m'"), ("LiteLLMModel", "'openai/m'")])
def test_smolagents_are_counted_once(model: str, given: str, tmp_path: Path) -> None:
    """Model calls only: it tells the model of its tool calls in words, so that no call can be recovered from the messages."""
    needs("smolagents", *(("litellm", "mcp") if model == "LiteLLMModel" else ("openai",)))
    program = SMOLAGENTS.replace("MODEL", model).replace("GIVEN", given)
    assert play(program, tmp_path, TURNLOG_SESSION="s") == "Three.\nThree.\n"
    assert [kind for _, kind, _, _ in commits(tmp_path, "s")] == ["decision"] * 4
