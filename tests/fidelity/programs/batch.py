"""LangChain's `batch`: three pupils' essays at once on a thread pool, then a second round that goes on with each."""

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

ESSAYS = ("My essay is about rain.", "My essay is about snow.", "My essay is about wind.")

model = ChatOpenAI(model="gpt-5")
chats = [[SystemMessage("You grade essays."), HumanMessage(essay)] for essay in ESSAYS]
grades = model.batch(chats)
for chat, grade in zip(chats, grades, strict=True):
    chat += [grade, HumanMessage("Why this grade?")]
for reason in model.batch(chats):
    print(reason.content)
