"""The small session that answers are asked about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli.history import record_history
from recording import Recording
from turnlog.settings import Settings


@pytest.fixture
def told(settings: Settings) -> Iterator[Recording]:
    """Two sessions, of one process that still runs: nothing of them is loaded yet."""
    recording = Recording(settings)
    record_history(recording)
    yield recording
    recording.close()
