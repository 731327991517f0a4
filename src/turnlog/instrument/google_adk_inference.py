"""Google ADK's model calls: the block that ADK puts around each, with the request as all plugins have left it."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import ModuleType, TracebackType
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import get_current_span, set_span_in_context

from turnlog import semconv
from turnlog.instrument.adopted import Adopted
from turnlog.instrument.calls import Account, Call, Start, learn, suppressed
from turnlog.instrument.core import Undo, patch
from turnlog.instrument.google_adk_messages import request_content, response_facts
from turnlog.operation import Operation, hear, innermost
from turnlog.semconv import GenAiOperation

# Operations that no span of ADK's stands for, by the id of the invocation or the call.
own: OrderedDict[str, Operation] = OrderedDict()


class _Inference(AbstractAsyncContextManager[Any]):
    """The block in which ADK calls a model. Its span ends with the last response, before the block does."""

    stepping = False

    def __init__(self, account: Account, inner: AbstractAsyncContextManager[Any], call: Call) -> None:
        self._account = account
        self._inner = inner
        self._call = call
        self._scope: Any = None
        self._operation: Operation | None = None

    async def __aenter__(self) -> Any:
        around = get_current_span()
        self._scope = await self._inner.__aenter__()
        if not suppressed():
            # Another instrumentation may keep ADK from making a span for the call: then it writes on the one around.
            self._account.ask("a model call", self._begin, get_current_span() is around)
        return self._scope

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self.finish(error)
        return await self._inner.__aexit__(kind, error, trace)

    def finish(self, error: BaseException | None = None) -> None:
        self._account.ask("reading a model's responses", self._learn, error)

    def _begin(self, alone: bool) -> None:
        self._account.calls += 1
        request, context = self._call.argument(0, "llm_request"), self._call.argument(1, "invocation_context")
        model = str(request.model or "")
        attributes = {
            semconv.GEN_AI_REQUEST_MODEL: model,
            semconv.GEN_AI_AGENT_NAME: context.agent.name,
            semconv.GEN_AI_CONVERSATION_ID: context.session.id,
        }
        start = start_of(GenAiOperation.GENERATE_CONTENT, model, attributes, request_content(request))
        operation = self._operation = self._account.start(replace(start, alone=alone), above(context.invocation_id))
        if isinstance(operation, Adopted):
            operation.run = self
        else:
            innermost.set(operation)
        self._scope.record_llm_response = functools.partial(self._record, self._scope.record_llm_response)

    def _record(self, record: Callable[..., None], context: Any, response: Any) -> None:
        """Tools run before the block ends."""
        record(context, response)
        if not response.partial:
            self.finish()

    def _learn(self, error: BaseException | None) -> None:
        operation = self._operation
        if operation is None or not operation.span.is_recording():
            return
        learn(operation, response_facts(self._scope.llm_responses))
        if error is not None and not isinstance(error, GeneratorExit):
            operation.fail(error)
        if isinstance(operation, Adopted):
            hear(operation)
        else:
            operation.end()
            innermost.set(None)


def start_of(operation: GenAiOperation, subject: str, attributes: dict[str, Any], content: dict[str, Any]) -> Start:
    known = {semconv.GEN_AI_OPERATION_NAME: operation.value, **attributes}
    return Start(f"{operation} {subject}".rstrip(), {key: value for key, value in known.items() if value is not None}, content)


def above(invocation_id: str) -> Context | None:
    """For what is said inside an operation of ours, which is not current."""
    outer = own.get(invocation_id)
    return None if outer is None else set_span_in_context(outer.span)


def follow_inference(instrumentation: ModuleType, account: Account) -> Undo:
    def record(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _Inference(account, wrapped(*args, **kwargs), Call(instance, args, kwargs))

    return patch(instrumentation, "record_inference_telemetry", record)
