"""The boundary of `@turnlog.tool`, with or without `timeout=` and `retries=`: the decorated function."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from turnlog import manual
from turnlog.instrument.calls import Account, running_tool
from turnlog.instrument.core import Extension, Framework, Undo
from turnlog.operation import Operation
from turnlog.replay import boundary
from turnlog.replay.tools import through


class _Boundary(manual.Boundary):
    def through(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return through(function)

    def told(self, operation: Operation, **said: Any) -> None:
        # What is recorded outside of tools is recorded by the program itself, when it runs again.
        if running_tool() is not None:
            boundary.keep(operation, said)


def _install(module: ModuleType, account: Account) -> Undo:
    before, module.boundary = module.boundary, _Boundary()  # type: ignore[attr-defined]
    return lambda: setattr(module, "boundary", before)


BY_HAND = Framework(
    "by hand",
    title="@turnlog.tool",
    requires="turnlog",
    records="",
    extensions=(Extension("turnlog.manual", _install),),
)
