"""A hand-written agent that can be killed and gone on with: from the messages of its session, or from its brief alone."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from openai import OpenAI

import turnlog

SESSION = "release"


@turnlog.tool
def write_file(path: str, content: str) -> str:
    Path(path).write_text(content)
    return f"wrote {path}"


@turnlog.tool
def publish(version: str) -> str:
    if not Path("network").exists():
        print("publishing", flush=True)
        time.sleep(600)
    Path("published").write_text(version)
    return f"published {version}"


@turnlog.tool
def look_up(version: str) -> str:
    return f"{version} is {'' if Path('published').exists() else 'not '}there"


TOOLS: dict[str, Any] = {"write_file": write_file, "publish": publish, "look_up": look_up}


def work(client: OpenAI, messages: list[Any]) -> str:
    while True:
        said = client.chat.completions.create(model="scripted", messages=messages).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return str(said.content)
        for call in said.tool_calls:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            if call.function.name == "write_file":
                turnlog.note("the notes are written", key="notes")


def main(base_url: str, way: str, task: str = "") -> None:
    client = OpenAI(base_url=base_url, api_key="none")
    if way == "start":
        turnlog.init(session=SESSION)
        messages: list[Any] = [{"role": "user", "content": task}]
    else:
        state = turnlog.resume(SESSION)
        messages = turnlog.messages(SESSION) if way == "messages" else [{"role": "user", "content": state.brief()}]
    print(work(client, messages))


if __name__ == "__main__":
    main(*sys.argv[1:])
