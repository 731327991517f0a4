"""What `turnlog run --replay` checks and says before the program starts, and what it tells the program's process."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from turnlog.cli.render import complain
from turnlog.errors import NotFound, TurnlogError
from turnlog.settings import LIVE, REPLAY_MARK, Settings, read_settings

_MOST_LISTED = 3


def replay_environment(options: argparse.Namespace) -> dict[str, str]:
    """The variables that make the program a replay. Raises TurnlogError when the session cannot be replayed."""
    settings = read_settings()
    if settings.disabled:
        raise TurnlogError("turnlog is disabled, so that nothing can be replayed: unset TURNLOG_DISABLED and OTEL_SDK_DISABLED")
    if options.dir:
        settings = replace(settings, directory=Path(options.dir).expanduser().absolute())
    live = [side for side in LIVE if getattr(options, side)]
    session = _checked(settings, options.replay, options.from_turn, {kind for side, kind in LIVE.items() if side not in live})
    name = (options.session or session).partition(REPLAY_MARK)[0]
    found = {
        "TURNLOG_REPLAY": session,
        "TURNLOG_REPLAY_LIVE": ",".join(live),
        "TURNLOG_SESSION": f"{name}{REPLAY_MARK}{os.urandom(3).hex()}",
        "TURNLOG_CAPTURE": "full",
    }
    if options.from_turn:
        found["TURNLOG_REPLAY_FROM_TURN"] = str(options.from_turn)
    return found


def _checked(settings: Settings, prefix: str, from_turn: int, kinds: set[str]) -> str:
    from turnlog import queries
    from turnlog.queries.replaying import recorded_calls, unplayable

    with queries.reading(settings) as db:
        session = queries.find_session(db, prefix)
        newest = queries.last_turn(db, session)
        calls = recorded_calls(db, session, from_turn)
    if from_turn > newest + 1:
        raise NotFound(f"session {session} has turns 1 to {newest}; a replay cannot go live in turn {from_turn}.")
    missing = unplayable(calls, kinds)
    if missing:
        listed = "; ".join(f"turn {call.turn}, {call.title} ({why})" for call, why in missing[:_MOST_LISTED])
        more = f"; and {len(missing) - _MOST_LISTED} more" if len(missing) > _MOST_LISTED else ""
        raise TurnlogError(
            f"session {session} cannot be replayed without what came back from {len(missing)} of its calls: {listed}{more}. "
            "Record it again with TURNLOG_CAPTURE=full, which keeps what a replay needs."
        )
    if recovered := sum(call.is_recovered for call in calls if call.call_kind in kinds):
        complain(
            f"{recovered} tool call(s) of {session} are known from the messages only: the program runs these itself. "
            "@turnlog.tool makes a function one that a replay can stand in for."
        )
    return session
