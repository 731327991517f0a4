"""The OpenAI SDK's chat completions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
from subjects import edge, hand_written
from subjects.hand_written import Asked, HandWritten, Messages

EACH = 1


class Subject(HandWritten):
    def __init__(self, url: str, *tools: Callable[..., Any], **how: Any) -> None:
        given = {"base_url": f"{url}/v1", "api_key": "none", "max_retries": 0}
        # A client of its own: the SDK's closes itself when it is collected, on the loop of a later program.
        http, async_http = how.get("clients", (None, openai.DefaultAsyncHttpxClient()))
        super().__init__(
            (openai.OpenAI(**given, http_client=http), openai.AsyncOpenAI(**given, http_client=async_http)), *tools
        )

    def ask(self, client: Any, messages: Messages, **how: Any) -> Any:
        return client.chat.completions.create(model="scripted", messages=messages, **how)

    def take(self, messages: Messages, answer: Any) -> Asked:
        said = answer.choices[0].message
        messages.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        return [(call.id, call.function.name, json.loads(call.function.arguments)) for call in said.tool_calls or []]

    def tell(self, messages: Messages, results: list[tuple[str, str]]) -> None:
        messages += [{"role": "tool", "tool_call_id": call, "content": result} for call, result in results]

    def text(self, messages: Messages) -> str:
        return messages[-1]["content"]


def with_callback(url: str, callback: Callable[..., None]) -> Subject:
    return Subject(url, clients=(openai.DefaultHttpxClient(event_hooks={"response": [callback]}), None))


def caller() -> Callable[[], None]:
    inside = edge.transport(openai, "/chat/completions")
    clients = openai.DefaultHttpxClient(transport=inside), openai.DefaultAsyncHttpxClient(transport=inside)
    return hand_written.caller(Subject("http://model.invalid", clients=clients))
