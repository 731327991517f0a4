"""Ending an operation, also when it is garbage collection that ends it.

A collection runs in the middle of any code, also of code that holds a lock of a span processor; ending a span from an
abandoned stream's finalizer would wait for that lock for ever. Such ends wait for the next hooked call, or for exit. So do
those of calls that are over and whose span another instrumentation has forgotten to end.
"""

from __future__ import annotations

import atexit
import gc
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import get_ident
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from turnlog.operation import Operation

_PATIENCE = 2.0


class _Waiting(Protocol):
    def give_up(self) -> None: ...


_collecting: int | None = None
# The one queue whose put() is safe in a finalizer.
_late: SimpleQueue[Operation] = SimpleQueue()
_waiting: WeakKeyDictionary[_Waiting, float] = WeakKeyDictionary()


def watch_collections() -> None:
    if _note not in gc.callbacks:
        gc.callbacks.append(_note)
        atexit.register(end_late, patience=0.0)


def end(operation: Operation) -> None:
    if _collecting == get_ident():
        _late.put(operation)
    else:
        operation.end()


def wait_for_other(operation: _Waiting) -> None:
    """The call is over, its span is for another instrumentation to end."""
    _waiting[operation] = time.monotonic()


def any_late() -> bool:
    return len(_waiting) > 0 or not _late.empty()


def end_late(patience: float = _PATIENCE) -> None:
    while not _late.empty():
        with suppress(Empty):
            _late.get_nowait().end()
    if _waiting:
        until = time.monotonic() - patience
        for operation in [each for each, since in list(_waiting.items()) if since <= until]:
            _waiting.pop(operation, None)
            operation.give_up()


def _note(phase: str, info: dict[str, Any]) -> None:
    global _collecting
    _collecting = get_ident() if phase == "start" else None
