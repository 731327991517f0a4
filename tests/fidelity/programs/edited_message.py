"""A chat page: the user goes back to the second message, edits it and goes on from there."""

from openai import OpenAI

client = OpenAI()


def ask(messages, text):
    messages = [*messages, {"role": "user", "content": text}]
    answer = client.chat.completions.create(model="gpt-5", messages=messages).choices[0].message.content
    return [*messages, {"role": "assistant", "content": answer}]


start = ask([{"role": "system", "content": "You book trains."}], "I want to go to Lyon.")
first = ask(start, "On Monday morning.")
first = ask(first, "Second class, please.")
second = ask(start, "On Tuesday evening.")
second = ask(second, "First class, please.")
for message in second:
    print(message["role"], message["content"])
