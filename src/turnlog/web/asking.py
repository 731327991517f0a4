"""What a page asks with: the query of its address, and a connection that is closed before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType

from turnlog import queries
from turnlog.errors import NotFound
from turnlog.queries import Database
from turnlog.settings import Settings


class Ask:
    """The store is opened when something is first asked of it: a page about a broken store needs none."""

    def __init__(self, settings: Settings, given: Mapping[str, str], given_up: Callable[[], bool] = lambda: False) -> None:
        """`given_up`: whether nobody waits for the page any more."""
        self.settings = settings
        self.given_up = given_up
        self._given = given
        self._open = ExitStack()
        self._db: Database | None = None

    def __enter__(self) -> Ask:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    @property
    def db(self) -> Database:
        if self._db is None:
            self._db = self._open.enter_context(queries.reading(self.settings))
        return self._db

    def text(self, name: str) -> str:
        return self._given.get(name, "")

    def number(self, name: str, otherwise: int = 0) -> int:
        value = self.text(name)
        if not value:
            return otherwise
        if not value.isdecimal() or len(value) > 9:
            raise NotFound(f"{name} is no number: {value[:40]!r}.")
        return int(value)

    def turn(self, session: str, newest: int) -> int:
        """The turn that the address names; 0 without one."""
        turn = self.number("turn")
        if turn > newest:
            raise NotFound(f"session {session} has turns 1 to {newest}; there is no turn {turn}.")
        return turn

    def session(self, name: str = "session") -> str:
        return queries.find_session(self.db, self.text(name))
