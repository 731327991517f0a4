"""A small recorded history, and the command line called on it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.history import Printed, Turnlog, record_history
from recording import Recording
from turnlog.cli import main
from turnlog.settings import Settings
from turnlog.store.loader import load


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def turnlog(capsys: pytest.CaptureFixture[str]) -> Turnlog:
    """Call the command line in this process."""

    def call(*words: str) -> Printed:
        capsys.readouterr()
        try:
            code = main(words)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return Printed(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def _history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = Settings(directory=tmp_path_factory.mktemp("history"))
    recording = Recording(settings)
    record_history(recording)
    recording.journal.close()
    recording.close()
    load(settings, patience=1)
    return settings.directory


@pytest.fixture
def recorded(_history: Path, settings: Settings) -> Settings:
    """A store with the history of `record_history`, wholly loaded."""
    shutil.copytree(_history, settings.directory, dirs_exist_ok=True)
    return settings
