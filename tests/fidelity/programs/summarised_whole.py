"""A help desk that names its sessions. After three questions it keeps nothing of the conversation but its own note."""

from openai import OpenAI

import turnlog

client = OpenAI()
instructions = {"role": "system", "content": "You help people with printers."}


def ask(messages):
    return client.chat.completions.create(model="gpt-5", messages=messages).choices[0].message.content


with turnlog.session("support-7"):
    messages = [instructions]
    for question in ("My printer is silent.", "The light is green.", "I pulled the plug."):
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": ""}]
        messages[-1]["content"] = ask(messages[:-1])
    note = {"role": "system", "content": "So far: a silent printer, green light, unplugged once."}
    print(ask([instructions, note, {"role": "user", "content": "What now?"}]))
