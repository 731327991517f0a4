"""The OpenAI Agents SDK: runs as turns, model calls of every kind of model, tools, handoffs, guardrails and approvals.

Independent of the SDK's own tracing, which may be off, says less, and is not told anything. Model calls are taken where the
runner calls a model, so that one that does not go through the OpenAI SDK is recorded too; the SDK's own hook then steps back.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from turnlog.content import as_text
from turnlog.instrument.calls import Account, Call, Hook, owner, running_tool
from turnlog.instrument.core import Extension, Framework, Seen, Undo, patch, undo_all
from turnlog.instrument.drivers import driver_for
from turnlog.instrument.openai_agents_messages import (
    action_facts,
    action_start,
    function_facts,
    function_start,
    handoff_facts,
    handoff_start,
    model_facts,
    model_start,
    tool_start,
)
from turnlog.instrument.openai_agents_runs import (
    record_note,
    record_run,
    record_step,
    tool_failed,
)
from turnlog.instrument.openai_agents_unrun import record_answer, record_unrun, telling
from turnlog.instrument.openai_messages import ResponseStream
from turnlog.operation import error_type
from turnlog.semconv import GenAiOperation

Wrapped = Callable[..., Any]
Arguments = tuple[Any, ...]
Named = dict[str, Any]

_PEERS = ("openinference.instrumentation.openai_agents", "opentelemetry.instrumentation.openai_agents")
_MODEL = Hook(
    "a model",
    GenAiOperation.CHAT,
    at_start=model_start,
    at_end=model_facts,
    collect=lambda call: ResponseStream(),
)
# The SDK's own models tell its tracing of the call, and so whoever makes spans of that.
_TOLD_MODEL = replace(_MODEL, inside=_PEERS)


def _record_runs(module: ModuleType, account: Account) -> Undo:
    if importlib.util.find_spec("agents.run_internal") is None:
        # An application's own package of that name.
        return lambda: None

    def run(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        call = Call(instance, args, kwargs)
        return record_run(account, wrapped, call, call)

    def run_streamed(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        given = kwargs.get("run_state") if kwargs.get("is_resumed_state") else kwargs.get("starting_input")
        call = Call(instance, args, kwargs)
        return record_run(account, wrapped, call, Call(instance, (kwargs.get("starting_agent"), given), kwargs))

    return undo_all(
        patch(module.AgentRunner, "run", run),
        patch(module, "start_streaming", run_streamed),
        patch(module, "run_single_turn", _step(account)),
    )


def _step(account: Account) -> Callable[..., Any]:
    return lambda wrapped, instance, args, kwargs: record_step(account, wrapped, Call(instance, args, kwargs))


def _record_models(module: ModuleType, account: Account) -> Undo:
    seen, wrappers = Seen(), {"get_response": _call_model(account), "stream_response": _stream_model(account)}

    def get_model(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        model = wrapped(*args, **kwargs)
        account.ask("hooking a model", seen.hook, model, wrappers)
        return model

    def tell(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> None:
        wrapped(*args, **kwargs)
        # Whoever makes a span of the call has done so.
        account.ask("looking for others' spans", owner)

    def carry_out(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        return record_answer(account, wrapped, Call(instance, args, kwargs))

    return undo_all(
        patch(module, "get_model", get_model),
        patch(module, "run_single_turn_streamed", _step(account)),
        patch(module, "get_single_step_result_from_response", carry_out),
        patch(sys.modules["agents.tracing.spans"].SpanImpl, "start", tell),
        seen.undo,
    )


def _hook_of(model_call: Wrapped) -> Hook:
    return _TOLD_MODEL if str(getattr(model_call, "__module__", "")).startswith("agents.") else _MODEL


def _call_model(account: Account) -> Callable[..., Any]:
    async def like(answer: Any) -> Any: ...

    drive = driver_for(like)
    return lambda wrapped, instance, args, kwargs: drive(_hook_of(wrapped), account, wrapped, Call(instance, args, kwargs))


def _stream_model(account: Account) -> Callable[..., Any]:
    drive = driver_for(_generate)

    def stream(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        generate: Wrapped = lambda *a, **k: _generator(wrapped(*a, **k))  # noqa: E731
        return drive(_hook_of(wrapped), account, generate, Call(instance, args, kwargs))

    return stream


def _generator(events: Any) -> Any:
    return events if inspect.isasyncgen(events) else _generate(events)


async def _generate(events: Any) -> AsyncGenerator[Any, Any]:
    """The interface asks for an iterator only; it is closed as one would be that is a generator."""
    try:
        async for event in events:
            yield event
    finally:
        if (close := getattr(events, "aclose", None)) is not None:
            await close()


def _record_failures(module: ModuleType, account: Account) -> Undo:
    """What a tool raised, before it is put into words for the model; that it took too long; that it was not let run."""

    def fail(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        account.ask("reading a tool's failure", tool_failed, kwargs["error"])
        return wrapped(*args, **kwargs)

    def time_out(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> None:
        wrapped(*args, **kwargs)
        account.ask("reading a tool's timeout", tool_failed, instance)

    async def guard(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        def refuse(kind: str, why: str) -> None:
            context = kwargs["tool_context"]
            start = tool_start(kwargs["func_tool"].name, context.tool_call_id, context.tool_arguments)
            record_unrun(account, start, kind, why)

        try:
            refusal = await wrapped(*args, **kwargs)
        except Exception as error:
            account.ask("reading a guardrail", refuse, error_type(error), str(error))
            raise
        if isinstance(refusal, str):
            account.ask("reading a guardrail", refuse, "guardrail_rejected", refusal)
        return refusal

    # Modules that this one imports. They are not waited for by name: an application may have its own `agents.tool`.
    tool, exceptions = sys.modules["agents.tool"], sys.modules["agents.exceptions"]
    return undo_all(
        patch(tool, "maybe_invoke_function_tool_failure_error_function", fail),
        # The runner makes this exception for every timeout, also where it only tells the model.
        patch(exceptions.ToolTimeoutError, "__init__", time_out),
        patch(module, "_execute_tool_input_guardrails", guard),
    )


def _record_mcp_failures(module: ModuleType, account: Account) -> Undo:
    """An MCP server that answers with an error: the SDK gives the model its text as any other."""
    seen = Seen()

    def read(result: Any) -> None:
        running = running_tool()
        if running is not None and (getattr(result, "is_error", None) or getattr(result, "isError", None)):
            running.fail_with("tool_error", "\n".join(getattr(part, "text", "") for part in result.content))

    async def call_tool(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        result = await wrapped(*args, **kwargs)
        account.ask("reading an MCP server's answer", read, result)
        return result

    def invoke(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
        account.ask(
            "hooking an MCP server", seen.hook, Call(instance, args, kwargs).argument(0, "server"), {"call_tool": call_tool}
        )
        return wrapped(*args, **kwargs)

    return undo_all(patch(module.MCPUtil, "invoke_mcp_tool", invoke), seen.undo)


def _record_guardrails(module: ModuleType, account: Account) -> Undo:
    def guarded(kind: str) -> Callable[..., Any]:
        def record(result: Any) -> None:
            if result.output.tripwire_triggered:
                name, info = result.guardrail.get_name(), result.output.output_info
                text = f"{kind} guardrail {name} triggered" + (f": {as_text(info)}" if info is not None else "")
                record_note(account, f"guardrail {name}", f"guardrail {name}", text)

        async def run(wrapped: Wrapped, instance: Any, args: Arguments, kwargs: Named) -> Any:
            result = await wrapped(*args, **kwargs)
            account.ask("reading a guardrail", record, result)
            return result

        return run

    return undo_all(*(patch(module, f"run_single_{kind}_guardrail", guarded(kind)) for kind in ("input", "output")))


OPENAI_AGENTS = Framework(
    "openai_agents",
    title="OpenAI Agents SDK",
    requires="openai-agents >= 0.20, < 1",
    records="runs as turns, sync, async and streamed; models of every provider; tools with the exception itself; handoffs and "
    "agents as tools nested; guardrails; approvals as pauses; the session's id",
    extra="openai-agents",
    scopes=(*_PEERS, "opentelemetry.instrumentation.genai.openai_agents"),
    hooks=(
        Hook(
            "agents.run_internal.tool_execution:_invoke_function_tool_with_metadata|invoke_function_tool",
            GenAiOperation.EXECUTE_TOOL,
            at_start=telling(function_start),
            at_end=function_facts,
        ),
        *(
            Hook(
                f"agents.run_internal.tool_actions:{action}.execute",
                GenAiOperation.EXECUTE_TOOL,
                at_start=telling(action_start),
                at_end=action_facts,
            )
            for action in ("ShellAction", "LocalShellAction", "ApplyPatchAction", "CustomToolAction", "ComputerAction")
        ),
        Hook(
            "agents.run_internal.turn_resolution:execute_handoffs",
            GenAiOperation.EXECUTE_TOOL,
            at_start=telling(handoff_start),
            at_end=handoff_facts,
        ),
    ),
    extensions=(
        Extension("agents.run", _record_runs),
        Extension("agents.run_internal.run_loop", _record_models),
        Extension("agents.run_internal.tool_execution", _record_failures),
        Extension("agents.run_internal.guardrails", _record_guardrails),
        Extension("agents.mcp.util", _record_mcp_failures),
    ),
)
