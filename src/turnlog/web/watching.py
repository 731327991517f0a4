"""Whether something was written, without opening anything: what the journals and the store weigh."""

from __future__ import annotations

import hashlib
import time

from starlette.concurrency import run_in_threadpool

from turnlog.settings import Settings


class Watch:
    """However many pages are open, the folder is looked at once in a while."""

    every = 0.5

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._state = ""
        self._looked = 0.0

    async def state(self) -> str:
        """The same as before as long as nothing was written."""
        if time.monotonic() - self._looked >= self.every / 2:
            self._looked = time.monotonic()
            self._state = await run_in_threadpool(self._look)
        return self._state

    def _look(self) -> str:
        found = []
        for path in (self._settings.database, *self._settings.journals.glob("*")):
            try:
                stat = path.stat()
            except OSError:
                continue
            # A living process touches its journal now and then.
            found.append((path.name, stat.st_size, stat.st_mtime_ns if path == self._settings.database else 0))
        return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()[:16]
