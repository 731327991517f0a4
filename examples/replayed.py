"""An agent whose tool sends mail. Record it, then run it again without a model and without a mail:

turnlog run --capture full --session mail python examples/replayed.py
turnlog run --replay mail python examples/replayed.py
"""

import json
import sys

from openai import OpenAI

import turnlog
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall


@turnlog.tool
def send_mail(to: str, text: str) -> str:
    print(f"a mail to {to} leaves the house", file=sys.stderr)
    return "sent at 12:04"


# A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url.
SCRIPT = [
    Reply("I write to Ada.", tool_calls=[ToolCall("send_mail", {"to": "ada@example.org", "text": "The build is green."})]),
    Reply("Ada knows, since 12:04."),
]
TOOL = {"type": "function", "function": {"name": "send_mail", "parameters": {"type": "object"}}}

with ScriptedModel(SCRIPT) as model:
    client = OpenAI(base_url=model.base_url, api_key="none")
    messages = [{"role": "user", "content": "Tell Ada that the build is green."}]
    while True:
        message = client.chat.completions.create(model="scripted", messages=messages, tools=[TOOL]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            result = send_mail(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(message.content)
    print(f"the model was asked {len(model.requests)} times", file=sys.stderr)
