"""Anthropic's tool runner: the tools that it runs for the application, and its own spans around them. Since 1.14."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from types import ModuleType, TracebackType
from typing import Any

from opentelemetry.trace import Span, get_current_span

from turnlog import semconv
from turnlog.instrument.adopted import adopted
from turnlog.instrument.anthropic_messages import request_content, tool_facts
from turnlog.instrument.calls import Account, Call, Facts, Frame, Hook, Run, Start, begin
from turnlog.instrument.core import Undo, patch, undo_all
from turnlog.instrument.native import start_native
from turnlog.operation import error_type
from turnlog.semconv import GenAiOperation

_running: ContextVar[_ToolUse | None] = ContextVar("turnlog_anthropic_tool", default=None)


class _ToolUse(AbstractContextManager[Any]):
    """The block in which the runner runs a tool: `inner` is the runner's own, with its span when it makes one."""

    def __init__(self, account: Account, inner: AbstractContextManager[Any], call: Call) -> None:
        self._account = account
        self._inner = inner
        self._call = call
        self._frame: Frame | None = None
        self.raised: BaseException | None = None

    def __enter__(self) -> Any:
        tracer = getattr(self._call.argument(0, "client"), "_tracer", None)
        start = self._account.ask("reading a tool call", _start, self._call)
        if tracer is None or start is None:
            self._make()
        else:
            start_native(self._account, tracer, start, self._make)
        self._frame = begin(_HOOK, self._account, self._call)
        if self._frame is not None:
            self._frame.__enter__()
        self._before = _running.set(self)
        return self._run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        _running.reset(self._before)
        if self._frame is not None:
            self._frame.__exit__(kind, error, trace)
            if isinstance(self._frame, Run) and error is None:
                self._frame.conclude((self._run.result, self.raised))
            self._frame.finish(error)
        return self._inner.__exit__(kind, error, trace)

    def _make(self) -> Span | None:
        before = get_current_span()
        self._run = self._inner.__enter__()
        span = get_current_span()
        return None if span is before else span


def _start(call: Call) -> Start:
    tool_use = call.argument(2, "tool_use")
    native = adopted(get_current_span())
    known = getattr(get_current_span(), "attributes", None) or {}
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
        semconv.GEN_AI_TOOL_NAME: tool_use.name,
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.GEN_AI_TOOL_CALL_ID: tool_use.id,
    }
    if native is not None and known.get(semconv.GEN_AI_TOOL_CALL_ID) == tool_use.id:
        return Start("", attributes, adopted=native)
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: tool_use.input}
    return Start(f"{GenAiOperation.EXECUTE_TOOL} {tool_use.name}", attributes, content)


def _end(call: Call, outcome: tuple[Any, BaseException | None]) -> Facts:
    result, raised = outcome
    facts = tool_facts(result)
    if raised is None:
        return facts
    # As content, because the runner's own span only ever says "tool_error".
    return Facts(facts.attributes, {**facts.content, semconv.ERROR_TYPE: error_type(raised)}, error_type(raised))


_HOOK = Hook("anthropic's tool runner", GenAiOperation.EXECUTE_TOOL, at_start=_start, at_end=_end)


def record_tools(runner: ModuleType, account: Account) -> Undo:
    if not hasattr(runner.BaseToolRunner, "_tool_use_span"):
        return lambda: None

    def use(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _ToolUse(account, wrapped(*args, **kwargs), Call(instance, args, kwargs))

    def fail(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        running = _running.get()
        if running is not None and args:
            running.raised = args[0]
        return wrapped(*args, **kwargs)

    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = Call(instance, args, kwargs)
        tracer = getattr(given.argument(0, "client"), "_tracer", None)
        make = partial(wrapped, *args, **kwargs)
        content = account.ask("reading a tool runner", request_content, given.argument(2, "params"), default={})
        return make() if tracer is None else start_native(account, tracer, Start("", {}, content), make)

    return undo_all(
        patch(runner.BaseToolRunner, "_tool_use_span", use),
        patch(runner, "tool_error_content", fail),
        patch(runner, "start_tool_runner_span", run),
    )
