"""Whether something was written, without opening anything: what the journals and the store weigh."""

from __future__ import annotations

import time

from starlette.concurrency import run_in_threadpool

from turnlog.settings import Settings

State = tuple[tuple[str, int, int], ...]


class Watch:
    """However many pages are open, the folder is looked at once in a while."""

    every = 0.5

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._state: State = ()
        self._looked = 0.0

    async def state(self) -> State:
        if time.monotonic() - self._looked >= self.every / 2:
            self._looked = time.monotonic()
            self._state = await run_in_threadpool(self._look)
        return self._state

    def _look(self) -> State:
        found = []
        for path in (self._settings.database, *self._settings.journals.glob("*")):
            try:
                stat = path.stat()
            except OSError:
                continue
            # A living process touches its journal now and then.
            found.append((path.name, stat.st_size, stat.st_mtime_ns if path == self._settings.database else 0))
        return tuple(sorted(found))
