"""Another machine to go to."""

from __future__ import annotations

import shutil

import pytest

from bundling.stores import beside
from turnlog.settings import Settings


@pytest.fixture
def other(settings: Settings) -> Settings:
    """Another machine."""
    elsewhere = beside(settings)
    shutil.copytree(settings.directory, elsewhere.directory)
    return elsewhere
