"""A loop written by hand around a LangChain model and LangChain tools, streamed."""

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def price_of(fruit: str) -> int:
    """The price of a fruit, in cents."""
    return {"apple": 40, "pear": 55}[fruit]


@tool
def stock_of(fruit: str) -> int:
    """How many pieces of a fruit there are."""
    return {"apple": 3, "pear": 0}[fruit]


tools = {each.name: each for each in (price_of, stock_of)}
model = ChatOpenAI(model="gpt-5").bind_tools(list(tools.values()))
messages = [SystemMessage("You run a fruit stall.")]
for question in ("How much is an apple, and are there any?", "And a pear?"):
    messages.append(HumanMessage(question))
    while True:
        answer = None
        for chunk in model.stream(messages):
            answer = chunk if answer is None else answer + chunk
        messages.append(answer)
        if not answer.tool_calls:
            break
        messages += [tools[call["name"]].invoke(call) for call in answer.tool_calls]
    print(answer.content)
