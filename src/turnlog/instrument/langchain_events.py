"""LangChain's `stream_events(version="v3")` of a chat model: the call begins, and goes on, when its stream is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from turnlog.instrument.calls import Account, Call, Scope
from turnlog.instrument.core import Undo, patch, undo_all
from turnlog.instrument.drivers import complete, complete_async
from turnlog.semconv import GenAiOperation


class _Reading(Scope):
    """The scope of every step of one stream. That the call is over is for LangChain's callbacks to say, unless the stream is
    left and collected: then nobody does."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        pass


def follow_event_streams(chat_models: ModuleType, account: Account) -> Undo:
    def follow(stream: Any, call: Call) -> Any:
        account.calls += 1
        account.ask("a stream of events", _follow, stream, call)
        return stream

    def record(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return follow(wrapped(*args, **kwargs), Call(instance, args, kwargs))

    async def record_async(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return follow(await wrapped(*args, **kwargs), Call(instance, args, kwargs))

    model = chat_models.BaseChatModel
    return undo_all(patch(model, "_chat_model_stream_v3", record), patch(model, "_achat_model_stream_v3", record_async))


def _follow(stream: Any, call: Call) -> None:
    reading = _Reading(GenAiOperation.CHAT, call)
    if (pull := getattr(stream, "_request_more", None)) is None:
        # A task that this starts reads the model's answer, in the context that it was started in.
        stream.set_start(partial(complete_async, reading, stream._ensure_started))
    else:
        stream.set_start(partial(complete, reading, stream._ensure_started))
        stream.set_request_more(partial(complete, reading, pull))
