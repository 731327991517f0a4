"""A folder to work in, and turnlog's own tools recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from observe.observing import MakeObserved
from recording import Recording
from turnlog.observe import hook
from turnlog.operation import use_provider


@pytest.fixture(autouse=True)
def nothing_runs() -> None:
    """Tests elsewhere start tool calls that never end."""
    hook.forget()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def make_observed(folder: Path, make_recording: Callable[..., Recording]) -> Iterator[MakeObserved]:
    def make(**settings: Any) -> Recording:
        recording = make_recording(**settings)
        use_provider(recording.provider)
        return recording

    yield make
    use_provider(None)


@pytest.fixture
def observed(make_observed: MakeObserved) -> Recording:
    return make_observed()
