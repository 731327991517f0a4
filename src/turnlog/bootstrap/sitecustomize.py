"""What `turnlog run` puts in front of a program: recording is switched on before the program's first line.

Python imports one `sitecustomize` at start-up. This one steps aside for the one it hides, and nothing that fails here costs
the program more than a line on stderr.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import PathFinder


def _run_hidden_sitecustomize() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would cost every child process its import
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry) != here]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _record() -> None:
    try:
        import turnlog

        turnlog.init()
    except Exception as error:  # noqa: BLE001 - the program comes first
        _fail(error)


def _fail(error: Exception) -> None:
    if isinstance(error, ImportError):
        _say(f"{sys.executable} cannot import turnlog ({error}). Install it there: {sys.executable} -m pip install turnlog")
    else:
        _say(f"{type(error).__name__}: {error}")
    if os.environ.get("TURNLOG_REPLAY"):
        # Without its replay the program would do live what it was only to repeat. Nothing of it has run yet.
        os._exit(1)


def _say(why: str) -> None:
    if sys.stderr is not None:
        line = " ".join(why.split())
        sys.stderr.write(f"turnlog: this program is not recorded: {line}\n")


try:
    _run_hidden_sitecustomize()
finally:
    _record()
