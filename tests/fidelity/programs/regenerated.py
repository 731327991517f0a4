"""A writer who dislikes the second answer, two messages later, and has it written again."""

from anthropic import Anthropic

client = Anthropic()


def ask(history):
    message = client.messages.create(model="claude-haiku-4-5", max_tokens=300, system="You write tales.", messages=history)
    return [*history, {"role": "assistant", "content": message.content[0].text}]


def say(history, text):
    return ask([*history, {"role": "user", "content": text}])


tale = say([], "Begin a tale of a fox.")
tale = say(tale, "Let it meet a crow.")
asked = tale[:-1]
tale = say(tale, "Let them quarrel.")
other = ask(asked)
other = say(other, "Let them make friends.")
print(other[-1]["content"])
