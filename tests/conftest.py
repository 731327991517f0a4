"""Fixtures that every test may use: a directory of its own, and the tracing side put together in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recording import Recording
from turnlog.settings import Settings
from turnlog.store.loader import load


@pytest.fixture(autouse=True)
def _nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_DIR", str(tmp_path / "turnlog"))


@pytest.fixture
def unmade(tmp_path: Path) -> Settings:
    """Where no store is yet."""
    return Settings(directory=tmp_path / "turnlog")


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = Settings(directory=tmp_path_factory.mktemp("made"))
    load(settings, patience=1)
    return settings.directory


@pytest.fixture
def settings(_made: Path, unmade: Settings) -> Settings:
    """A store that holds nothing yet: its views are made, which takes longer than most of what is asked of them."""
    shutil.copytree(_made, unmade.directory)
    return unmade


@pytest.fixture
def made_here(_made: Path, tmp_path: Path) -> None:
    """The test's folder is such a store itself."""
    shutil.copytree(_made, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def make_recording(settings: Settings) -> Iterator[Callable[..., Recording]]:
    """Build a Recording, with other settings than the default where they are named."""
    made: list[Recording] = []

    def make(**changes: Any) -> Recording:
        made.append(Recording(replace(settings, **changes)))
        return made[-1]

    yield make
    for recording in made:
        recording.close()


@pytest.fixture
def recording(make_recording: Callable[..., Recording]) -> Recording:
    return make_recording()
