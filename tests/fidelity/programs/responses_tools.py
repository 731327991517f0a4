"""The responses API with a tool: only the tool's output is sent, the server remembers the rest."""

import json

from openai import OpenAI

TOOLS = [{"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": False}]
QUESTIONS = ("What are 2 and 3?", "And 10 more?")

client = OpenAI()
previous = None
for question in QUESTIONS:
    given = question
    while True:
        response = client.responses.create(
            model="gpt-5", instructions="You count.", input=given, tools=TOOLS, previous_response_id=previous
        )
        previous = response.id
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            break
        given = [
            {"type": "function_call_output", "call_id": call.call_id, "output": str(sum(json.loads(call.arguments)["terms"]))}
            for call in calls
        ]
    print(response.output_text)
