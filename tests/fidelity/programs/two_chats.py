"""Two tabs of one chat page, answered in turns by one thread. Both users start alike."""

from openai import OpenAI

LINES = {
    "left": ("Hi! Please translate: cat", "Into Latin.", "Thank you."),
    "right": ("Hi! Please translate: dog", "Into Latin.", "Thank you."),
}

client = OpenAI()
tabs = {tab: [{"role": "system", "content": "You are a translator."}] for tab in LINES}
for step in range(3):
    for tab, messages in tabs.items():
        messages.append({"role": "user", "content": LINES[tab][step]})
        completion = client.chat.completions.create(model="gpt-5", messages=messages)
        messages.append({"role": "assistant", "content": completion.choices[0].message.content})
        print(tab, messages[-1]["content"])
