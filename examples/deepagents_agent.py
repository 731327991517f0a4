"""A deep agent with a helper of its own. Record it with: turnlog run python examples/deepagents_agent.py"""

from deepagents import create_deep_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

# A stand-in for a model, so that the example runs offline. With a key, drop it and the base_url.
SCRIPT = [
    Reply("My helper looks.", tool_calls=[ToolCall("task", {"description": "Find the logs.", "subagent_type": "finder"})]),
    Reply("I look around.", tool_calls=[ToolCall("ls", {"path": "/"})]),
    Reply("There is none yet."),
    Reply("I write that down.", tool_calls=[ToolCall("write_file", {"file_path": "/notes.md", "content": "no log yet"})]),
    Reply("There is no log yet; it is in my notes."),
]

with ScriptedModel(SCRIPT) as model:
    agent = create_deep_agent(
        ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none"),
        subagents=[{"name": "finder", "description": "Finds files.", "system_prompt": "Find files.", "tools": []}],
        checkpointer=InMemorySaver(),
        name="lead",
    )
    answer = agent.invoke({"messages": [("user", "Which log is the oldest?")]}, {"configurable": {"thread_id": "logs"}})
    print(answer["messages"][-1].content)
