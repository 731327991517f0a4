"""Where in the program a replay diverged, in place of a traceback through everybody else's code."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType

from turnlog.errors import ReplayDiverged

_FOLDERS = (str(Path(__file__).parent.parent), *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))
_OTHERS = ("<frozen ", *(f"{folder}{os.sep}" for folder in _FOLDERS))


def asked_at() -> str:
    """`app.py:12`: the innermost line that belongs to no installed package. Empty where a thread has none."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OTHERS):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def hide_traceback() -> Callable[[], None]:
    """A divergence that ends the program has been reported when it was raised. Gives what undoes this."""
    before = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, ReplayDiverged):
            before(kind, error, trace)

    def undo() -> None:
        if sys.excepthook is show:
            sys.excepthook = before

    sys.excepthook = show
    return undo
