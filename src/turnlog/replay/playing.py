"""Putting the boundaries in place: to record what a replay needs, or to replay a session, or both."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from functools import partial

from turnlog import queries
from turnlog.content import ContentPolicy
from turnlog.errors import TurnlogError
from turnlog.instrument import core
from turnlog.instrument.calls import scope_of
from turnlog.instrument.core import Framework, Instrumentation
from turnlog.queries.replaying import MODEL, TOOL, recorded_calls
from turnlog.replay import boundary
from turnlog.replay.boundary import Replay
from turnlog.replay.place import hide_traceback
from turnlog.replay.tape import Tape
from turnlog.replay.tool_frameworks import TOOLS
from turnlog.replay.wire import HTTPX
from turnlog.replay.words import StoreWords
from turnlog.settings import Settings

_MOST_LISTED = 10
_parts: list[Instrumentation] = []
_undo: list[Callable[[], None]] = []


def start(settings: Settings, policy: ContentPolicy) -> None:
    """Record what a replay needs; and if the settings name a session, replay it. Raises TurnlogError when that cannot be."""
    if _parts:
        return
    replay = _load(settings, policy) if settings.replay else None
    boundary.begin(policy, replay)
    if replay is not None:
        core.unhooked = partial(_refuse, replay)
    _parts.extend(Instrumentation(framework) for framework in (*HTTPX, *TOOLS))
    for part in _parts:
        part.apply()
    if replay is not None:
        atexit.register(_report_rest, replay)
        _undo.append(hide_traceback())


def stop() -> None:
    """Take the boundaries out."""
    while _parts:
        _parts.pop().undo()
    while _undo:
        _undo.pop()()
    core.unhooked = core.pass_over
    boundary.end()
    atexit.unregister(_report_rest)


def kinds_of(settings: Settings) -> frozenset[str]:
    """What is given back: the side that is not live."""
    return frozenset({MODEL, TOOL} - set(settings.replay_live))


def _load(settings: Settings, policy: ContentPolicy) -> Replay:
    with queries.reading(settings) as db:
        calls = recorded_calls(db, settings.replay, settings.replay_from)
    if not calls and not settings.replay_from:
        raise TurnlogError(f"nothing is recorded of session {settings.replay}")
    tape = Tape(settings.replay, calls, kinds_of(settings))
    return Replay(tape, StoreWords(settings, policy, settings.replay), goes_on=settings.replay_from > 0)


def _refuse(replay: Replay, framework: Framework, why: str, late: bool) -> None:
    """Calls of a framework that are given back would be made where its hooks are missing. Others never were in the record."""
    own = {scope_of(framework.name), *framework.scopes}
    found = replay.tape.scopes
    if not (found.get(MODEL) if framework in HTTPX else any(own & scopes for scopes in found.values())):
        return
    said = f"what came through {framework.title} cannot be given back: {why}"
    if late:
        replay.stop(said)
    raise TurnlogError(said)


def _report_rest(replay: Replay) -> None:
    left = replay.tape.left()
    if replay.diverged or not left:
        return
    some = [f"  turn {call.turn}: {call.title}" for call in left[:_MOST_LISTED]]
    more = [f"  … and {len(left) - _MOST_LISTED} more"] if len(left) > _MOST_LISTED else []
    calls = "call of {} was" if len(left) == 1 else "calls of {} were"
    head = f"turnlog: the program ended, and {len(left)} recorded {calls.format(replay.tape.session)} never asked for:"
    sys.stderr.write("\n".join([head, *some, *more]) + "\n")
