"""`turnlog.resume(session)`: what a session knew, as a typed value, and this process as the one that goes on with it.

Plain, the rest of the process belongs to the session, as TURNLOG_SESSION would have it; as a `with` block, what is inside.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Self

from turnlog import identity, lease, lifecycle, queries, runtime, transitions
from turnlog.journal.holding import Lease
from turnlog.queries import SessionState
from turnlog.resume_brief import BUDGET, resume_brief
from turnlog.semconv import LifecycleState

_WAITING = ("paused", "closed")


class Resumed(SessionState):
    """The state of a session that this process goes on with."""

    _lease: Lease | None = None
    _before: str | None = None
    _block: AbstractContextManager[str] | None = None

    def brief(self, tokens: int = BUDGET) -> str:
        """What a model has to be told that knows nothing of the session, in at most so many tokens."""
        return resume_brief(self, tokens)

    def __enter__(self) -> Self:
        self._leave_process()
        self._block = identity.session(self.session_id)
        self._block.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        block, self._block = self._block, None
        if block is not None:
            block.__exit__(None, None, None)
        if self._lease is not None:
            self._lease.release()

    def _join_process(self, active: runtime.Runtime) -> None:
        self._before = active.sessions.go_on_with(self.session_id + active.settings.replay_suffix)

    def _leave_process(self) -> None:
        active = runtime.start()
        if active is not None and self._before is not None:
            active.sessions.go_on_with(self._before)
            self._before = None


def resume(session: str, *, take_over: bool = False, new: bool = False) -> Resumed:
    """Go on with a session, named by its whole id: the next input is its next turn. Starts recording where `init()` has not.

    Raises NotFound, and SessionLeased while another process writes the session, unless that is to be taken over: what the other
    does in it afterwards no longer counts. `new` begins a session of its own that says which one it continues, and leaves that
    one as it is.
    """
    runtime.init()
    active = runtime.start()
    settings = runtime.settings_in_use()
    with queries.reading(settings) as db:
        known = queries.session_of(db, queries.find_exact(db, str(session)))
    taken = None
    # A replay leaves what it replays as it is.
    goes_on = active is not None and not new and not active.settings.replay
    if not new and known.status == LifecycleState.ARCHIVED:
        transitions.refuse_illegal(known.session_id, LifecycleState.ARCHIVED, LifecycleState.RESUMED)
    if active is not None and goes_on:
        taken = lease.claim(settings, known.session_id, process_id=active.journal.process.id, take_over=take_over)
    try:
        with queries.reading(settings) as db:
            # As it was found: the claim itself has made it look alive.
            state = Resumed(*queries.session_state(db, known.session_id))._replace(status=known.status)
            tip = queries.tip(db, known.session_id)
        if new:
            state = state._replace(session_id=identity.make_id(), previous_session=known.session_id)
        if active is None:
            return state
        if new:
            active.processor.follow(state.session_id + active.settings.replay_suffix, known.session_id)
        if goes_on:
            active.processor.resume(state.session_id, *tip)
            if state.status in _WAITING:
                # Another process may have said so, and the store knows.
                transitions.entered(state.session_id, state.status)
                lifecycle.Session(state.session_id).resume()
        state._join_process(active)
    except BaseException:
        if taken is not None:
            taken.release()
        raise
    state._lease = taken
    return state
