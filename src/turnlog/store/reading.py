"""A connection to read with, on which the core's questions are defined when a statement first names them.

Over a store whose own views serve, all of them are there. Over an overlay they are made anew, and binding every one takes
half a second, where an answer takes 20 ms.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import duckdb

from turnlog.store import schema

_CATALOG = re.compile(r"(?i)information_schema|duckdb_|\b(?:show|pragma)\b")
_WORD = re.compile(r"\w+")


class Reading:
    """Behaves as the connection does."""

    def __init__(self, db: duckdb.DuckDBPyConnection, *, defined: bool) -> None:
        self._db = db
        self._missing = set() if defined else {question.name for question in schema.questions()}

    def execute(self, query: str | duckdb.Statement, values: Any = None) -> duckdb.DuckDBPyConnection:
        self.define(query if isinstance(query, str) else query.query)
        return self._db.execute(query, values)

    def define(self, statement: str = "") -> bool:
        """Define what a statement names, with what that is made of; without a statement, everything. Whether there was any."""
        names = set(self._missing)
        if statement and not _CATALOG.search(statement):
            names &= _needed(frozenset(_WORD.findall(statement.lower())))
        if names:
            schema.define(self._db, names)
            self._missing -= names
        return bool(names)

    def whole(self) -> duckdb.DuckDBPyConnection:
        """The connection itself, with every question defined."""
        self.define()
        return self._db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


@functools.lru_cache(256)
def _needed(words: frozenset[str]) -> frozenset[str]:
    made_of = _made_of()
    needed: set[str] = set()
    waiting = [word for word in words if word in made_of]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += made_of[name]
    return frozenset(needed)


@functools.cache
def _made_of() -> dict[str, list[str]]:
    names = {question.name for question in schema.questions()}
    return {
        question.name: [word for word in _WORD.findall(question.text) if word in names and word != question.name]
        for question in schema.questions()
    }
