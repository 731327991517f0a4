"""LangChain's boundary: `_run` and `_arun` of whatever tool classes there are, hooked when their first tool runs.

An interrupt of LangGraph is no value but a request to the graph that runs now: it is made again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from turnlog.instrument.calls import Account
from turnlog.instrument.core import Extension, Framework, Seen, Undo, patch, undo_all
from turnlog.replay.tools import expect, through


def _raise_again(error: Exception) -> NoReturn:
    errors = sys.modules.get("langgraph.errors")
    if errors is None or type(error) is not errors.GraphInterrupt:
        raise error
    asked = error.args[0][0]
    schema = getattr(asked, "response_schema", None)
    given = {"response_schema": schema} if schema is not None else {}
    while True:
        # Returns once for each question that was answered before this one was asked, as it did in the tool.
        sys.modules["langgraph.types"].interrupt(asked.value, **given)


def _install(tools: ModuleType, account: Account) -> Undo:
    seen = Seen()

    def own(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return through(wrapped, _raise_again)(*args, **kwargs)

    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # The base class's own are no tool's: one is abstract, the other passes the call on to it.
        names = [name for name in ("_run", "_arun") if getattr(type(instance), name) is not getattr(tools.BaseTool, name)]
        account.ask("hooking a tool", seen.hook, instance, dict.fromkeys(names, own))
        return wrapped(*args, **kwargs)

    def read_arguments(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        expect()
        return wrapped(*args, **kwargs)

    return undo_all(
        *(patch(tools.BaseTool, name, run) for name in ("run", "arun")),
        patch(tools.BaseTool, "_to_args_and_kwargs", read_arguments),
        seen.undo,
    )


LANGCHAIN = Framework(
    "langchain",
    title="LangChain",
    requires="langchain-core >= 1.4, < 2",
    records="",
    extensions=(Extension("langchain_core.tools.base", _install),),
)
