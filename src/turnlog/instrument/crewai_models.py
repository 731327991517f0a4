"""CrewAI's model calls, and its summaries of what no longer fits.

Calls through the SDKs of OpenAI and Anthropic are recorded by the hooks of these, which see all that the model said; those of
other providers here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType
from typing import Any

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.instrument.calls import Account, Call, Facts, Hook, Start, begin, learn, owner, suppressed
from turnlog.instrument.core import Undo, patch, subclasses
from turnlog.instrument.crewai_messages import answer_facts, messages_of
from turnlog.instrument.drivers import complete, complete_async
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation

Json = dict[str, Any]

_OWN_HOOKS = ("crewai.llms.providers.openai", "crewai.llms.providers.anthropic")


def record_models(base: ModuleType, account: Account) -> Undo:
    """Every provider has its own class with its own methods: those that exist are hooked, and those that come."""
    undo = ExitStack()

    def record(kind: type) -> None:
        for name, wrapper in (("call", call), ("acall", call_async)):
            if name in vars(kind) and not getattr(vars(kind)[name], "__isabstractmethod__", False):
                undo.callback(patch(kind, name, wrapper))

    def call(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        frame = None if _is_hooked(instance) else begin(_MODEL, account, Call(instance, args, kwargs))
        return wrapped(*args, **kwargs) if frame is None else complete(frame, wrapped, *args, **kwargs)

    async def call_async(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        frame = None if _is_hooked(instance) else begin(_MODEL, account, Call(instance, args, kwargs))
        if frame is None:
            return await wrapped(*args, **kwargs)
        return await complete_async(frame, wrapped, *args, **kwargs)

    def subclassed(wrapped: Callable[..., Any], kind: type, args: tuple[Any, ...], kwargs: Json) -> None:
        wrapped(*args, **kwargs)
        account.ask("hooking a model class", record, kind)

    def completed(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        account.ask("reading an answer", _learn_answer, Call(instance, args, kwargs))
        return wrapped(*args, **kwargs)

    def summarised(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        messages = Call(instance, args, kwargs).argument(0, "messages")
        before = list(messages)
        result = wrapped(*args, **kwargs)
        account.ask("recording a summary", _evict, account, before, messages)
        return result

    for kind in subclasses(base.BaseLLM):
        record(kind)
    undo.callback(patch(base.BaseLLM, "__init_subclass__", subclassed))
    undo.callback(patch(base.BaseLLM, "_emit_call_completed_event", completed))
    undo.callback(patch(base.BaseLLM, "summarize_messages", summarised))

    return undo.close


def _is_hooked(llm: Any) -> bool:
    return any(kind.__module__.startswith(_OWN_HOOKS) for kind in type(llm).__mro__)


def _model(call: Call) -> Start:
    llm = call.instance
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.CHAT.value,
        semconv.GEN_AI_PROVIDER_NAME: str(getattr(llm, "provider", None) or type(llm).__name__),
        semconv.GEN_AI_REQUEST_MODEL: llm.model,
    }
    content = {semconv.GEN_AI_INPUT_MESSAGES: messages_of(call.argument(0, "messages"))}
    return Start(f"{GenAiOperation.CHAT} {llm.model}", attributes, content, SpanKind.CLIENT)


def _model_answered(call: Call, response: Any) -> Facts:
    return answer_facts(response)


def _learn_answer(call: Call) -> None:
    """The call itself only returns what was said."""
    operation = owner()
    if operation is not None and not _is_hooked(call.instance):
        given = (call.kwargs.get(name) for name in ("usage", "finish_reason", "response_id"))
        learn(operation, answer_facts(call.argument(0, "response"), *given))


def _evict(account: Account, before: list[Any], after: list[Any]) -> None:
    """A summary leaves no message in place, so that the next context does not tell what it goes on from."""
    left = {str(message.get("tool_call_id") or "") for message in before} - {message.get("tool_call_id") for message in after}
    keys = sorted(left - {""})
    if not keys or suppressed():
        return
    attributes = {
        semconv.COMMIT_KIND: CommitKind.EVICTION.value,
        semconv.CONTEXT_EVICTION_REASON: "summarised",
        semconv.CONTEXT_EVICTED_KEYS: tuple(f"{EntryKind.RESULT}:{key}" for key in keys),
        semconv.CONTEXT_MESSAGE_COUNT: len(after),
    }
    delta = [{"op": DeltaOp.EVICT.value, "kind": EntryKind.RESULT.value, "key": key} for key in keys]
    account.start(Start("evict", attributes, {semconv.COMMIT_DELTA: delta})).end()


_MODEL = Hook("crewai's model calls", GenAiOperation.CHAT, at_start=_model, at_end=_model_answered)
