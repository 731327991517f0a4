"""A long chat. When it has grown past 22 messages, a second call of the model makes a note of the oldest 20."""

from openai import OpenAI

MOST = 22
TOPICS = ("oak", "elm", "ash", "fir", "yew", "box", "fig", "bay", "nut", "gum", "tea", "may")

client = OpenAI()


def ask(messages):
    return client.chat.completions.create(model="gpt-5", messages=messages).choices[0].message.content


instructions = {"role": "system", "content": "You are a botanist."}
history = []
for topic in TOPICS:
    history.append({"role": "user", "content": f"Tell me of {topic}."})
    if len(history) > MOST:
        old, history = history[:20], history[20:]
        transcript = "\n".join(f"{message['role']}: {message['content']}" for message in old)
        note = ask([{"role": "user", "content": f"Summarise this conversation about trees:\n{transcript}"}])
        history.insert(0, {"role": "user", "content": f"What we said so far: {note}"})
    answer = ask([instructions, *history])
    print(answer)
    history.append({"role": "assistant", "content": answer})
