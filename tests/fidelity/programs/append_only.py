"""A chat that keeps everything and prints the answer as it comes."""

from openai import OpenAI

client = OpenAI()
messages = [{"role": "system", "content": "You are a patient gardener."}]
for question in ("When do I sow carrots?", "And parsnips?", "How deep do both go?"):
    messages.append({"role": "user", "content": question})
    answer = ""
    for chunk in client.chat.completions.create(model="gpt-5", messages=messages, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            answer += chunk.choices[0].delta.content
            print(chunk.choices[0].delta.content, end="", flush=True)
    print()
    messages.append({"role": "assistant", "content": answer})
