"""One statement of somebody else's, run so that it can only read what the connection already holds.

No files, no network, no settings, no writes, bounded in time and rows. This is a fence for the user's own prompt; SQL from
a stranger also needs a child process with resource limits, because one scalar call can ignore both memory limit and interrupt.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from turnlog.errors import StatementRefused
from turnlog.store.reading import Reading

SECONDS = 30.0
ROWS = 1000
_LOCKS = (
    "set enable_external_access = false",
    "set max_temp_directory_size = '0B'",
    "set lock_configuration = true",
)
_READS = {"SELECT", "EXPLAIN"}
_ACCEPTED = "Write one SELECT (or FROM, WITH, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)"
_OUTSIDE = 'For more, open the file itself: duckdb -readonly "$(turnlog path database)"'


class Answer(NamedTuple):
    """What a statement gave. `more` is true when the row cap left rows behind."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    more: bool


def lock_down(db: Reading, archive: Path | None = None) -> None:
    """Take files, extensions and settings away from a connection, for good. What it has attached stays readable, and so
    do the files of archived sessions: `from archived('spans')`."""
    if archive is not None:
        folder = str(archive).replace("'", "''")
        db.execute(f"set allowed_directories = ['{folder}']")
        db.execute(
            "create or replace temp macro archived(file) as table "  # noqa: S608 - our own folder
            f"select * from read_parquet(concat('{folder}/*/', file, '.parquet'), union_by_name = true)"
        )
    for lock in _LOCKS:
        db.execute(lock)


def answer(db: Reading, statement: str, *, rows: int | None = ROWS, seconds: float = SECONDS) -> Answer:
    """Run exactly one reading statement on a locked-down connection; at most so many rows (None: all) and seconds."""
    parsed = _only_statement(db, statement)
    db.define(statement)
    # A thread, because DuckDB holds back Ctrl-C for as long as the statement runs; an event, because a `join` that Ctrl-C
    # breaks off takes the thread for ended.
    attempt = _Attempt()
    threading.Thread(target=attempt.run, args=(db, parsed, rows), name="turnlog-sql", daemon=True).start()
    try:
        in_time = attempt.done.wait(seconds)
    except KeyboardInterrupt:
        _stop(db, attempt)
        raise
    if not in_time:
        _stop(db, attempt)
        raise StatementRefused(
            f"the statement ran for {seconds:g} s and was stopped. "
            "Narrow it (a session, a turn, a limit) or give it longer: turnlog sql --timeout SECONDS"
        )
    if isinstance(attempt.result, duckdb.CatalogException) and db.define():
        # With everything there, DuckDB says which name was meant.
        return answer(db, statement, rows=rows, seconds=seconds)
    if isinstance(attempt.result, BaseException):
        raise _refusal(attempt.result) from attempt.result
    return attempt.result


def _stop(db: Reading, attempt: _Attempt) -> None:
    db.interrupt()
    attempt.done.wait()


def _only_statement(db: Reading, text: str) -> duckdb.Statement:
    try:
        statements: list[duckdb.Statement] = db.extract_statements(text)
    except duckdb.Error as error:
        raise _refusal(error) from error
    if len(statements) != 1:
        raise StatementRefused(f"one statement at a time: this text holds {len(statements)}. {_ACCEPTED}")
    (statement,) = statements
    kind = _kind(statement)
    if kind not in _READS:
        raise StatementRefused(f"turnlog sql only reads, and this is {kind}. {_ACCEPTED}. {_OUTSIDE}")
    return statement


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:
        # The Python client has no name for the newest types, CONNECT among them.
        return "of another kind"


class _Attempt:
    """One run of a statement, in a thread of its own."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.result: Answer | BaseException = Answer([], [], False)

    def run(self, db: Reading, statement: duckdb.Statement, rows: int | None) -> None:
        try:
            # A CTE with INSERT parses as SELECT and would run; a read-only transaction refuses it.
            db.execute("begin transaction read only")
            try:
                db.execute(statement)
                columns = [str(column[0]) for column in db.description or ()]
                fetched = db.fetchall() if rows is None else db.fetchmany(rows + 1)
                self.result = Answer(columns, fetched[:rows], rows is not None and len(fetched) > rows)
            finally:
                db.execute("rollback")
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            self.result = error
        finally:
            self.done.set()


def _refusal(error: BaseException) -> BaseException:
    if not isinstance(error, duckdb.Error):
        return error
    said = _one_line(str(error))
    if isinstance(error, duckdb.PermissionException):
        return StatementRefused(f"no files, extensions or secrets from here: {said}. {_OUTSIDE}")
    if isinstance(error, duckdb.TransactionException):
        return StatementRefused(f"turnlog sql only reads: {said}. {_OUTSIDE}")
    return StatementRefused(said)


def _one_line(message: str) -> str:
    """DuckDB's message without the quoted statement and its caret, which need several lines."""
    lines = message.split("\nLINE ", 1)[0].splitlines()
    return " ".join(line.strip() for line in lines if line.strip()).rstrip(".")
