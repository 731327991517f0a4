"""Two hand-written loops, one inside a tool of the other. Neither has instructions, and both are asked the very same."""

import json

from openai import OpenAI

import turnlog

QUESTIONS = ("Which boats are out?", "Are they safe?")
client = OpenAI()


def answer(messages, functions):
    while True:
        said = client.chat.completions.create(model="gpt-5", messages=messages).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content
        for wanted in said.tool_calls:
            result = functions[wanted.function.name](**json.loads(wanted.function.arguments))
            messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})


@turnlog.tool
def look_out():
    return "two sails"


@turnlog.tool
def ask_pilot(question):
    return answer([{"role": "user", "content": question}], {"look_out": look_out})


messages = []
for question in QUESTIONS:
    messages.append({"role": "user", "content": question})
    print(answer(messages, {"ask_pilot": ask_pilot}))
