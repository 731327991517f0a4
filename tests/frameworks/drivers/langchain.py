"""LangChain's `create_agent` on a LangGraph checkpointer."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from scenario import SESSION, add, fail, hang, wait

from turnlog.demo.scripted_model import ScriptedModel


@wrap_tool_call
async def tell_the_model(request, handler):
    try:
        return await handler(request)
    except (ValueError, TimeoutError) as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._agent = create_agent(
            ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none"),
            [tool(each) for each in (add, fail, wait, hang)],
            middleware=[tell_the_model],
            checkpointer=InMemorySaver(),
        )
        self._config = {"configurable": {"thread_id": SESSION}}

    async def turn(self, text: str) -> str:
        state = await self._agent.ainvoke({"messages": [("user", text)]}, self._config)
        return state["messages"][-1].content

    async def stream(self, text: str, leave: bool = False) -> None:
        async for message, _ in self._agent.astream({"messages": [("user", text)]}, self._config, stream_mode="messages"):
            if leave and message.content:
                break
