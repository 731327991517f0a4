"""`turnlog.briefing()`: the text with which an application tells its model what it lost, what failed and what is open.

Reads only, and never raises: without a store, a session or anything to tell it is empty.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from turnlog import telling
from turnlog.errors import TurnlogError
from turnlog.settings import read_settings

_log = logging.getLogger("turnlog")
_HEAD = f"Notes on this session, from its record. {telling.IN_QUOTES}"
_LOST = "No longer in your context:"
_FAILED = "Failed, and has not succeeded since:"
_UNFINISHED = "Not finished:"
# So long an application may wait before it can ask its model.
_PATIENCE = 3.0


class _Facts(NamedTuple):
    """Lines to tell, the most useful first."""

    lost: list[str]
    failed: list[str]
    unfinished: list[str]


def briefing(session: str = "", *, limit: int = 4000) -> str:
    """What the model of a session should be told, in at most `limit` characters; empty when there is nothing to tell.

    Without a session: that of the enclosing `with turnlog.session(...)`, else TURNLOG_SESSION, else the newest. Where
    several users share a store, name it.
    """
    try:
        facts = _ask(str(session))
    except TurnlogError as error:
        _log.debug("there is no briefing: %s", error)
        return ""
    except Exception as error:  # noqa: BLE001 - the application comes first
        _log.warning("turnlog could not make a briefing: %s: %s", type(error).__name__, error)
        return ""
    return _compose(facts, limit)


def _ask(session: str) -> _Facts:
    settings = read_settings()
    if settings.disabled or not settings.directory.exists():
        return _Facts([], [], [])
    from turnlog import queries

    if not session:
        from turnlog.identity import current_session

        session = current_session() or settings.session
    with queries.reading(replace(settings, patience=min(settings.patience, _PATIENCE))) as db:
        known = queries.find_session(db, session)
        # A mere beginning of an id could name the session of somebody else.
        if session not in ("", known):
            return _Facts([], [], [])
        lost = queries.out_of_context(db, known)
        failures = queries.unresolved_failures(db, known)
        pending = queries.pending(db, known)
    return _Facts(list(telling.lost(lost)), list(telling.failed(failures)), list(telling.unfinished(pending)))


def _compose(facts: _Facts, limit: int) -> str:
    """What was lost is most, and leaves a quarter each to failures and to open work where they need it."""
    room = limit - len(_HEAD)
    for_failed = min(len(_section(_FAILED, facts.failed, limit)), room // 4)
    for_unfinished = min(len(_section(_UNFINISHED, facts.unfinished, limit)), room // 4)
    lost = _section(_LOST, facts.lost, room - for_failed - for_unfinished)
    failed = _section(_FAILED, facts.failed, room - len(lost) - for_unfinished)
    unfinished = _section(_UNFINISHED, facts.unfinished, room - len(lost) - len(failed))
    return _HEAD + lost + failed + unfinished if lost or failed or unfinished else ""


def _section(title: str, lines: list[str], room: int) -> str:
    """The title and as many lines as fit, with a word on how many do not; empty when not even one fits."""
    sizes = [len(line) + 1 for line in lines]
    room -= len(title) + 1
    if sum(sizes) > room:
        room -= len(f"\n- and {len(lines)} more")
    shown = sum(size <= room for size in accumulate(sizes))
    more = [f"- and {len(lines) - shown} more"] if shown < len(lines) else []
    return "\n" + "\n".join([title, *lines[:shown], *more]) if shown else ""
