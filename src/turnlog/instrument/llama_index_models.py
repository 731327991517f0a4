"""LlamaIndex's model calls. Every integration has its own class with its own methods for them: those that exist are hooked, and
those that come.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType
from typing import Any

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.instrument.calls import Account, Call, Facts, Frame, Hook, Run, Start, begin
from turnlog.instrument.core import Undo, patch, subclasses
from turnlog.instrument.drivers import AsyncSteps, complete, complete_async, generate
from turnlog.instrument.llama_index_messages import Answers, answer_facts, mark, message
from turnlog.operation import Messages
from turnlog.semconv import GenAiOperation

_PROVIDERS = {
    "azure_openai": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock_converse": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google_genai": "gcp.gemini",
    "mistralai": "mistral_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
_CALLS = ("chat", "achat", "stream_chat", "astream_chat", "complete", "acomplete", "stream_complete", "astream_complete")

Json = dict[str, Any]


def record_models(llms: ModuleType, account: Account) -> Undo:
    base = importlib.import_module("llama_index_instrumentation").DispatcherSpanMixin
    undo = ExitStack()

    def record(kind: type) -> None:
        # Whose calls are those of another model, that it asks for a structure.
        if kind.__name__ != "StructuredLLM":
            for name in _CALLS:
                if name in vars(kind) and not getattr(vars(kind)[name], "__isabstractmethod__", False):
                    undo.callback(patch(kind, name, _model_call(account, name)))

    def subclassed(wrapped: Callable[..., Any], kind: type, args: tuple[Any, ...], kwargs: Json) -> None:
        wrapped(*args, **kwargs)
        if issubclass(kind, llms.LLM):
            account.ask("hooking a model class", record, kind)

    for kind in subclasses(llms.LLM):
        record(kind)
    undo.callback(patch(base, "__init_subclass__", subclassed))

    return undo.close


def _model_call(account: Account, name: str) -> Callable[..., Any]:
    hook = _CHAT if name.endswith("chat") else _COMPLETION

    def call(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        frame = begin(hook, account, Call(instance, args, kwargs))
        return wrapped(*args, **kwargs) if frame is None else _stepped(frame, complete(frame, wrapped, *args, **kwargs))

    async def call_async(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        frame = begin(hook, account, Call(instance, args, kwargs))
        if frame is None:
            return await wrapped(*args, **kwargs)
        return _stepped(frame, await complete_async(frame, wrapped, *args, **kwargs))

    return call_async if name.startswith("a") else call


def _streams(run: Run, result: Any) -> bool:
    return inspect.isgenerator(result) or inspect.isasyncgen(result)


def _stepped(frame: Frame, result: Any) -> Any:
    """The request of a stream is often only sent when its first piece is asked for."""
    if inspect.isgenerator(result):
        return generate(lambda: frame, result)
    return AsyncSteps(lambda: frame, result) if inspect.isasyncgen(result) else result


def _chat(call: Call) -> Start:
    return _model_start(GenAiOperation.CHAT, call.instance, Messages(call.argument(0, "messages"), message, mark=mark))


def _completion(call: Call) -> Start:
    return _model_start(GenAiOperation.TEXT_COMPLETION, call.instance, [message(str(call.argument(0, "prompt")))])


def _model_start(operation: GenAiOperation, llm: Any, given: Any) -> Start:
    named = getattr(llm, "model", None) or getattr(llm, "model_name", None)
    model = named if isinstance(named, str) else type(llm).__name__
    package = type(llm).__module__.split(".")
    provider = package[2] if package[:2] == ["llama_index", "llms"] else type(llm).__name__
    attributes: Json = {
        semconv.GEN_AI_OPERATION_NAME: operation.value,
        semconv.GEN_AI_PROVIDER_NAME: _PROVIDERS.get(provider, provider),
        semconv.GEN_AI_REQUEST_MODEL: model,
    }
    for name, key in (("temperature", semconv.GEN_AI_REQUEST_TEMPERATURE), ("max_tokens", semconv.GEN_AI_REQUEST_MAX_TOKENS)):
        if isinstance(value := getattr(llm, name, None), int | float):
            attributes[key] = value
    return Start(f"{operation} {model}", attributes, {semconv.GEN_AI_INPUT_MESSAGES: given}, SpanKind.CLIENT)


def _end(call: Call, response: Any) -> Facts:
    return answer_facts(response)


def _collect(call: Call) -> Answers:
    return Answers()


_CHAT, _COMPLETION = (
    Hook("llama-index's model calls", operation, at_start=start, at_end=_end, collect=_collect, follow=_streams)
    for operation, start in ((GenAiOperation.CHAT, _chat), (GenAiOperation.TEXT_COMPLETION, _completion))
)
