"""A bare OpenAI loop, recorded by OpenTelemetry's own zero-code launcher:

OTEL_TRACES_EXPORTER=turnlog opentelemetry-instrument python examples/plain_opentelemetry.py
"""

import json

from openai import OpenAI

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

SCRIPT = [
    Reply("The total needs adding up.", tool_calls=[ToolCall("add", {"a": 19, "b": 23})]),
    Reply("Together they cost 42."),
]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]

with ScriptedModel(SCRIPT) as model:
    client = OpenAI(base_url=model.base_url, api_key="none")
    messages = [{"role": "user", "content": "One costs 19, the other 23. Together?"}]
    while True:
        message = client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS).choices[0].message
        messages.append(message.to_dict())
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            total = sum(json.loads(call.function.arguments).values())
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(total)})
    print(message.content)
