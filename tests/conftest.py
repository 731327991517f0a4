"""Fixtures that every test may use: a directory of its own, and the tracing side put together in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recording import Recording
from turnlog.settings import Settings


@pytest.fixture(autouse=True)
def _nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_DIR", str(tmp_path / "turnlog"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(directory=tmp_path / "turnlog")


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
