"""LangChain agents on LangGraph, with a checkpointer; the thread is the session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import openai
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

EACH = 1


class Subject:
    def __init__(self, url: str, *tools: Callable[..., Any], callbacks: tuple[BaseCallbackHandler, ...] = ()) -> None:
        # Clients of its own: LangChain's are shared by all, with connections that belong to a loop or process before.
        clients = {"http_client": openai.DefaultHttpxClient(), "http_async_client": openai.DefaultAsyncHttpxClient()}
        chat = ChatOpenAI(model="scripted", base_url=f"{url}/v1", api_key="none", max_retries=0, **clients)
        self._callbacks = list(callbacks)
        self._agent: Any = create_agent(chat, [tool(each) for each in tools], name="agent", checkpointer=InMemorySaver())

    @staticmethod
    def recorded(function: Callable[..., Any]) -> Callable[..., Any]:
        made = tool(function)
        return lambda **given: made.invoke(given)

    def run(self, session: str, text: str) -> str:
        return self._agent.invoke(*self._given(session, text))["messages"][-1].content

    async def arun(self, session: str, text: str) -> str:
        return (await self._agent.ainvoke(*self._given(session, text)))["messages"][-1].content

    def stream(self, session: str, text: str) -> Iterator[Any]:
        return self._agent.stream(*self._given(session, text), stream_mode="messages")

    async def astream(self, session: str, text: str) -> AsyncIterator[Any]:
        return self._agent.astream(*self._given(session, text), stream_mode="messages")

    def _given(self, session: str, text: str) -> tuple[Any, Any]:
        # Inside a tool a thread of its own: two runs of one thread at once read each other's half-done checkpoints.
        config = {"configurable": {"thread_id": session or f"inside {text}"}, "callbacks": self._callbacks}
        return {"messages": [("user", text)]}, config


def with_callback(url: str, callback: Callable[..., None]) -> Subject:
    class Broken(BaseCallbackHandler):
        raise_error = True

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            callback()

    return Subject(url, callbacks=(Broken(),))


def caller() -> Callable[[], None]:
    numbers = count()
    chat = GenericFakeChatModel(messages=(AIMessage(f"answer {number}") for number in count()))
    echo = tool("echo", description="Say it again.")(lambda who: who)

    def call() -> None:
        number = next(numbers)
        chat.invoke(f"question {number}")
        echo.invoke({"who": str(number)})

    return call
