"""A tool loop as applications write it over a bare SDK, with tools recorded by decorator and sessions that are named."""

from __future__ import annotations

import asyncio
import inspect
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from typing import Any

import turnlog

Messages = list[Any]
Asked = list[tuple[str, str, dict[str, Any]]]


class HandWritten:
    recorded = staticmethod(turnlog.tool)

    def __init__(self, clients: tuple[Any, Any], *tools: Callable[..., Any]) -> None:
        self._client, self._async_client = clients
        self._tools = {each.__name__: turnlog.tool(each) for each in tools}
        self._said: defaultdict[str, Messages] = defaultdict(list)

    def run(self, session: str, text: str) -> str:
        with _named(session):
            messages = self._hear(session, text)
            while calls := self.take(messages, self.ask(self._client, messages)):
                self.tell(messages, [(call, str(self._tools[name](**given))) for call, name, given in calls])
        return self.text(messages)

    async def arun(self, session: str, text: str) -> str:
        with _named(session):
            messages = self._hear(session, text)
            while calls := self.take(messages, await self.ask(self._async_client, messages)):
                results = [(call, self._tools[name](**given)) for call, name, given in calls]
                self.tell(messages, [(call, await got if inspect.isawaitable(got) else got) for call, got in results])
        return self.text(messages)

    def stream(self, session: str, text: str) -> Iterator[Any]:
        """Opened where the session is known, and read outside."""
        with _named(session):
            return iter(self.ask(self._client, self._hear(session, text), stream=True))

    async def astream(self, session: str, text: str) -> AsyncIterator[Any]:
        with _named(session):
            return aiter(await self.ask(self._async_client, self._hear(session, text), stream=True))

    def _hear(self, session: str, text: str) -> Messages:
        messages = self._said[session] if session else []
        messages.append({"role": "user", "content": text})
        return messages

    def ask(self, client: Any, messages: Messages, **how: Any) -> Any: ...
    def take(self, messages: Messages, answer: Any) -> Asked: ...
    def tell(self, messages: Messages, results: list[tuple[str, str]]) -> None: ...
    def text(self, messages: Messages) -> str: ...


def _named(session: str) -> AbstractContextManager[Any]:
    return turnlog.session(session) if session else nullcontext()


def caller(subject: HandWritten) -> Callable[[], None]:
    """A call in every form, one after the other; every other stream is left half way."""
    loop, numbers = asyncio.Runner(), count()

    def whole(said: Messages) -> None:
        subject.ask(subject._client, said)

    def streamed(said: Messages, left: bool) -> None:
        for _ in subject.ask(subject._client, said, stream=True):
            if left:
                break

    async def whole_async(said: Messages) -> None:
        await subject.ask(subject._async_client, said)

    async def streamed_async(said: Messages, left: bool) -> None:
        async for _ in await subject.ask(subject._async_client, said, stream=True):
            if left:
                break

    def call() -> None:
        number = next(numbers)
        said: Messages = [{"role": "user", "content": f"question {number}"}]
        match number % 4:
            case 0:
                whole(said)
            case 1:
                streamed(said, left=number % 8 == 1)
            case 2:
                loop.run(whole_async(said))
            case _:
                loop.run(streamed_async(said, left=number % 8 == 3))

    return call
