"""`with turnlog.session(...) as s`: the session's id, and a handle on its lifecycle: `s.pause(why)`, `s.resume()`, `s.close()`.

Each is a commit. What may not follow is refused with IllegalTransition, the one error that turnlog raises into an application:
it answers the application's own call. Before `turnlog.init()` nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from turnlog import identity, manual, semconv, transitions
from turnlog.content import entry_key
from turnlog.semconv import CommitKind, LifecycleState


class Session(str):
    """A session's id; also a handle on its lifecycle, inside the `with` block and after it."""

    __slots__ = ()

    def pause(self, reason: str = "") -> None:
        """The session waits for somebody: `human_input`, `external_system`, or in your own words."""
        _enter(self, LifecycleState.PAUSED, reason)

    def resume(self) -> None:
        """The session goes on: after a pause, or after it was closed."""
        _enter(self, LifecycleState.RESUMED)

    def close(self) -> None:
        """The session is finished. A turn that begins in it after all makes it active again."""
        _enter(self, LifecycleState.CLOSED)


@contextmanager
def session(id: str | int | None = None) -> Iterator[Session]:
    """Everything inside belongs to this session; without an id, to a new one. Gives the id, as a handle on the lifecycle."""
    with identity.session(id) as name:
        if id is None or id == "":
            # Of one that has a name already, another process may know more.
            transitions.entered(name, LifecycleState.OPEN)
        yield Session(name)


def _enter(session: str, state: LifecycleState, reason: str = "") -> None:
    if transitions.prepare(session, state):
        _record(session, state, reason)
        transitions.entered(session, state)


def _record(session: str, state: LifecycleState, reason: str = "") -> None:
    attributes: dict[str, Any] = {semconv.LIFECYCLE_STATE: state.value}
    if reason:
        attributes[semconv.LIFECYCLE_PAUSE_REASON] = entry_key(str(reason))
    with identity.session(session):
        manual.record(f"session {state}", CommitKind.LIFECYCLE, {}, attributes, session)
