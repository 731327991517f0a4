"""A chat that asks again by itself when the server has failed."""

from openai import InternalServerError, OpenAI

client = OpenAI(max_retries=0)
messages = [{"role": "system", "content": "You tell the time."}]
for question in ("What time is it in Rome?", "And in Lima?"):
    messages.append({"role": "user", "content": question})
    while True:
        try:
            completion = client.chat.completions.create(model="gpt-5", messages=messages)
            break
        except InternalServerError as error:
            print("once more, after:", error.status_code)
    print(completion.choices[0].message.content)
    messages.append({"role": "assistant", "content": completion.choices[0].message.content})
