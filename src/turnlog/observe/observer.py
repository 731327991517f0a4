"""From a tool call's start to its end: which files it created, wrote, renamed, removed and, if asked for, read.

In this process the audit hook tells. What child processes and extensions do is seen by comparing the files that the call
declared, and those below the folders that the user names, before and after. Concurrent calls don't blame each other.
"""

from __future__ import annotations

import logging
import os
import sysconfig
from collections.abc import Callable, Iterator
from typing import Any

from turnlog.content import ContentPolicy
from turnlog.derive.files import Observed, declared_touches, place
from turnlog.derive.touch import CREATE, DELETE, LIST, MOST_TOUCHES, RENAME, WRITE, Touch
from turnlog.observe import hook
from turnlog.observe.disk import Look, TooMany, has_changed, is_moved, look_at, look_below, text_of
from turnlog.observe.hook import RunningCall
from turnlog.semconv import FileEvidence
from turnlog.settings import Observe, Settings

_log = logging.getLogger("turnlog")
_MOST_RUNNING = 1_024
_MOST_WATCHED = 10_000
# What is read after one call to hash it, at most.
_MOST_HASHED = 16 * 1024 * 1024

Key = tuple[int, int]


class Observer:
    """Told by the processor when a tool's span starts and ends. Never raises; what it could not watch is counted."""

    def __init__(self, settings: Settings, policy: ContentPolicy, lose: Callable[[str], None] | None = None) -> None:
        self._level = settings.observe
        self._policy = policy
        self._lose = lose
        self._folders = tuple(os.path.abspath(folder) for folder in settings.watch)  # noqa: PTH100
        self._own = os.path.abspath(settings.directory)  # noqa: PTH100
        library = sysconfig.get_paths()
        self._ignored = (self._own + "/", library["stdlib"] + "/", library["platstdlib"] + "/")
        self._home = os.path.expanduser("~")  # noqa: PTH111
        self._complaints: set[str] = set()

    @property
    def is_busy(self) -> bool:
        """Whether any tool call runs that spans could belong to."""
        return bool(hook.running)

    def begin(self, key: Key, parent: int, tool: str, arguments: Any, *, has_context: bool = True) -> None:
        """A tool call starts. `key` begins with its span's id; `parent` is the id of the span above it, or 0."""
        if self._level is not Observe.OFF:
            self._guarded(lambda: self._begin(key, parent, tool, arguments, has_context))

    def child(self, span_id: int, parent: int) -> None:
        """A span starts that is no tool call; below one, what happens in it is the call's."""
        call = hook.call_of(parent)
        if call is not None:
            hook.add_span(call, span_id)

    def end(self, key: Key) -> Observed:
        """The call is over: what was seen of it."""
        call = None if self._level is Observe.OFF else hook.leave(key)
        if call is None:
            return Observed(cwd=_cwd(), home=self._home)
        try:
            return self._guarded(lambda: self._end(call)) or Observed(cwd=_cwd(), home=self._home)
        finally:
            hook.ending.pop(key, None)

    def close(self) -> None:
        for key, call in list(hook.running.items()):
            if call.owner is self:
                self._drop(key)

    def _drop(self, key: Key) -> None:
        hook.leave(key)
        hook.ending.pop(key, None)

    def _begin(self, key: Key, parent: int, tool: str, arguments: Any, has_context: bool) -> None:
        call = RunningCall(
            self, key, _cwd(), hook.call_of(parent), self._ignored, reads=self._level is Observe.ALL, has_context=has_context
        )
        if arguments is not None:
            call.declared = tuple(declared_touches(tool, arguments, _Here(call.cwd)))
            for path in dict.fromkeys(_resolve(path, call.cwd) for path in _modified(call.declared)):
                call.before[path] = look_at(path)
        call.below = self._look_below(precisely=True)
        if len(hook.running) >= _MOST_RUNNING:
            # Only spans that never end pile up like this.
            self._drop(next(iter(hook.running)))
        hook.enter(call)

    def _end(self, call: RunningCall) -> Observed:
        here = Observed(declared=call.declared, cwd=call.cwd, home=self._home)
        if not call.before and not call.looked and call.below is None:
            return here
        # In this order: whoever is not among them any more has told what it did.
        others = [other for other in (*hook.running.values(), *hook.ending.values()) if other is not call]
        before = {**self._changed_below(call), **call.before}
        after = {path: look_at(path, precisely=False) for path in before}
        changed = {
            path: look
            for path, look in before.items()
            if _differs(path, look, after[path]) and (path in call.seen or not _is_of_another(path, call, others))
        }
        touches = [*self._touches(call, changed, after, here), *_reads(call, changed, here)]
        for other in others:
            _tell(other, call, changed)
        left_out = call.left_out + max(0, len(touches) - MOST_TOUCHES)
        if left_out:
            self._complain(f"files of one tool call beyond the first {MOST_TOUCHES} left out", left_out)
        return here._replace(touches=tuple(touches[:MOST_TOUCHES]))

    def _touches(
        self, call: RunningCall, changed: dict[str, Look | None], after: dict[str, Look | None], here: Observed
    ) -> Iterator[Touch]:
        sources = _sources(call, changed, after)
        room = _MOST_HASHED
        for path, before in changed.items():
            now = after[path]
            if now is None:
                if path not in sources.values():
                    yield _touch(DELETE, path, here)
                continue
            text = None if now.is_folder or now.size > room else text_of(path)
            room -= 0 if text is None else now.size
            value = "" if text is None else self._policy.hash(text)
            if path in sources:
                source = place(sources[path], here)
                yield _touch(RENAME, path, here)._replace(value=value, renamed_from=source)
            else:
                yield _touch(CREATE if before is None else WRITE, path, here)._replace(value=value)

    def _look_below(self, *, precisely: bool) -> dict[str, Look] | None:
        if not self._folders:
            return None
        try:
            return look_below(self._folders, _MOST_WATCHED, self._own, precisely=precisely)
        except TooMany:
            self._complain(f"more than {_MOST_WATCHED:,} files in TURNLOG_WATCH: not watched")
            return None

    def _changed_below(self, call: RunningCall) -> dict[str, Look | None]:
        """What changed in the watched folders, if no other call could have done it."""
        if call.below is None or not call.is_alone:
            return {}
        now = self._look_below(precisely=False)
        if now is None:
            return {}
        before = call.below
        return {
            path: before.get(path)
            for path in before.keys() | now.keys()
            if before.get(path) is None or path not in now or has_changed(path, before[path], now[path])
        }

    def _guarded(self, work: Callable[[], Any]) -> Any:
        hook.quiet.on = True
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._complain(f"observing a tool call failed: {type(error).__name__}", detail=error)
            return None
        finally:
            hook.quiet.on = False

    def _complain(self, what: str, count: int = 1, detail: object = "") -> None:
        if self._lose is not None:
            self._lose(what)
        if what not in self._complaints:
            self._complaints.add(what)
            _log.warning("turnlog: %s %s", what, detail or (f"({count:,})" if count > 1 else ""))


class _Here:
    """The disk as a call's command sees it."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(_resolve(path, self._cwd))  # noqa: PTH112

    def text(self, path: str) -> str:
        return text_of(_resolve(path, self._cwd)) or ""


def _modified(declared: tuple[Touch, ...]) -> Iterator[str]:
    for touch in declared:
        if touch.is_file and touch.modifies:
            yield touch.path
            if touch.renamed_from:
                yield touch.renamed_from


def _differs(path: str, before: Look | None, after: Look | None) -> bool:
    if before is None or after is None:
        return before is not after
    return has_changed(path, before, after)


def _is_of_another(path: str, call: RunningCall, others: list[RunningCall]) -> bool:
    """Whether a call that still runs was seen to change it: then it is not known that this one did as well."""
    return any(path in other.seen and not call.is_within(other) for other in others)


def _sources(call: RunningCall, changed: dict[str, Look | None], after: dict[str, Look | None]) -> dict[str, str]:
    """Where a file was moved to, and from where."""
    gone = {path: look for path, look in changed.items() if look is not None and after[path] is None}
    told = {_resolve(touch.path, call.cwd): _resolve(touch.renamed_from, call.cwd) for touch in _renamed(call)} | call.moved
    found: dict[str, str] = {}
    for path, before in changed.items():
        now = after[path]
        if now is None:
            continue
        source = told.get(path, "")
        if source in gone and is_moved(gone[source], now, told=True):
            found[path] = source
        elif before is None and not now.is_folder:
            source = next((other for other, look in gone.items() if is_moved(look, now, told=False)), "")
            if source:
                found[path] = source
    return found


def _renamed(call: RunningCall) -> Iterator[Touch]:
    return (touch for touch in call.declared or () if touch.renamed_from)


def _reads(call: RunningCall, changed: dict[str, Look | None], here: Observed) -> Iterator[Touch]:
    for path, action in list(call.looked.items()):
        found = None if path in changed else look_at(path, precisely=False)
        if found is not None and found.is_folder == (action == LIST):
            yield _touch(action, path, here)


def _touch(action: str, path: str, here: Observed) -> Touch:
    return Touch(action, place(path, here), evidence=FileEvidence.OBSERVED)


def _tell(other: RunningCall, ended: RunningCall, changed: dict[str, Look | None]) -> None:
    """What an ended call did is no longer news for those that still run; only for one that contains it, if declared."""
    for path in changed:
        look = look_at(path)
        if other.below is not None:
            if look is None:
                other.below.pop(path, None)
            else:
                other.below[path] = look
        if path in other.before and path not in other.seen and not ended.is_within(other):
            other.before[path] = look


def _resolve(path: str, cwd: str) -> str:
    if path.startswith("~"):
        path = os.path.expanduser(path)  # noqa: PTH111
    return os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        # The folder was removed under us.
        return ""
