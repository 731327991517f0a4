"""The hand-written loop again; its tools are recorded by turnlog, and one of them writes beside what it was told to."""

import json
from pathlib import Path

from openai import OpenAI

import turnlog

QUESTIONS = ("Write a greeting and check the old one.", "Thank you. Anything left to do?")


@turnlog.tool
def write_file(path, content):
    Path(path).write_text(content)
    Path("journal.log").write_text(f"wrote {path}\n")
    return f"wrote {len(content)} characters"


@turnlog.tool
def read_file(path):
    return Path(path).read_text()


FUNCTIONS = {"write_file": write_file, "read_file": read_file}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in FUNCTIONS]

client = OpenAI()
messages = [{"role": "system", "content": "You keep the greetings."}]


def call(function, arguments):
    try:
        return function(**arguments)
    except Exception as error:
        return f"Error: {type(error).__name__}: {error}"


for question in QUESTIONS:
    messages.append({"role": "user", "content": question})
    while True:
        answer = client.chat.completions.create(model="gpt-5", messages=messages, tools=TOOLS).choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        if not answer.tool_calls:
            break
        for wanted in answer.tool_calls:
            result = call(FUNCTIONS[wanted.function.name], json.loads(wanted.function.arguments))
            messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})
    print(answer.content)
