"""Reads files for the user. From the third question on, the results of all but the newest tool call are cleared."""

from pathlib import Path

from anthropic import Anthropic

TOOLS = [
    {
        "name": "read_file",
        "description": "Read a text file.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }
]
QUESTIONS = ("What is in the first chapter?", "And in the second?", "Which of the two is sadder?")

Path("one.txt").write_text("The dog came home.")
Path("two.txt").write_text("The dog went away.")
client = Anthropic()
history = []


def results():
    for message in history:
        if message["role"] == "user" and isinstance(message["content"], list):
            yield message["content"][0]


for number, question in enumerate(QUESTIONS, 1):
    history.append({"role": "user", "content": question})
    if number == 3:
        for result in list(results())[:-1]:
            result["content"] = "[cleared]"
    while True:
        message = client.messages.create(model="claude-haiku-4-5", max_tokens=300, tools=TOOLS, messages=history)
        history.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]})
        if message.stop_reason != "tool_use":
            break
        call = next(block for block in message.content if block.type == "tool_use")
        text = Path(call.input["path"]).read_text()
        history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": text}]})
    print(message.content[0].text)
