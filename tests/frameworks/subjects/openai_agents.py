"""The OpenAI Agents SDK on the responses API; its own session is the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import openai
from agents import Agent, OpenAIResponsesModel, RunHooks, Runner, SQLiteSession, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from subjects import edge

import turnlog

# A run is two model calls and a tool.
EACH = 3

set_tracing_disabled(True)


class Subject:
    recorded = staticmethod(turnlog.tool)

    def __init__(self, url: str, *tools: Callable[..., Any], hooks: RunHooks[Any] | None = None) -> None:
        self._url = url
        self._hooks = hooks
        self._tools: list[Any] = [function_tool(each, failure_error_function=None) for each in tools]
        self._sessions: dict[str, SQLiteSession] = {}
        self._read: AsyncOpenAI | None = None

    def run(self, session: str, text: str) -> str:
        return asyncio.run(self.arun(session, text))

    async def arun(self, session: str, text: str) -> str:
        async with self._client() as client:
            kept = self._session(session)
            return (await Runner.run(self._agent(client), text, session=kept, hooks=self._hooks)).final_output

    async def astream(self, session: str, text: str) -> AsyncIterator[Any]:
        # The run goes on when its reader has left, and so does its client.
        self._read = self._read or self._client()
        return Runner.run_streamed(self._agent(self._read), text, session=self._session(session)).stream_events()

    def _client(self) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=f"{self._url}/v1", api_key="none", max_retries=0)

    def _agent(self, client: AsyncOpenAI) -> Agent[Any]:
        return Agent("agent", model=OpenAIResponsesModel("scripted", client), tools=self._tools)

    def _session(self, session: str) -> SQLiteSession | None:
        return self._sessions.setdefault(session, SQLiteSession(session)) if session else None


def with_callback(url: str, callback: Callable[..., None]) -> Subject:
    class Broken(RunHooks[Any]):
        async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            callback()

    return Subject(url, hooks=Broken())


def caller() -> Callable[[], None]:
    http = openai.DefaultAsyncHttpxClient(transport=edge.transport(openai, "/responses"))
    client = AsyncOpenAI(base_url="http://model.invalid/v1", api_key="none", http_client=http)
    echo = function_tool(lambda who: who, name_override="echo", description_override="Say it again.")
    agent: Agent[Any] = Agent("agent", model=OpenAIResponsesModel("scripted", client), tools=[echo])
    loop, numbers = asyncio.Runner(), count()

    async def run(text: str, streamed: bool) -> None:
        if not streamed:
            await Runner.run(agent, text)
            return
        async for _ in Runner.run_streamed(agent, text).stream_events():
            pass

    def call() -> None:
        number = next(numbers)
        loop.run(run(f"question {number}", streamed=bool(number % 2)))

    return call
