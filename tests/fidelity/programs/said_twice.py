"""A story in parts. The listener says the same words again and again, and means them each time."""

from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gpt-5")
messages = []
for line in ("Tell me a story.", "Go on.", "Go on.", "Go on."):
    messages.append(HumanMessage(line))
    answer = None
    for chunk in model.stream(messages):
        answer = chunk if answer is None else answer + chunk
    messages.append(answer)
    print(answer.content)
