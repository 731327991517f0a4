"""deepagents' `create_deep_agent`: the same agent as LangChain's, with its own tools and middleware around."""

from __future__ import annotations

from deepagents import create_deep_agent
from drivers.langchain import Driver as LangChainDriver
from drivers.langchain import tell_the_model
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from scenario import SESSION, add, fail, hang, wait

from turnlog.demo.scripted_model import ScriptedModel


class Driver(LangChainDriver):
    def __init__(self, model: ScriptedModel) -> None:
        self._agent = create_deep_agent(
            ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none"),
            [tool(each) for each in (add, fail, wait, hang)],
            middleware=[tell_the_model],
            checkpointer=InMemorySaver(),
        )
        self._config = {"configurable": {"thread_id": SESSION}}
