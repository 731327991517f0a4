"""A hand-written loop over Anthropic's streams: two tools at once, whose results go back in one message."""

import subprocess
from pathlib import Path

from anthropic import Anthropic

TOOLS = [
    {"name": "bash", "description": "Run a shell command.", "input_schema": {"type": "object"}},
    {"name": "read_file", "description": "Read a text file.", "input_schema": {"type": "object"}},
]
QUESTIONS = ("Prepare the list of guests.", "Who comes first?")


def run(name, arguments):
    if name == "bash":
        return subprocess.run(arguments["command"], shell=True, capture_output=True, text=True).stdout or "(no output)"
    return Path(arguments["path"]).read_text()


Path("guests.txt").write_text("Zoe\nAda\n")
client = Anthropic()
history = []
for question in QUESTIONS:
    history.append({"role": "user", "content": question})
    while True:
        with client.messages.stream(
            model="claude-haiku-4-5", max_tokens=300, system="You plan parties.", tools=TOOLS, messages=history
        ) as stream:
            for text in stream.text_stream:
                print(text, end="", flush=True)
            message = stream.get_final_message()
        print()
        history.append({"role": "assistant", "content": message.content})
        if message.stop_reason != "tool_use":
            break
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": run(block.name, block.input)}
            for block in message.content
            if block.type == "tool_use"
        ]
        history.append({"role": "user", "content": results})
