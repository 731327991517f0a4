"""A loop by hand that reads its own state through `turnlog mcp`. Record it with: turnlog run python examples/mcp_state.py"""

import asyncio
import json
import os
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from openai import AsyncOpenAI

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

# What `turnlog mcp install` prints for other clients.
SERVER = StdioServerParameters(command=sys.executable, args=["-m", "turnlog", "mcp"], env=dict(os.environ))

# A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url.
SCRIPT = [
    Reply("I read the invoice.", tool_calls=[ToolCall("read_invoice", {"number": 7})]),
    Reply("What failed, and what have I done so far?", tool_calls=[ToolCall("whats_my_state", {"max_tokens": 500})]),
    Reply(
        "That must outlive my context.",
        tool_calls=[ToolCall("record_decision", {"about": "invoice 7", "choice": "ask the supplier", "why": "it is missing"})],
    ),
    Reply("I ask the supplier for invoice 7."),
]


def read_invoice(number: int) -> str:
    return f"Error: there is no invoice {number}"


async def main(model: ScriptedModel) -> None:
    openai = AsyncOpenAI(base_url=model.base_url, api_key="none")
    messages = [{"role": "user", "content": "Pay invoice 7."}]
    async with Client(stdio_client(SERVER)) as turnlog:
        while True:
            said = (await openai.chat.completions.create(model="scripted", messages=messages)).choices[0].message
            messages.append(said.to_dict())
            if not said.tool_calls:
                break
            call = said.tool_calls[0]
            arguments = json.loads(call.function.arguments)
            if call.function.name == "read_invoice":
                result = read_invoice(**arguments)
            else:
                result = (await turnlog.call_tool(call.function.name, arguments)).content[0].text
                print(f"{call.function.name}: {result}")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(said.content)


with ScriptedModel(SCRIPT) as model:
    asyncio.run(main(model))
