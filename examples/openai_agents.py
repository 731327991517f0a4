"""An agent of the OpenAI Agents SDK that needs an approval. Record it with: turnlog run python examples/openai_agents.py"""

from agents import Agent, OpenAIResponsesModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

set_tracing_disabled(True)


@function_tool(needs_approval=True)
def book_table(place: str, guests: int) -> str:
    """Book a table in a restaurant."""
    return f"a table for {guests} at {place}, eight o'clock"


# A stand-in for a model, so that the example runs offline. With a key, drop it and the client.
SCRIPT = [
    Reply("I book it, if I may.", tool_calls=[ToolCall("book_table", {"place": "Lorry", "guests": 2})]),
    Reply("Done: eight o'clock at Lorry."),
]

with ScriptedModel(SCRIPT) as model:
    client = AsyncOpenAI(base_url=model.base_url, api_key="none")
    agent = Agent("host", model=OpenAIResponsesModel("scripted", client), tools=[book_table])
    session = SQLiteSession("dinner")
    result = Runner.run_sync(agent, "A table for two at Lorry, please.", session=session)
    state = result.to_state()
    for question in result.interruptions:
        print("approved:", question.name, question.arguments)
        state.approve(question)
    print(Runner.run_sync(agent, state, session=session).final_output)
