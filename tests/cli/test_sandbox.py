"""Somebody else's statement can read what is recorded, and nothing else."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from turnlog import queries
from turnlog.errors import StatementRefused
from turnlog.settings import Settings
from turnlog.store import sandbox
from turnlog.store.sandbox import Answer

ENDLESS = "select count(*) from range(1000000) a, range(1000000) b, range(1000) c where (a.range * b.range * c.range) % 7 = 3"


def ask(settings: Settings, statement: str, *, rows: int | None = sandbox.ROWS, seconds: float = sandbox.SECONDS) -> Answer:
    with queries.reading(settings) as db:
        sandbox.lock_down(db)
        return sandbox.answer(db, statement, rows=rows, seconds=seconds)


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("select count(*) from sessions", [(2,)]),
        ("from files_modified('demo', 5) select path", [("parser.py",)]),
        ("with two as (select 2 as n) select n from two;", [(2,)]),
        ("values (1)", [(1,)]),
        ("select column_name from (describe losses)", [("reason",), ("lost",), ("last_at",)]),
        ("describe losses", [("reason", "VARCHAR"), ("lost", "BIGINT"), ("last_at", "TIMESTAMP")]),
        (
            "pivot (from tool_stats where session_id = 'demo') on tool in ('read_file') using sum(calls) group by session_id",
            [("demo", 1)],
        ),
        ("select column_name, min from (summarize select 1 as one)", [("one", "1")]),
    ],
)
def test_what_reads_is_answered(recorded: Settings, statement: str, rows: list[tuple[object, ...]]) -> None:
    assert [row[:2] for row in ask(recorded, statement).rows] == rows


@pytest.mark.parametrize("statement", ["show tables", "explain from sessions", "explain analyze from sessions"])
def test_what_describes_is_answered(recorded: Settings, statement: str) -> None:
    assert ask(recorded, statement).rows


@pytest.mark.parametrize(
    "statement",
    [
        "copy sessions to '{file}'",
        "copy (select 1) to '{file}'",
        "attach '{file}'",
        "attach ':memory:' as other",
        "detach store",
        "install httpfs",
        "load httpfs",
        "set threads = 1",
        "set variable a = 1",
        "reset threads",
        "pragma database_list",
        "pragma enable_profiling",
        "call duckdb_settings()",
        "use memory",
        "insert into raw.losses values (1, 2, 'x', 3)",
        "update raw.sessions set agent = 'x'",
        "delete from raw.spans",
        "truncate raw.spans",
        "drop view sessions",
        "create table t (i int)",
        "create temp table t (i int)",
        "create macro m() as 1",
        "create secret s (type s3)",
        "export database '{file}'",
        "import database '{file}'",
        "checkpoint",
        "vacuum",
        "begin",
        "commit",
        "prepare p as select 1",
        "execute p",
        "connect 'x'",
    ],
)
def test_what_does_anything_else_is_refused_by_its_kind(recorded: Settings, tmp_path: Path, statement: str) -> None:
    with pytest.raises(StatementRefused, match=r"^turnlog sql only reads, and this is .*Write one SELECT .*duckdb -readonly"):
        ask(recorded, statement.format(file=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "from read_csv('/etc/passwd')",
        "from read_text('/etc/passwd')",
        "from read_json('/etc/passwd')",
        "from read_parquet('/etc/passwd')",
        "from glob('/etc/*')",
        "from sniff_csv('/etc/passwd')",
        "from duckdb_secrets()",
    ],
)
def test_what_reads_files_is_refused(recorded: Settings, statement: str) -> None:
    with pytest.raises(StatementRefused, match=r"^no files, extensions or secrets from here: .*duckdb -readonly"):
        ask(recorded, statement)


@pytest.mark.parametrize(
    "statement", ["from '/etc/passwd'", "from '/etc/passwd.csv'", "from statement", "from query('delete from raw.spans')"]
)
def test_a_name_is_never_taken_for_a_file_a_python_variable_or_a_writing_statement(recorded: Settings, statement: str) -> None:
    with pytest.raises(StatementRefused):
        ask(recorded, statement)


@pytest.mark.parametrize(
    "statement",
    [
        "with x as (insert into store.raw.losses values (1, 2, 'x', 3) returning 1) select * from x",
        "explain analyze insert into store.raw.losses values (1, 2, 'x', 3)",
    ],
)
def test_a_write_that_parses_as_a_read_changes_nothing(recorded: Settings, statement: str) -> None:
    with pytest.raises(StatementRefused, match="read-only"):
        ask(recorded, statement)
    assert ask(recorded, "from losses").rows == []


def test_a_write_into_the_unloaded_tail_is_refused_too(unmade: Settings) -> None:
    with pytest.raises(StatementRefused, match=r"^turnlog sql only reads: .*read-only mode.*duckdb -readonly"):
        ask(unmade, "with x as (insert into tail.raw.losses values (1, 2, 'x', 3) returning 1) select * from x")


@pytest.mark.parametrize(
    ("statement", "held"), [("", 0), ("-- nothing", 0), ("select 1; select 2", 2), ("select 1; drop view state", 2)]
)
def test_exactly_one_statement_is_run(recorded: Settings, statement: str, held: int) -> None:
    with pytest.raises(StatementRefused, match=f"^one statement at a time: this text holds {held}. Write one SELECT"):
        ask(recorded, statement)


def test_a_mistake_is_told_in_one_line(recorded: Settings) -> None:
    with pytest.raises(StatementRefused) as refused:
        ask(recorded, "select agnt\nfrom sessions")
    assert str(refused.value) == (
        'Binder Error: Referenced column "agnt" not found in FROM clause! '
        'Candidate bindings: "agent", "last_said_ns", "last_turn_ns", "last_active_at", "last_active_ns"'
    )


def test_rows_beyond_the_cap_are_left_behind_and_said(recorded: Settings) -> None:
    assert ask(recorded, "select * from range(3000000000)", rows=2) == Answer(["range"], [(0,), (1,)], True)
    assert ask(recorded, "from range(2)", rows=2) == Answer(["range"], [(0,), (1,)], False)
    assert len(ask(recorded, "from range(5000)", rows=None).rows) == 5000


def test_a_statement_that_takes_too_long_is_stopped(recorded: Settings) -> None:
    began = time.monotonic()
    with pytest.raises(StatementRefused, match=r"^the statement ran for 0\.3 s and was stopped\. Narrow it"):
        ask(recorded, ENDLESS, seconds=0.3)
    assert time.monotonic() - began < 10


def test_ctrl_c_stops_a_statement(recorded: Settings) -> None:
    began = time.monotonic()
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        ask(recorded, ENDLESS)
    assert time.monotonic() - began < 10
