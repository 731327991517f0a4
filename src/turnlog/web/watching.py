"""Whether something was written since a page looked last."""

from __future__ import annotations

import time

from starlette.concurrency import run_in_threadpool

from turnlog.settings import Settings
from turnlog.watching import State, look


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
            self._state = await run_in_threadpool(look, self._settings)
        return self._state
