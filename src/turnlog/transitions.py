"""Which lifecycle state may follow which, and what this process knows of its own sessions' states.

A process knows only what it said itself; across processes SQL decides, by the same table (`may_enter` in the store's adapters;
a test holds the two equal). A turn needs no word: it makes a session active whatever was said before.
"""

from __future__ import annotations

from collections import OrderedDict

from turnlog.errors import IllegalTransition
from turnlog.semconv import LifecycleState

_MOST_SESSIONS = 4096
_OPEN, _ACTIVE, _PAUSED, _RESUMED, _CLOSED, _ARCHIVED = LifecycleState
LEGAL: dict[LifecycleState, tuple[LifecycleState, ...]] = {
    _OPEN: (_ACTIVE, _PAUSED, _CLOSED),
    _ACTIVE: (_PAUSED, _CLOSED),
    _PAUSED: (_ACTIVE, _RESUMED, _CLOSED),
    _RESUMED: (_PAUSED, _CLOSED),
    _CLOSED: (_RESUMED, _ARCHIVED),
    _ARCHIVED: (),
}

# What was said last, and whether a turn began since.
_known: OrderedDict[str, tuple[LifecycleState, bool]] = OrderedDict()


def refuse_illegal(session: str, before: LifecycleState, after: LifecycleState, worked: bool = False) -> None:
    """`worked`: a turn began since the state was entered, so what may follow `active` may follow too."""
    if after in LEGAL[before] or (worked and after in LEGAL[_ACTIVE]):
        return
    now = _ACTIVE if worked else before
    legal = " or ".join(state for state in LEGAL[now] if state is not _ACTIVE)
    raise IllegalTransition(
        f"session {session} is {now} and cannot become {after}. " + (f"Next can be: {legal}." if legal else "This is its end.")
    )


def prepare(session: str, after: LifecycleState) -> bool:
    """Whether saying this state is news; raises IllegalTransition where this process knows that it may not follow."""
    if session not in _known:
        return True
    before, worked = _known[session]
    if before is after and not worked:
        return False
    refuse_illegal(session, before, after, worked)
    return True


def entered(session: str, state: object) -> None:
    """A state was said, by the application or by a framework; or a new session began, which is open."""
    if state in set(LifecycleState):
        _remember(session, LifecycleState(str(state)), worked=False)


def turn_began(session: str) -> None:
    if session in _known:
        _remember(session, _known[session][0], worked=True)


def forget_all() -> None:
    _known.clear()


def _remember(session: str, state: LifecycleState, *, worked: bool) -> None:
    _known[session] = (state, worked)
    while len(_known) > _MOST_SESSIONS:
        _known.popitem(last=False)
