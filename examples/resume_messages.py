"""A hand-written loop that dies in the middle of a tool call. Run it twice: the second run finishes what the first began."""

import json
import os
import signal
from pathlib import Path

from openai import OpenAI

import turnlog
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

SESSION = "release"
turnlog.init(capture="full")


@turnlog.tool
def publish(version: str) -> str:
    if not is_resumed:
        os.kill(os.getpid(), signal.SIGKILL)
    Path("published").write_text(version)
    return f"published {version}"


@turnlog.tool
def look_up(version: str) -> str:
    return f"{version} is {'' if Path('published').exists() else 'not '}there"


def answer(body: dict) -> Reply | str:
    """A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url."""
    said = str(body["messages"][-1]["content"])
    if said.startswith("published"):
        return "Release 1.2 is published."
    if said.startswith("interrupted"):
        return Reply("It was cut short: I look first.", tool_calls=[ToolCall("look_up", {"version": "1.2"})])
    return Reply("Now to the public.", tool_calls=[ToolCall("publish", {"version": "1.2"})])


try:
    turnlog.resume(SESSION)
    messages, is_resumed = turnlog.messages(SESSION), True
except turnlog.NotFound:
    messages, is_resumed = [{"role": "user", "content": "Publish release 1.2."}], False

with ScriptedModel(answer) as model, turnlog.session(SESSION):
    client = OpenAI(base_url=model.base_url, api_key="none")
    while True:
        reply = client.chat.completions.create(model="scripted", messages=messages).choices[0].message
        messages.append(reply.model_dump(exclude_none=True))
        if not reply.tool_calls:
            break
        for call in reply.tool_calls:
            tool = {"publish": publish, "look_up": look_up}[call.function.name]
            result = tool(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(reply.content)
