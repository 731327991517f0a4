"""The parts of the stack where they are built; without them, the tests of this folder are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stack import build
from stack.sessions import Stack, played


@pytest.fixture(scope="session")
def otelcol() -> Path:
    return _built("otelcol")


@pytest.fixture(scope="session")
def jaeger() -> Path:
    return _built("jaeger")


@pytest.fixture(scope="session")
def stack(otelcol: Path, jaeger: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with played(otelcol, jaeger, tmp_path_factory.mktemp("stack")) as made:
        yield made


def _built(name: str) -> Path:
    try:
        return build.binary(name)
    except build.Missing as missing:
        pytest.skip(str(missing))
