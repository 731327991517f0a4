"""A chat that pins its first exchange and forgets the oldest of the others when it grows too long."""

from anthropic import Anthropic

MOST = 6
QUESTIONS = (
    "I am allergic to nuts. Plan my week's dinners.",
    "What about Monday?",
    "And Tuesday?",
    "Wednesday, please.",
    "Is all of that safe for me?",
)

client = Anthropic()
history = []
for question in QUESTIONS:
    history.append({"role": "user", "content": question})
    if len(history) > MOST:
        del history[2:4]
    message = client.messages.create(model="claude-haiku-4-5", max_tokens=300, system="You are a cook.", messages=history)
    print(message.content[0].text)
    history.append({"role": "assistant", "content": message.content[0].text})
