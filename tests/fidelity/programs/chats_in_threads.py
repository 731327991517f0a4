"""A threaded server: two users at once, each with a thread of their own that waits for the other before each question."""

import threading

from anthropic import Anthropic

LINES = (
    ("Good morning. My order is late: number 41.", "Since Friday.", "Please cancel it."),
    ("Good morning. My order is late: number 42.", "Since Friday.", "I can wait."),
)

client = Anthropic()
together = threading.Barrier(len(LINES))


def serve(lines):
    history = []
    for line in lines:
        history.append({"role": "user", "content": line})
        together.wait()
        message = client.messages.create(
            model="claude-haiku-4-5", max_tokens=300, system="You run the shop's desk.", messages=history
        )
        history.append({"role": "assistant", "content": message.content[0].text})


threads = [threading.Thread(target=serve, args=(lines,)) for lines in LINES]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
