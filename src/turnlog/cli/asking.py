"""What every question from the command line shares: a connection for as long as it asks, the session, the turn."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from turnlog import queries
from turnlog.errors import NotFound
from turnlog.queries import Database
from turnlog.settings import ORPHANED_AFTER, Settings, read_settings
from turnlog.store.loader import LoadReport

_WORTH_SAYING = 1.0


@contextmanager
def asking() -> Iterator[Database]:
    """A connection to ask with. Write nothing inside: whoever pages the output would keep loaders waiting."""
    shown = False
    started = time.monotonic()
    settings = read_settings()
    _settle_orphans(settings)

    def progress(report: LoadReport) -> None:
        nonlocal shown
        if sys.stderr.isatty() and time.monotonic() - started > _WORTH_SAYING:
            shown = True
            sys.stderr.write(f"\rloading what was recorded: {report.rows:,} rows")
            sys.stderr.flush()

    try:
        with queries.reading(settings, progress) as db:
            if shown:
                sys.stderr.write("\r\x1b[K")
            yield db
    finally:
        sys.stderr.flush()


def _settle_orphans(settings: Settings) -> None:
    """A receiver that died and was not started again has left spans whose state nobody derived."""
    if any(time.time() - file.stat().st_mtime > ORPHANED_AFTER for file in settings.inbox.glob("*.journal")):
        from turnlog.intake import settle_orphans

        settle_orphans(settings)


def known_turn(db: Database, session: str, turn: int) -> int:
    """The turn, if the session has it; 0 stands for none in particular."""
    newest = queries.last_turn(db, session)
    if turn > newest:
        raise NotFound(f"session {session} has turns 1 to {newest}; there is no turn {turn}.")
    return turn
