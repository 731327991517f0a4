"""`turnlog pause`, `unpause`, `close`, `archive`, `pin` and `unpin`: what a person says of a session's lifecycle, as a commit.

Nothing here stops or starts a program: a turn that begins in a paused or closed session makes it active again.
"""

from __future__ import annotations

import argparse

from turnlog import queries
from turnlog.cli.asking import asking
from turnlog.cli.render import Styled, screen
from turnlog.journal.transition import append_alone, transition_row
from turnlog.semconv import LifecycleState
from turnlog.settings import read_settings
from turnlog.transitions import refuse_illegal

_RUNNING = ("active", "idle", "dead")


def pause(options: argparse.Namespace) -> int:
    return _enter(options, LifecycleState.PAUSED)


def unpause(options: argparse.Namespace) -> int:
    return _enter(options, LifecycleState.RESUMED)


def close(options: argparse.Namespace) -> int:
    return _enter(options, LifecycleState.CLOSED)


def archive(options: argparse.Namespace) -> int:
    return _enter(options, LifecycleState.ARCHIVED)


def pin(options: argparse.Namespace) -> int:
    return _pin(options, True)


def unpin(options: argparse.Namespace) -> int:
    return _pin(options, False)


def _enter(options: argparse.Namespace, state: LifecycleState) -> int:
    session = _session(options)
    if session.status == state:
        return _tell(session.session_id, f"is {state} already")
    before = LifecycleState.ACTIVE if session.status in _RUNNING else LifecycleState(session.status)
    refuse_illegal(session.session_id, before, state)
    reason: str = getattr(options, "reason", "")
    append_alone(read_settings(), transition_row(session.session_id, state=state, reason=reason))
    return _tell(session.session_id, f"{session.status} -> {state}")


def _pin(options: argparse.Namespace, pinned: bool) -> int:
    session = _session(options)
    if session.pinned is not pinned:
        append_alone(read_settings(), transition_row(session.session_id, pinned=pinned))
    return _tell(session.session_id, f"is {'' if pinned else 'not '}pinned" + (" already" if session.pinned is pinned else ""))


def _session(options: argparse.Namespace) -> queries.Session:
    with asking() as db:
        return queries.session_of(db, queries.find_session(db, options.session))


def _tell(session: str, what: str) -> int:
    screen().line(Styled(f"session {session}", "dim"), "  ", what)
    return 0
