"""A file that is whole or not there, and for its owner alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from turnlog.errors import TurnlogError


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """A file to write, beside the name that it gets when all went well."""
    if path.is_dir():
        raise TurnlogError(f"{path} is a folder: name a file in it, or let it take Parquet files with --format parquet.")
    if path.exists() and not path.is_file():
        # A pipe or a device cannot be replaced.
        with path.open("wb") as file:
            yield file
        return
    if not path.parent.is_dir():
        raise TurnlogError(f"there is no folder {path.parent} to write {path.name} in")
    unborn = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(unborn, "wb", opener=_for_us_only) as file:
            yield file
        unborn.replace(path)
    finally:
        unborn.unlink(missing_ok=True)


def _for_us_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
