"""What every question from the command line shares: a connection for as long as it asks, the session, the turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog import queries
from turnlog.cli.render import progress
from turnlog.errors import NotFound
from turnlog.queries import Database
from turnlog.queries.asking import some
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

    def tell(report: LoadReport) -> None:
        nonlocal shown
        if time.monotonic() - started > _WORTH_SAYING:
            shown = True
            progress(f"loading what was recorded: {report.rows:,} rows")

    try:
        with queries.reading(settings, tell) as db:
            if shown:
                progress("")
                shown = False
            yield db
    finally:
        if shown:
            progress("")


def _settle_orphans(settings: Settings) -> None:
    """A receiver that died and was not started again has left spans whose state nobody derived."""
    if any(_age(file) > ORPHANED_AFTER for file in settings.inbox.glob("*.journal")):
        from turnlog.intake import settle_orphans

        settle_orphans(settings)


def _age(file: Path) -> float:
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        # The receiver has removed it since it was listed.
        return 0.0


def unmatched(db: Database, session: str, tool: str | None) -> str:
    """What to say when no commit is what was asked for: it may be for a tool that the session never called."""
    near = queries.nearest_tools(db, session, tool) if tool else []
    if not near or tool in near:
        return "no commit matches"
    return f"no commit matches: the session has no tool {tool!r}. Nearest: {some(near)}"


def known_turn(db: Database, session: str, turn: int) -> int:
    """The turn, if the session has it; 0 stands for none in particular."""
    newest = queries.last_turn(db, session)
    if turn > newest:
        raise NotFound(f"session {session} has turns 1 to {newest}; there is no turn {turn}.")
    return turn
