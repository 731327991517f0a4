"""A ticket's conversation, kept in a file. Each run of the program loads its last two messages and asks what it is given."""

import json
import sys
from pathlib import Path

from openai import OpenAI

KEPT = 2
stored = Path("ticket.json")

client = OpenAI()
history = json.loads(stored.read_text())[-KEPT:] if stored.exists() else []
for question in sys.argv[1:]:
    history.append({"role": "user", "content": question})
    messages = [{"role": "system", "content": "You are the help desk."}, *history]
    answer = client.chat.completions.create(model="gpt-5", messages=messages).choices[0].message.content
    print(answer)
    history.append({"role": "assistant", "content": answer})
stored.write_text(json.dumps(history))
