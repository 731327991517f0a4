"""What every question shares: a connection to ask with, and rows of the view's own columns."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from turnlog.errors import LongTail, SchemaTooOld, StoreLocked, StoreNotWritable
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import LoadReport, load
from turnlog.store.reading import Reading

Row = TypeVar("Row", bound=tuple[Any, ...])
Database = Reading
_PLAIN_NAME = re.compile(r"[\w.:@/+~-]{1,120}")


@contextmanager
def reading(settings: Settings, progress: Callable[[LoadReport], None] | None = None) -> Iterator[Database]:
    """A connection for questions. Much unloaded data, and what dead processes left, is loaded first; a little is overlaid.

    A store that cannot be written now (busy, or in a read-only directory) is read as it is.
    """
    store = Store(settings)
    with contextlib.ExitStack() as stack:
        try:
            db = stack.enter_context(store.reading(long_tail=False))
        except (LongTail, SchemaTooOld):
            with contextlib.suppress(StoreLocked, StoreNotWritable):
                load(settings, settings.patience, progress)
            db = stack.enter_context(store.reading())
        yield db


def rows(db: Database, kind: Callable[..., Row], query: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Row]:
    """The named columns of a `from …` query, as rows of that kind."""
    columns = ", ".join(f'"{name}"' for name in kind._fields)  # type: ignore[attr-defined]
    return [kind(*row) for row in db.execute(f"select {columns} {query}", values or None).fetchall()]


def some(names: list[str], most: int = 3) -> str:
    """Names that were stored, in a message of ours: whoever stored a whole sentence as one does not speak in it."""
    return listed([name if _PLAIN_NAME.fullmatch(name) else _quoted(name[:60]) for name in names], most)


def _quoted(name: str) -> str:
    """As a shell takes it, where a terminal shows it as it is."""
    return shlex.quote(name) if name.isprintable() else repr(name)


def listed(words: list[str], most: int = 3) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")
