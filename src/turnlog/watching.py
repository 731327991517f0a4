"""Whether something was written or a writer died, without reading anything: what the journals and the store weigh, and which
journals somebody still holds.
"""

from __future__ import annotations

from turnlog.journal.reader import is_finished
from turnlog.settings import Settings

State = tuple[tuple[str, int, int, bool], ...]


def look(settings: Settings) -> State:
    """What is equal for as long as nobody writes or dies."""
    found = []
    for path in (settings.database, *settings.journals.glob("*")):
        try:
            stat = path.stat()
        except OSError:
            continue
        # A living process touches its journal now and then.
        is_database = path == settings.database
        # No other file may be opened: the database would lose DuckDB's lock, and a new journal is yet to be locked.
        ended = path.suffix == ".journal" and is_finished(path)
        found.append((path.name, stat.st_size, stat.st_mtime_ns if is_database else 0, ended))
    return tuple(sorted(found))
