"""The Anthropic SDK's messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
from subjects import edge, hand_written
from subjects.hand_written import Asked, HandWritten, Messages

EACH = 1


class Subject(HandWritten):
    def __init__(self, url: str, *tools: Callable[..., Any], **how: Any) -> None:
        given = {"base_url": url, "api_key": "none", "max_retries": 0}
        # A client of its own: the SDK's closes itself when it is collected, on the loop of a later program.
        http, async_http = how.get("clients", (None, anthropic.DefaultAsyncHttpxClient()))
        clients = anthropic.Anthropic(**given, http_client=http), anthropic.AsyncAnthropic(**given, http_client=async_http)
        super().__init__(clients, *tools)

    def ask(self, client: Any, messages: Messages, **how: Any) -> Any:
        return client.messages.create(model="scripted", max_tokens=100, messages=messages, **how)

    def take(self, messages: Messages, answer: Any) -> Asked:
        messages.append({"role": "assistant", "content": answer.content})
        return [(block.id, block.name, block.input) for block in answer.content if block.type == "tool_use"]

    def tell(self, messages: Messages, results: list[tuple[str, str]]) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": result} for call, result in results]
        messages.append({"role": "user", "content": blocks})

    def text(self, messages: Messages) -> str:
        return messages[-1]["content"][0].text


def with_callback(url: str, callback: Callable[..., None]) -> Subject:
    return Subject(url, clients=(anthropic.DefaultHttpxClient(event_hooks={"response": [callback]}), None))


def caller() -> Callable[[], None]:
    inside = edge.transport(anthropic, "/messages")
    clients = anthropic.DefaultHttpxClient(transport=inside), anthropic.DefaultAsyncHttpxClient(transport=inside)
    return hand_written.caller(Subject("http://model.invalid", clients=clients))
