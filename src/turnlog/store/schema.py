"""Tables by numbered migrations, views and macros from their `.sql` files."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Collection
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

import duckdb

from turnlog.errors import SchemaTooNew

_SQL = files("turnlog.store") / "sql"
# A line may also end with the type of a cast.
_ALIAS = re.compile(r"^ +\S.* as (?!bigint)(\w+),?$", re.MULTILINE)
_HEADER = re.compile(r"^-- (view|macro): (\w+)(\(.*\))?$", re.MULTILINE)


class Question(NamedTuple):
    """A view or table macro of the core: its name, what one row of it is, and its text."""

    name: str
    kind: str
    parameters: str
    row: str
    text: str

    @property
    def columns(self) -> list[str]:
        """Its columns, in order: the aliases of the outermost select."""
        outermost = self.text.rpartition("\nselect\n")[2] if not self.text.startswith("select\n") else self.text
        return _ALIAS.findall(outermost.partition("\nfrom ")[0])


def sql(name: str) -> str:
    return (_SQL / "duckdb" / name).read_text(encoding="utf-8")


@functools.cache
def questions() -> tuple[Question, ...]:
    found = []
    for file in sorted((_SQL / "core").iterdir(), key=lambda file: file.name):
        text = file.read_text(encoding="utf-8")
        header = _HEADER.search(text)
        if header is None:
            raise ValueError(f"{file.name} does not say which view or macro it defines")
        row = text.partition("\n")[0].removeprefix("-- one row: ")
        found.append(Question(header[2], header[1], header[3] or "", row, text[header.end() :].strip()))
    return tuple(found)


def create_questions(db: duckdb.DuckDBPyConnection) -> None:
    """Define adapters, views and macros in the connection's current catalog."""
    create_adapters(db)
    define(db, {question.name for question in questions()})


def create_adapters(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(sql("adapters.sql"))


def define(db: duckdb.DuckDBPyConnection, names: Collection[str]) -> None:
    """Define some of the core's questions; what they are made of must be among them or there already."""
    for question in questions():
        if question.name not in names:
            continue
        if question.kind == "view":
            db.execute(f"create or replace view {question.name} as {question.text}")
        else:
            db.execute(f"create or replace macro {question.name}{question.parameters} as table {question.text}")


def migrate(db: duckdb.DuckDBPyConnection) -> None:
    """Bring the connection's current catalog to this version's schema and views, in one transaction."""
    found = version(db)
    if found == newest_version() and has_current_views(db):
        return
    db.execute("begin")
    try:
        db.execute("create table if not exists turnlog_meta (name varchar, value varchar)")
        create_tables(db, found)
        create_questions(db)
        db.execute("delete from turnlog_meta")
        db.execute("insert into turnlog_meta values ('schema', ?), ('views', ?)", [str(newest_version()), views_fingerprint()])
        db.execute("commit")
    except BaseException:
        db.execute("rollback")
        raise


def create_tables(db: duckdb.DuckDBPyConnection, after: int = 0) -> None:
    for step in _steps()[after:]:
        db.execute(step.read_text(encoding="utf-8"))


def version(db: duckdb.DuckDBPyConnection) -> int:
    """The schema of the connection's current catalog; 0 for an empty one. Refuses one that is newer than this code."""
    found = int(_meta(db, "schema") or 0)
    if found > newest_version():
        raise SchemaTooNew(
            f"this store has schema {found}, written by a newer turnlog; this one knows {newest_version()}. "
            "Upgrade: pip install -U turnlog"
        )
    return found


def newest_version() -> int:
    return int(_steps()[-1].name[:4])


def has_current_views(db: duckdb.DuckDBPyConnection) -> bool:
    return _meta(db, "views") == views_fingerprint()


@functools.cache
def views_fingerprint() -> str:
    text = sql("adapters.sql") + "".join(question.text for question in questions())
    return hashlib.sha256(text.encode()).hexdigest()


def _meta(db: duckdb.DuckDBPyConnection, name: str) -> str:
    try:
        rows = db.execute("select value from turnlog_meta where name = ?", [name]).fetchall()
    except duckdb.CatalogException:
        return ""
    return str(rows[0][0]) if rows else ""


def _steps() -> list[Traversable]:
    return sorted((_SQL / "duckdb" / "migrations").iterdir(), key=lambda file: file.name)
