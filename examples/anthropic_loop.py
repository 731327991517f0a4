"""A hand-written tool loop over the Anthropic SDK. Record it with: turnlog run python examples/anthropic_loop.py"""

from anthropic import Anthropic

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

STOCK = {"tea": 3}
TOOLS = [
    {
        "name": "count_stock",
        "description": "How many of an item are in stock.",
        "input_schema": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
    }
]


def count_stock(item: str) -> str:
    return f"{STOCK[item]} {item}"


# A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url.
SCRIPT = [
    Reply("I count both.", tool_calls=[ToolCall("count_stock", {"item": "tea"}), ToolCall("count_stock", {"item": "coffee"})]),
    Reply("Three of tea; coffee is not kept."),
]

with ScriptedModel(SCRIPT) as model:
    client = Anthropic(base_url=model.url, api_key="none")
    messages = [{"role": "user", "content": "How much tea and coffee is left?"}]
    while True:
        message = client.messages.create(model="scripted", max_tokens=1000, messages=messages, tools=TOOLS)
        messages.append({"role": "assistant", "content": message.content})
        if message.stop_reason != "tool_use":
            break
        results = []
        for block in message.content:
            if block.type == "tool_use":
                try:
                    result = {"content": count_stock(**block.input)}
                except KeyError as error:
                    result = {"content": f"not in stock: {error}", "is_error": True}
                results.append({"type": "tool_result", "tool_use_id": block.id, **result})
        messages.append({"role": "user", "content": results})
    print(message.content[0].text)
