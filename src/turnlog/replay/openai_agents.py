"""The OpenAI Agents SDK's boundary: what a function tool invokes, inside the SDK's words for a failure and its timeout."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import wrapt  # type: ignore[import-untyped, unused-ignore]

from turnlog.instrument.calls import Account
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.replay.tools import expect, through


class _Invoked(wrapt.FunctionWrapper):  # type: ignore[misc, type-arg, unused-ignore]
    """What a tool invokes, with the marks that the SDK has put on it."""


def _install(execution: ModuleType, account: Account) -> Undo:
    # An application may have its own `agents.tool`; this is the one that this module imports.
    handling = sys.modules["agents.tool"]._FailureHandlingFunctionToolInvoker
    active = True

    def own(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return through(wrapped)(*args, **kwargs)

    def hooked(tool: Any) -> Any:
        invoker = tool.on_invoke_tool
        if isinstance(invoker, handling):
            if not isinstance(invoker._invoke_tool_impl, _Invoked):
                invoker._invoke_tool_impl = _Invoked(invoker._invoke_tool_impl, own, lambda: active)
            return tool
        # Not in place: the SDK refuses a tool whose invoker has changed since its call was approved.
        stand_in = copy.copy(tool)
        stand_in.on_invoke_tool = _Invoked(invoker, own, lambda: active)
        return stand_in

    async def invoke(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tool = account.ask("hooking a tool", hooked, kwargs["function_tool"], default=kwargs["function_tool"])
        expect()
        return await wrapped(*args, **{**kwargs, "function_tool": tool})

    name = "_invoke_function_tool_with_metadata"
    unpatch = patch(execution, name if hasattr(execution, name) else "invoke_function_tool", invoke)

    def undo() -> None:
        nonlocal active
        active = False
        unpatch()

    return undo


OPENAI_AGENTS = Framework(
    "openai_agents",
    title="OpenAI Agents SDK",
    requires="openai-agents >= 0.20, < 1",
    records="",
    extensions=(Extension("agents.run_internal.tool_execution", _install),),
)
