"""Programs are recorded into a store whose views are made."""

from __future__ import annotations

import pytest

from turnlog.settings import Settings


@pytest.fixture(autouse=True)
def _made_store(settings: Settings) -> None:
    pass
