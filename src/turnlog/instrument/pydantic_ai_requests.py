"""Pydantic AI's model requests, where they are sent: with the messages that history processors and compaction have left."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial
from types import ModuleType, TracebackType
from typing import Any

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.instrument.calls import Account, Call, Facts, Frame, Hook, Run, Start, begin, learn
from turnlog.instrument.core import Undo, patch
from turnlog.instrument.pydantic_ai_messages import history, response_facts
from turnlog.operation import hear
from turnlog.semconv import GenAiOperation

_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "google-gla": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
_SETTINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "temperature": (semconv.GEN_AI_REQUEST_TEMPERATURE, float),
    "top_p": (semconv.GEN_AI_REQUEST_TOP_P, float),
    "max_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    "seed": (semconv.GEN_AI_REQUEST_SEED, int),
}


def _request(call: Call) -> Start:
    model, request, ctx = call.argument(0, "model"), call.kwargs["request_context"], call.kwargs["run_context"]
    attributes = {
        semconv.GEN_AI_PROVIDER_NAME: _PROVIDERS.get(model.system, model.system),
        semconv.GEN_AI_REQUEST_MODEL: model.model_name,
        semconv.GEN_AI_AGENT_NAME: agent_name(ctx),
        semconv.GEN_AI_CONVERSATION_ID: ctx.conversation_id,
    }
    for name, (key, cast) in _SETTINGS.items():
        if isinstance(value := (request.model_settings or {}).get(name), int | float):
            attributes[key] = cast(value)
    content: dict[str, Any] = {semconv.GEN_AI_INPUT_MESSAGES: history(request.messages)}
    given = getattr(request.model_request_parameters, "instruction_parts", None) or ()
    if instructions := "\n\n".join(part.content for part in given):
        content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = [{"type": "text", "content": instructions}]
    return start_of(GenAiOperation.CHAT, model.model_name, attributes, content, SpanKind.CLIENT)


def _response(call: Call, response: Any) -> Facts:
    return response_facts(response)


REQUEST = Hook("pydantic_ai._agent_graph:model_request", GenAiOperation.CHAT, at_start=_request, at_end=_response)


class _Stream(AbstractAsyncContextManager[Any]):
    """The block in which a streamed response is read. Pydantic AI steps it in the context in which it was entered."""

    def __init__(self, account: Account, inner: AbstractAsyncContextManager[Any], call: Call) -> None:
        self._account = account
        self._inner = inner
        self._call = call
        self._frame = Frame()
        self._stream: Any = None

    async def __aenter__(self) -> Any:
        self._frame = begin(REQUEST, self._account, self._call) or self._frame
        if isinstance(self._frame, Run):
            self._frame.operation.set({semconv.GEN_AI_REQUEST_STREAM: True})
        try:
            with self._frame:
                self._stream = await self._inner.__aenter__()
        except BaseException as error:
            self._frame.finish(error)
            raise
        self._account.ask("following a stream", self._follow)
        return self._stream

    def _follow(self) -> None:
        # Tools run before this block ends, as soon as the response is whole.
        self._stream._get_event_iterator = partial(self._events, self._stream._get_event_iterator)

    async def _events(self, events: Callable[[], AsyncGenerator[Any]]) -> AsyncGenerator[Any]:
        async with aclosing(events()) as each:
            async for event in each:
                yield event
        self._account.ask("reading a stream", self._learn)
        self._frame.finish()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._account.ask("reading a stream", self._learn)
        try:
            with self._frame:
                return await self._inner.__aexit__(kind, error, trace)
        finally:
            self._frame.finish(error)

    def _learn(self) -> None:
        if isinstance(self._frame, Run) and self._frame.operation.span.is_recording():
            learn(self._frame.operation, response_facts(self._stream.get()))
            # A span of Pydantic AI's own does not end before the block does.
            hear(self._frame.operation)


def start_of(
    operation: GenAiOperation,
    subject: str,
    attributes: dict[str, Any],
    content: dict[str, Any],
    kind: SpanKind = SpanKind.INTERNAL,
) -> Start:
    known = {semconv.GEN_AI_OPERATION_NAME: operation.value, **attributes}
    return Start(f"{operation} {subject}", {key: value for key, value in known.items() if value is not None}, content, kind)


def agent_name(ctx: Any) -> str:
    return (ctx.agent.name if ctx.agent is not None else None) or "agent"


def follow_streams(graph: ModuleType, account: Account) -> Undo:
    def stream(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _Stream(account, wrapped(*args, **kwargs), Call(instance, args, kwargs))

    return patch(graph, "model_request_stream", stream)
