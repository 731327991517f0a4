"""The audit hook: which tool call opened, renamed or removed which file.

CPython tells hooks of every such event before it happens, and never removes a hook: while no tool runs, ours is one look at
a number. It takes no lock, because events happen inside locked code too, and it never raises: that would stop the event.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import get_current_span

from turnlog.carried import origin
from turnlog.derive.touch import LIST, MOST_TOUCHES, READ, Touch
from turnlog.observe.disk import Look, look_at

_MOST_SPANS = 10_000
# Looked at before a call has to do with them; many of them leave no trace.
_MOST_FILES = 4 * MOST_TOUCHES
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NOT_FILES = ("/proc/", "/dev/", "/sys/")


@dataclass(slots=True, eq=False)
class RunningCall:
    """A tool call that runs in this process, and the files that it has to do with."""

    owner: object
    key: tuple[int, int]
    cwd: str
    above: RunningCall | None
    ignored: tuple[str, ...]
    reads: bool
    # Whether its span is made current for its code; if not, code without a span on its thread may be its code too.
    has_context: bool
    thread: int = field(default_factory=threading.get_ident)
    declared: tuple[Touch, ...] | None = None
    # Absolute path to what was there before the call had to do with it.
    before: dict[str, Look | None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)
    looked: dict[str, str] = field(default_factory=dict)
    below: dict[str, Look] | None = None
    is_alone: bool = True
    spans: list[int] = field(default_factory=list)
    left_out: int = 0

    def is_within(self, other: RunningCall) -> bool:
        call: RunningCall | None = self
        while call is not None and call is not other:
            call = call.above
        return call is other


class _Quiet(threading.local):
    """Set while our own code looks at files."""

    on = False


running: dict[tuple[int, int], RunningCall] = {}
# Calls that are over, as long as what they did has not been told to the others.
ending: dict[tuple[int, int], RunningCall] = {}
quiet = _Quiet()
_count = 0
_reading = False
_of_span: dict[int, RunningCall] = {}
_lock = threading.RLock()
_installed = False


def enter(call: RunningCall) -> None:
    with _lock:
        _install()
        for other in running.values():
            if not call.is_within(other):
                call.is_alone = other.is_alone = False
        running[call.key] = call
        add_span(call, call.key[0])
        _recount()


def leave(key: tuple[int, int]) -> RunningCall | None:
    with _lock:
        call = running.pop(key, None)
        if call is not None:
            ending[key] = call
            for span_id in call.spans:
                if _of_span.get(span_id) is call:
                    del _of_span[span_id]
            _recount()
        return call


def add_span(call: RunningCall, span_id: int) -> None:
    if len(call.spans) < _MOST_SPANS:
        call.spans.append(span_id)
        _of_span[span_id] = call


def call_of(span_id: int) -> RunningCall | None:
    return _of_span.get(span_id)


def forget() -> None:
    """In a forked child: the calls that were running belong to the parent."""
    global _lock
    _lock = threading.RLock()
    running.clear()
    ending.clear()
    _of_span.clear()
    _recount()


def _recount() -> None:
    global _count, _reading
    _count = len(running)
    _reading = _count > 0 and any(call.reads for call in running.values())


def _install() -> None:
    global _installed
    if not _installed:
        _installed = True
        os.register_at_fork(after_in_child=forget)
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _count:
        return
    note = _EVENTS.get(event)
    if note is not None:
        with contextlib.suppress(Exception):
            note(arguments)


def _open(arguments: Sequence[Any]) -> None:
    path, _, flags = arguments
    if flags & _WRITING:
        _note((path,))
    elif (call := _reader(path)) is not None and (name := _absolute(path)):
        call.looked.setdefault(name, READ)


def _list(arguments: Sequence[Any]) -> None:
    (path,) = arguments
    if (call := _reader(path)) is not None and (name := _absolute(path or ".")):
        call.looked.setdefault(name, LIST)


def _remove(arguments: Sequence[Any]) -> None:
    path, folder = arguments
    _note((path, folder))


def _rename(arguments: Sequence[Any]) -> None:
    source, target, source_folder, target_folder = arguments
    noted = _note((source, source_folder), (target, target_folder))
    if noted is not None and len(noted[1]) == 2:
        call, (old, new) = noted
        call.moved[new] = call.moved.get(old, old)


def _link(arguments: Sequence[Any]) -> None:
    _note((arguments[1], arguments[-1]))


def _first(arguments: Sequence[Any]) -> None:
    _note((arguments[0],))


_EVENTS = {
    "open": _open,
    "os.remove": _remove,
    "os.rename": _rename,
    "os.truncate": _first,
    "os.link": _link,
    "os.symlink": _link,
    "sqlite3.connect": _first,
    "os.listdir": _list,
    "os.scandir": _list,
}


def _note(*places: tuple[Any, ...]) -> tuple[RunningCall, list[str]] | None:
    """Remember what is at the places before the event happens."""
    if (call := _whose()) is None:
        return None
    paths = [path for place in places if (path := _absolute(*place)) and not _is_ignored(call, path)]
    for path in paths:
        if path in call.seen:
            continue
        if len(call.before) >= _MOST_FILES:
            call.left_out += 1
            return None
        # Since a call declared a file, another one that runs may have changed it.
        if path not in call.before or not call.is_alone:
            quiet.on = True
            try:
                call.before[path] = look_at(path)
            finally:
                quiet.on = False
        call.seen.add(path)
    return call, paths


def _reader(path: Any) -> RunningCall | None:
    """The call that reads, when its reads are wanted."""
    if not _reading or quiet.on or isinstance(path, int):
        return None
    call = _whose()
    if call is None or not call.reads or len(call.looked) >= _MOST_FILES or _is_ignored(call, _absolute(path or ".")):
        return None
    return call


def _whose() -> RunningCall | None:
    """The call whose code this is: by the current span, by the one that handed it to a thread or, where there is neither, the
    only call there is."""
    span = get_current_span()
    context = span.get_span_context()
    if context.is_valid:
        call = _of_span.get(context.span_id)
        parent = getattr(span, "parent", None)
        # A span of a provider that we are not attached to is known by its parent.
        return call if call is not None or parent is None else _of_span.get(parent.span_id)
    if span_id := origin.get():
        return _of_span.get(span_id)
    calls = list(running.values())
    inner = [call for call in calls if not any(other is not call and other.is_within(call) for other in calls)]
    if len(inner) != 1 or (inner[0].has_context and inner[0].thread == threading.get_ident()):
        return None
    return inner[0]


def _absolute(path: Any, folder: Any = None) -> str:
    if isinstance(path, int):
        return ""
    name = os.fsdecode(path)
    if isinstance(folder, int) and folder >= 0 and not name.startswith("/"):
        name = os.readlink(f"/proc/self/fd/{folder}") + "/" + name  # noqa: PTH115 - no Path on this way
    return os.path.abspath(name)  # noqa: PTH100 - links stay as they are


def _is_ignored(call: RunningCall, path: str) -> bool:
    return (
        path.startswith((*_NOT_FILES, *call.ignored))
        or path.endswith(".pyc")
        or "/site-packages/" in path
        or "/__pycache__/" in path
    )
