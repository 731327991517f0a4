"""Files that are whole or not there: written beside the name that they get at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when all went well."""
    unborn = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield unborn
        unborn.chmod(0o600)
        unborn.replace(path)
    finally:
        unborn.unlink(missing_ok=True)


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    if path.exists() and not path.is_file():
        # A pipe or a device cannot be replaced.
        with path.open("wb") as file:
            yield file
        return
    with replaced(path) as unborn, open(unborn, "wb", opener=_for_us_only) as file:
        yield file


def _for_us_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
