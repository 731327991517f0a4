"""Pydantic AI: a capability of ours in every agent run sees the run, its tools, and what it leaves to somebody.

Where the user has turned on Pydantic AI's own spans, these are the calls' spans.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.calls import Account, Call, Facts, Frame, Hook, Run, Start, begin
from turnlog.instrument.core import Extension, Framework, Undo, patch, undo_all
from turnlog.instrument.native import meet
from turnlog.instrument.pydantic_ai_messages import told, user
from turnlog.instrument.pydantic_ai_requests import REQUEST, agent_name, follow_streams, start_of
from turnlog.operation import UNRUN, error_type, lent
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState, Outcome

_DEFERRED = {"ApprovalRequired", "CallDeferred"}
_REJECTED = {"ModelRetry", "ToolRetryError", "ValidationError"}


def _run(call: Call) -> Start:
    ctx = call.args[0]
    name = agent_name(ctx)
    attributes = {semconv.GEN_AI_AGENT_NAME: name, semconv.GEN_AI_CONVERSATION_ID: ctx.conversation_id}
    content = {} if ctx.prompt is None else {semconv.GEN_AI_INPUT_MESSAGES: [user(ctx.prompt)]}
    return start_of(GenAiOperation.INVOKE_AGENT, name, attributes, content)


def _answer(call: Call, result: Any) -> Facts:
    answer = {"role": "assistant", "parts": [{"type": "text", "content": as_text(result.output)}]}
    return Facts({}, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]})


def _tool(call: Call) -> Start:
    asked, ctx = call.args
    attributes = {
        semconv.GEN_AI_TOOL_NAME: asked.tool_name,
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.GEN_AI_TOOL_CALL_ID: asked.tool_call_id,
        semconv.GEN_AI_AGENT_NAME: agent_name(ctx),
        semconv.GEN_AI_CONVERSATION_ID: ctx.conversation_id,
    }
    return start_of(
        GenAiOperation.EXECUTE_TOOL, asked.tool_name, attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: asked.args or {}}
    )


def _result(call: Call, result: Any) -> Facts:
    return Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: getattr(result, "return_value", result)})


_RUN = Hook("pydantic_ai's runs", GenAiOperation.INVOKE_AGENT, at_start=_run, at_end=_answer)
_TOOL = Hook("pydantic_ai's tools", GenAiOperation.EXECUTE_TOOL, at_start=_tool, at_end=_result)


class _Capability:
    """Mixed into Pydantic AI's capability class, once that is there."""

    # It brings no tools and no model: nothing that durable execution would have to know of before a run.
    _safe_at_runtime = True

    def __init__(self, account: Account, ordering: Any, results: Any) -> None:
        self._account = account
        self._ordering = ordering
        self._results = results

    def get_ordering(self) -> Any:
        return self._ordering

    async def wrap_run(self, ctx: Any, *, handler: Callable[[], Awaitable[Any]]) -> Any:
        frame = begin(_RUN, self._account, Call(None, (ctx,), {}))
        return await handler() if frame is None else await self._through(frame, self._run, ctx, handler)

    async def _run(self, ctx: Any, handler: Callable[[], Awaitable[Any]]) -> Any:
        if self._results is not None:
            self._account.ask("a resume", self._say, LifecycleState.RESUMED, _resolved, self._results)
            self._account.ask("what was left to somebody", self._settle, ctx)
        result = await handler()
        self._account.ask("a pause", self._say, LifecycleState.PAUSED, _pending, result.output)
        return result

    def _say(self, state: LifecycleState, read: Callable[[Any], list[dict[str, str]]], source: Any) -> None:
        if delta := read(source):
            attributes = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
            if state is LifecycleState.PAUSED:
                attributes[semconv.LIFECYCLE_PAUSE_REASON] = "human_input" if source.approvals else "external_tool"
            self._account.start(Start(f"session {state}", attributes, {semconv.COMMIT_DELTA: delta})).end()

    def _settle(self, ctx: Any) -> None:
        """Of the calls that were left to somebody, the run itself runs only those that were approved."""
        denied = {call_id: each for call_id, each in self._results.approvals.items() if _verdict(each) == "denied"}
        parts = [part for message in ctx.messages for part in message.parts if part.part_kind == "tool-call"]
        asked = {part.tool_call_id: part for part in parts}
        for call_id, given in {**denied, **self._results.calls}.items():
            frame = begin(_TOOL, self._account, Call(None, (asked[call_id], ctx), {})) if call_id in asked else None
            if not isinstance(frame, Run):
                continue
            frame.operation.set(content={semconv.REPLAY_RECORD: UNRUN})
            if call_id in denied:
                frame.operation.fail_with("approval_rejected", getattr(given, "message", "") or "denied")
                frame.finish()
            elif isinstance(given, Exception):
                _fail(frame, given)
            else:
                frame.returned(given)

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Callable[..., Any]) -> Any:
        frame = begin(_TOOL, self._account, Call(None, (call, ctx), {}))
        return await handler(args) if frame is None else await self._through(frame, handler, args)

    async def on_tool_validate_error(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, error: Exception) -> Any:
        # Where the framework makes spans of its own, it makes one for this too.
        if not self._account.ask("finding its own spans", _meets, ctx.tracer, self._account):
            self._reject(ctx, call, error)
        raise error

    async def wrap_output_validate(self, ctx: Any, *, output_context: Any, output: Any, handler: Callable[..., Any]) -> Any:
        try:
            return await handler(output)
        except Exception as error:
            if output_context.tool_call is not None and _named(error, _REJECTED):
                self._reject(ctx, output_context.tool_call, error)
            raise

    async def wrap_output_process(self, ctx: Any, *, output_context: Any, output: Any, handler: Callable[..., Any]) -> Any:
        call = output_context.tool_call
        frame = begin(_TOOL, self._account, Call(None, (call, ctx), {})) if call and not ctx.partial_output else None
        return await handler(output) if frame is None else await self._through(frame, handler, output)

    async def _through(self, frame: Frame, handler: Callable[..., Any], *args: Any) -> Any:
        try:
            with frame:
                result = await handler(*args)
        except BaseException as error:
            self._account.ask("reading a failure", _fail, frame, error)
            raise
        frame.returned(result)
        return result

    def _reject(self, ctx: Any, call: Any, error: Exception) -> None:
        # While a response is still coming in, its arguments are not whole.
        if not ctx.partial_output:
            frame = begin(_TOOL, self._account, Call(None, (call, ctx), {}))
            self._account.ask("reading a rejected call", _fail, frame, error)


def _pending(output: Any) -> list[dict[str, str]]:
    """The calls that a run has left to somebody, if it has."""
    if not _named(output, {"DeferredToolRequests"}):
        return []
    asked = [(call, "approve") for call in output.approvals] + [(call, "run") for call in output.calls]
    return [
        _change(DeltaOp.SET, call.tool_call_id, f"{verb} {call.tool_name} {as_text(call.args or {})}") for call, verb in asked
    ]


def _resolved(results: Any) -> list[dict[str, str]]:
    approvals = [(call_id, _verdict(approval)) for call_id, approval in results.approvals.items()]
    return [_change(DeltaOp.DROP, call_id, as_text(value)) for call_id, value in (*approvals, *results.calls.items())]


def _verdict(approval: Any) -> str:
    denied = approval is False or _named(approval, {"ToolDenied"})
    return "denied" if denied else "approved"


def _change(op: DeltaOp, key: str, value: str) -> dict[str, str]:
    return {"op": op.value, "kind": EntryKind.PENDING.value, "key": key, "value": value}


def _fail(frame: Frame | None, error: BaseException) -> None:
    if not isinstance(frame, Run):
        return
    cancelled = isinstance(error, CancelledError)
    if frame.hook is _RUN:
        # What the run was doing is what was cancelled.
        frame.finish(None if cancelled else error)
    elif _named(error, {"SkipToolExecution"}):
        frame.conclude(getattr(error, "result", None))
    elif _named(error, _DEFERRED):
        frame.operation.set(content={semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value})
        frame.finish()
    else:
        cause, answer = _cause(error), told(error)
        if answer is not None:
            frame.operation.set(content={semconv.GEN_AI_TOOL_CALL_RESULT: answer})
        # A cancellation only says which task it came from.
        frame.operation.fail_with(error_type(cause), "" if cancelled else str(cause) or as_text(answer or ""))
        frame.finish()


def _cause(error: BaseException) -> BaseException:
    """What went wrong, without what Pydantic AI wraps it in to tell the model."""
    while type(error).__module__ == "pydantic_ai.exceptions":
        # A tool that took too long is told of without its cause.
        cause = error.__cause__ or (error.__context__ if isinstance(error.__context__, TimeoutError) else None)
        if cause is None:
            break
        error = cause
    return error


def _meets(tracer: Any, account: Account) -> bool:
    """Whether the spans that Pydantic AI makes with this tracer come to turnlog."""
    return meet(tracer, account.tracer)


def _named(value: Any, names: set[str]) -> bool:
    return not names.isdisjoint(kind.__name__ for kind in type(value).__mro__)


def _join_runs(agents: ModuleType, account: Account) -> Undo:
    capabilities = import_module("pydantic_ai.capabilities")
    capability = type("TurnlogCapability", (_Capability, capabilities.AbstractCapability), {})
    # Around what the application's capabilities do, and after Pydantic AI's own, which makes its spans and comes first.
    ordering = capabilities.CapabilityOrdering(position="outermost")

    def iterate(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        ours = account.ask("joining a run", capability, account, ordering, kwargs.get("deferred_tool_results"))
        if ours is not None:
            kwargs["capabilities"] = [*(kwargs.get("capabilities") or ()), ours]
        return wrapped(*args, **kwargs)

    def reject(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _meets(instance.settings.tracer, account):
            return wrapped(*args, **kwargs)
        error = kwargs["error"]
        start = account.ask("reading a rejected call", _tool, Call(None, (kwargs["call"], args[0]), {}))
        content = start.content if start is not None else {}
        failure = {semconv.ERROR_TYPE: error_type(error), semconv.EXCEPTION_MESSAGE: str(error)}
        return _lend(wrapped(*args, **kwargs), {**content, **failure})

    rejected = patch(capabilities.Instrumentation, "on_tool_validate_error", reject)
    return undo_all(patch(agents.Agent, "iter", iterate), rejected)


async def _lend(rejecting: Awaitable[Any], content: dict[str, Any]) -> Any:
    # It makes its span, ends it and raises, without ever giving way to another task.
    with lent(content):
        return await rejecting


PYDANTIC_AI = Framework(
    "pydantic_ai",
    title="Pydantic AI",
    requires="pydantic-ai-slim >= 2.45, < 3",
    records="agent runs as turns, model requests and tools; rejected calls; deferred calls as pending; on its own spans where "
    "they are turned on; `conversation_id` is the session",
    extra="pydantic-ai",
    hooks=(REQUEST,),
    extensions=(
        Extension("pydantic_ai.agent", _join_runs),
        Extension("pydantic_ai._agent_graph", follow_streams),
    ),
    scopes=("pydantic-ai",),
)
