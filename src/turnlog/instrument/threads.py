"""Threads and jobs of thread pools belong to the session and turn that start them: Python hands no context over to them.

A job has what its submitter had, whichever worker runs it; a worker has nothing for itself, since it outlives them all.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures.thread import ThreadPoolExecutor
from functools import partial
from typing import Any

from turnlog.carried import NOTHING, Carried, carried_from_here, is_here, run_with
from turnlog.instrument.calls import Account
from turnlog.instrument.core import Undo, patch, undo_all

_OURS = "turnlog-"
_account = Account("threads")
_undo: Undo | None = None


def follow() -> None:
    """A second time changes nothing."""
    global _undo
    if _undo is None:
        _undo = undo_all(patch(threading.Thread, "start", _start), patch(ThreadPoolExecutor, "submit", _submit))


def leave() -> None:
    global _undo
    if _undo is not None:
        _undo()
        _undo = None


def _start(wrapped: Callable[..., Any], thread: threading.Thread, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    carried: Carried | None = _account.ask("starting a thread", carried_from_here)
    if carried is None or not _is_startable(thread):
        return wrapped(*args, **kwargs)
    # On the instance, because classes override `run` and need not call the one that they override.
    own = vars(thread).get("run")
    vars(thread)["run"] = partial(_run, thread, own, carried)
    try:
        return wrapped(*args, **kwargs)
    except Exception:
        _put_back(thread, own)
        raise


def _is_startable(thread: threading.Thread) -> bool:
    """Not one of turnlog's own, which work for all sessions; nor one that has run or was never made: `start` will say so."""
    try:
        return thread.ident is None and not thread.name.startswith(_OURS)
    except Exception:  # noqa: BLE001 - the application comes first
        return False


def _run(thread: threading.Thread, own: Any, carried: Carried) -> None:
    _put_back(thread, own)
    if is_here():
        thread.run()
    else:
        run_with(carried, thread.run)


def _put_back(thread: threading.Thread, own: Any) -> None:
    if own is None:
        vars(thread).pop("run", None)
    else:
        vars(thread)["run"] = own


def _submit(wrapped: Callable[..., Any], pool: ThreadPoolExecutor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    carried: Carried | None = _account.ask("submitting a job", carried_from_here)
    if carried is None:
        return wrapped(*args, **kwargs)
    # Without a job, `submit` will say so.
    job = (run_with, carried, *args) if args and not _is_of_interpreters(pool) else args
    return run_with(NOTHING, wrapped, *job, **kwargs)


def _is_of_interpreters(pool: ThreadPoolExecutor) -> bool:
    """From Python 3.14: its jobs are pickled for another interpreter, where turnlog need not be."""
    found = getattr(sys.modules.get("concurrent.futures.interpreter"), "InterpreterPoolExecutor", None)
    return found is not None and isinstance(pool, found)
