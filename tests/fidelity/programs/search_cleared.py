"""Asks the web, in a loop over the responses API that sends everything each time, with old results cleared."""

import json

from openai import OpenAI

TOOLS = [
    {"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False} for name in ("web_search", "add")
]
QUESTIONS = ("How high is the tower?", "And with a mast of ten metres?")


def run(name, arguments):
    return "330 metres, says a traveller." if name == "web_search" else str(sum(arguments["terms"]))


client = OpenAI()
items = []
for question in QUESTIONS:
    items = [{**item, "output": "[cleared]"} if item.get("type") == "function_call_output" else item for item in items]
    items.append({"role": "user", "content": question})
    while True:
        response = client.responses.create(model="gpt-5", instructions="You measure.", input=items, tools=TOOLS)
        items += [item.model_dump(exclude_none=True) for item in response.output]
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            break
        for call in calls:
            result = run(call.name, json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
    print(response.output_text)
