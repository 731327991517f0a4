"""An asyncio server: three users' answers are streamed at once, and each user's next question follows their answer."""

import asyncio

from openai import AsyncOpenAI

LINES = (
    ("I feel ill: my head.", "Since today.", "Thanks."),
    ("I feel ill: my knee.", "Since today.", "Thanks."),
    ("I feel ill: my back.", "Since today.", "Thanks."),
)


async def serve(client, lines):
    messages = [{"role": "system", "content": "You are a nurse on the phone."}]
    for line in lines:
        messages.append({"role": "user", "content": line})
        answer = ""
        async for chunk in await client.chat.completions.create(model="gpt-5", messages=messages, stream=True):
            answer += chunk.choices[0].delta.content or "" if chunk.choices else ""
            await asyncio.sleep(0.001)
        messages.append({"role": "assistant", "content": answer})


async def main():
    client = AsyncOpenAI()
    await asyncio.gather(*(serve(client, lines) for lines in LINES))


asyncio.run(main())
