"""Ending an operation, also when it is garbage collection that ends it.

A collection runs in the middle of any code, also of code that holds a lock of a span processor; ending a span from an
abandoned stream's finalizer would wait for that lock for ever. Such ends wait for the next hooked call, or for exit.
"""

from __future__ import annotations

import atexit
import gc
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import get_ident
from typing import Any

from turnlog.operation import Operation

_collecting: int | None = None
# The one queue whose put() is safe in a finalizer.
_late: SimpleQueue[Operation] = SimpleQueue()


def watch_collections() -> None:
    if _note not in gc.callbacks:
        gc.callbacks.append(_note)
        atexit.register(end_late)


def end(operation: Operation) -> None:
    if _collecting == get_ident():
        _late.put(operation)
    else:
        operation.end()


def end_late() -> None:
    while not _late.empty():
        with suppress(Empty):
            _late.get_nowait().end()


def _note(phase: str, info: dict[str, Any]) -> None:
    global _collecting
    _collecting = get_ident() if phase == "start" else None
