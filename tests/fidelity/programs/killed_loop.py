"""A hand-written loop that dies while it runs the first of the two tools that the model asked for."""

import os
import signal

from openai import OpenAI

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("backup", "upgrade")]

client = OpenAI()
messages = [{"role": "user", "content": "Back up, then upgrade."}]
answer = client.chat.completions.create(model="gpt-5", messages=messages, tools=TOOLS).choices[0].message
for _ in answer.tool_calls:
    os.kill(os.getpid(), signal.SIGKILL)
