"""A chat that sends the instructions and the last four messages, whatever the conversation's length."""

from openai import OpenAI

WINDOW = 4
QUESTIONS = (
    "Name a river in France.",
    "And one in Spain.",
    "And one in Poland.",
    "Which of them is the longest?",
    "Does it freeze in winter?",
)

client = OpenAI()
instructions = {"role": "system", "content": "You are a geographer of few words."}
history = []
for question in QUESTIONS:
    history.append({"role": "user", "content": question})
    completion = client.chat.completions.create(model="gpt-5", messages=[instructions, *history[-WINDOW:]])
    answer = completion.choices[0].message.content
    print(answer)
    history.append({"role": "assistant", "content": answer})
