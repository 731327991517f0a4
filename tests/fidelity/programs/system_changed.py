"""A LangChain model called directly. Its instructions say what is on the menu, and the menu changes with every question."""

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

MENU = ("soup", "soup and bread", "nothing but bread")
QUESTIONS = ("What is there to eat?", "Anything else?", "And now?")

model = ChatOpenAI(model="gpt-5")
history = []
for dish, question in zip(MENU, QUESTIONS, strict=True):
    history.append(HumanMessage(question))
    answer = model.invoke([SystemMessage(f"You are a waiter. Today there is {dish}."), *history])
    print(answer.content)
    history.append(answer)
