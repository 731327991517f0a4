"""The boundary of Anthropic's tool runner: `call` of whatever it runs, inside its handling of errors. Since 1.14."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import wrapt  # type: ignore[import-untyped, unused-ignore]

from turnlog.instrument.calls import Account
from turnlog.instrument.core import Extension, Framework, Seen, Undo, patch, undo_all
from turnlog.replay.tools import through


class _Tool(wrapt.ObjectProxy):  # type: ignore[misc, type-arg, unused-ignore]
    @property
    def call(self) -> Callable[..., Any]:
        return through(self.__wrapped__.call)


def _own(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return through(wrapped)(*args, **kwargs)


def _run_tools(runner: ModuleType, account: Account) -> Undo:
    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tool, *rest = args
        return wrapped(_Tool(tool), *rest, **kwargs)

    runners = [getattr(runner, name, None) for name in ("BaseSyncToolRunner", "BaseAsyncToolRunner")]
    return undo_all(*(patch(each, "_run_tool", run) for each in runners if hasattr(each, "_run_tool")))


def _run_toolsets(toolsets: ModuleType, account: Account) -> Undo:
    seen = Seen()

    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        account.ask("hooking a toolset", seen.hook, instance, {"call": _own})
        return wrapped(*args, **kwargs)

    return undo_all(*(patch(each, "tool_result", run) for each in toolsets.TOOLSET_CLASSES), seen.undo)


ANTHROPIC = Framework(
    "anthropic",
    title="Anthropic SDK",
    requires="anthropic >= 0.84, < 3",
    records="",
    extensions=(
        Extension("anthropic.lib.tools._beta_runner", _run_tools),
        Extension("anthropic.lib.tools._toolsets._runnable", _run_toolsets),
    ),
)
