"""What models answered the OpenAI SDK is given back: same program, same output, same commits, and no connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from replayed import Stage
from turnlog.demo.reply import Reply, ToolCall

CHAT = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="none")
messages = []
for question in ("hi", "how are you"):
    messages.append({"role": "user", "content": question})
    reply = client.chat.completions.create(model="m", messages=messages, temperature=0)
    print(reply.choices[0].message.content, reply.id, flush=True)
    messages.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
OPENAI_STREAM = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="none")
ask = [{"role": "user", "content": "hi"}]
for piece in client.chat.completions.create(model="m", messages=ask, stream=True):
    print(piece.choices[0].delta.content, flush=True)
with client.responses.stream(model="m", input="hé") as stream:
    for event in stream:
        print(event.type)
"""
OPENAI_ASYNC = """
import asyncio, sys
from openai import AsyncOpenAI
async def ask(client, text):
    messages = [{"role": "user", "content": text}]
    whole = await client.chat.completions.create(model="m", messages=messages)
    messages += [{"role": "assistant", "content": whole.choices[0].message.content}, {"role": "user", "content": "more"}]
    pieces = [piece async for piece in await client.chat.completions.create(model="m", messages=messages, stream=True)]
    return whole.choices[0].message.content, len(pieces)
async def main():
    async with AsyncOpenAI(base_url=sys.argv[1], api_key="none") as client:
        print(await ask(client, "first"), await ask(client, "second"))
        if "at once" in sys.argv:
            print(sorted(await asyncio.gather(*(ask(client, f"number {n}") for n in range(4)))))
asyncio.run(main())
"""
COUNTING = lambda body: Reply(f"{body['messages'][-1]['content']} of {len(body['messages'])}")  # noqa: E731
OPENAI_RAW = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="none")
ask = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
raw = client.chat.completions.with_raw_response.create(**ask)
print(raw.status_code, raw.headers["content-type"], raw.parse().choices[0].message.content)
with client.chat.completions.with_streaming_response.create(**{**ask, "model": "m2"}) as response:
    print(response.parse().model)
print(client.embeddings.create(model="e", input=["a", "b"]).data[1].embedding)
print(client.embeddings.create(model="e", input=["c"]).data[0].embedding)
"""
OPENAI_PARSE = """
import asyncio, sys
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
class City(BaseModel):
    name: str
ask = [{"role": "user", "content": "where"}]
client = OpenAI(base_url=sys.argv[1], api_key="none")
print(repr(client.chat.completions.parse(model="m", messages=ask, response_format=City).choices[0].message.parsed))
first = client.responses.parse(model="m", input="where", text_format=City)
print(repr(first.output_parsed))
print(client.responses.create(model="m", input="and then", previous_response_id=first.id).output_text)
async def later():
    async with AsyncOpenAI(base_url=sys.argv[1], api_key="none") as client:
        return (await client.responses.parse(model="m", input="later", text_format=City)).output_parsed
print(repr(asyncio.run(later())))
"""
CITY = Reply('{"name": "Oslo"}')
OPENAI_TOOLS = """
import json, pathlib, sys
import turnlog
from openai import OpenAI
@turnlog.tool
def write(path, text):
    pathlib.Path(path).write_text(text)
    return f"wrote {path}"
client = OpenAI(base_url=sys.argv[1], api_key="none")
messages = [{"role": "user", "content": "write it"}]
tools = [{"type": "function", "function": {"name": "write", "parameters": {"type": "object"}}}]
while True:
    message = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        result = write(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
print(message.content)
"""
OPENAI_BREAK = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="none")
ask = [{"role": "user", "content": "hi"}]
for piece in client.chat.completions.create(model="m", messages=ask, stream=True):
    print(piece.choices[0].delta.content)
    if piece.choices[0].delta.content == "two ":
        break
print("left")
"""
FAILING = """
import sys
from openai import APIConnectionError, APIStatusError, OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="none", max_retries=1)
for text in ("busy", "broken", "gone", "cut"):
    ask = {"model": "m", "messages": [{"role": "user", "content": text}]}
    try:
        print([piece.choices[0].delta.content for piece in client.chat.completions.create(**ask, stream=text == "cut")])
    except APIStatusError as error:
        print(type(error).__name__, error)
    except APIConnectionError as error:
        print(type(error).__name__, type(error.__cause__).__name__)
    except Exception as error:
        print(type(error).__name__, error)
"""
WORDS = Reply("one two three four")


@pytest.mark.parametrize(
    ("program", "script"),
    [
        (CHAT, ["Hello.", "Fine."]),
        (OPENAI_STREAM, [WORDS, WORDS]),
        (OPENAI_ASYNC, COUNTING),
        (OPENAI_RAW, [WORDS, WORDS]),
        (OPENAI_PARSE, [CITY, CITY, "Bergen.", CITY]),
        (OPENAI_BREAK, [WORDS]),
        (
            FAILING,
            [
                *(Reply("slow down", status=429), Reply("slow down", status=429)),
                *(Reply("oh", status=500), Reply("oh dear", status=500)),
                *(Reply(drop=True), Reply(drop=True)),
                Reply("one two three four", drop=True),
            ],
        ),
    ],
    ids=["chat", "stream", "async", "raw and embeddings", "parsed", "left early", "failing"],
)
def test_a_replay_prints_and_commits_the_same(tmp_path: Path, program: str, script: list[Reply | str]) -> None:
    stage = Stage(tmp_path, program)
    printed = stage.record(script)
    done = stage.replay()
    assert (done.stdout, done.stderr) == (printed, "")
    stage.assert_exact()


def test_what_these_tests_forbid_is_noticed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, OPENAI_BREAK.replace("client = ", "import urllib.request\nclient = "))
    stage.record([WORDS])
    stage.program += "urllib.request.urlopen(sys.argv[1])"
    assert "\nAssertionError: socket." in stage.replay(code=1).stderr


def test_a_loop_by_hand_with_its_tools_is_replayed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, OPENAI_TOOLS)
    printed = stage.record([Reply(tool_calls=[ToolCall("write", {"path": "a.txt", "text": "A"})]), "It is there."])
    assert stage.take_effects() == {"a.txt": "A"}
    done = stage.replay()
    assert (done.stdout, done.stderr, stage.take_effects()) == (printed, "", {})
    stage.assert_exact()


def test_calls_that_run_at_once_each_get_their_own_answer(tmp_path: Path) -> None:
    stage = Stage(tmp_path, OPENAI_ASYNC.replace('if "at once" in sys.argv', "if True"))
    printed = stage.record(COUNTING)
    done = stage.replay()
    assert (done.stdout, done.stderr) == (printed, "")
