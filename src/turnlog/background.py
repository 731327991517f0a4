"""Journals are moved into the store while a process runs."""

from __future__ import annotations

import logging
import os
import threading

from turnlog.journal.reader import journal_bytes
from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings

_log = logging.getLogger("turnlog")
# Measured: loading by 8 MB costs a third of the CPU per span that loading by 1 MB costs.
WORTH_LOADING = 8 * 1024 * 1024


class BackgroundLoader(threading.Thread):
    """Moves journals into the store when enough has gathered. DuckDB is imported here, the first time there is work."""

    def __init__(self, settings: Settings, journal: JournalWriter) -> None:
        super().__init__(name="turnlog-loader", daemon=True)
        self._settings = settings
        self._journal = journal
        self._done = threading.Event()
        self._pid = os.getpid()
        self._loaded = 0

    def run(self) -> None:
        while not self._done.wait(self._settings.load_interval):
            self._journal.show_life()
            self._load()

    def finish(self) -> None:
        """Stop, and load what has gathered. The thread must be over before the interpreter is: DuckDB aborts the process when a
        thread is torn out of it. It stops within one bounded transaction."""
        self._done.set()
        if os.getpid() == self._pid:
            self.join()
            self._load()

    def _load(self) -> None:
        """Nothing small: readers see the unloaded tail anyway, and importing DuckDB costs 150 ms and 35 MB."""
        if journal_bytes(self._settings.journals) - self._loaded < WORTH_LOADING:
            return
        try:
            from turnlog.store.loader import load_once

            load_once(self._settings, patience=0, stop=self._done)
            self._loaded = journal_bytes(self._settings.journals)
        except Exception as error:  # noqa: BLE001 - another process may be loading; what matters is in the journal
            _log.debug("turnlog did not load its journals this time: %s", error)
