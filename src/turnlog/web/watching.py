"""Whether something was written, as one word that a browser can hold against the last."""

from __future__ import annotations

import hashlib
import time

from starlette.concurrency import run_in_threadpool

from turnlog.settings import Settings
from turnlog.watching import look


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
            files = await run_in_threadpool(look, self._settings)
            self._state = hashlib.sha256(repr(files).encode()).hexdigest()[:16]
        return self._state
