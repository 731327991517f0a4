"""The loop that everybody writes by hand: ask, run the tools that the model wants, hand back the results, ask again."""

import json
from pathlib import Path

from openai import OpenAI

QUESTIONS = ("Write a greeting and check the old one.", "Thank you. Anything left to do?")


def write_file(path, content):
    Path(path).write_text(content)
    return f"wrote {len(content)} characters"


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
