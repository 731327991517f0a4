"""`turnlog sql`: one statement, or a prompt."""

from __future__ import annotations

import io
import json
import time

import pytest

from cli.history import Turnlog
from cli.terminal import Terminal
from turnlog.settings import Settings
from turnlog.store.schema import questions


def test_an_answer_is_a_table(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("sql", "select tool, calls, timeouts from tool_stats where session_id = 'demo' order by tool").out == (
        "tool        calls  timeouts\nread_file   1      0\nrun_tests   1      1\nwrite_file  2      0\n"
    )


def test_an_answer_as_json_keeps_types(recorded: Settings, turnlog: Turnlog) -> None:
    statement = (
        "select 1 as n, null as nothing, [1, 2] as list, {'a': 1} as struct, true as yes, timestamp '2026-01-02 03:04:05' as at"
    )
    assert [json.loads(line) for line in turnlog("sql", "--json", statement).out.splitlines()] == [
        {"n": 1, "nothing": None, "list": [1, 2], "struct": {"a": 1}, "yes": True, "at": "2026-01-02T03:04:05Z"}
    ]


def test_times_with_a_zone_are_answered(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("sql", "select now() > timestamptz '2026-01-01' as later, now() as at").out.startswith("later")


def test_an_answer_as_csv_has_a_header(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("sql", "--csv", "select 'a,b' as x, null as y").out == 'x,y\n"a,b",\n'


def test_a_plan_is_printed_as_it_is_drawn(recorded: Settings, turnlog: Turnlog) -> None:
    assert "Seq Scan" in turnlog("sql", "explain from raw.losses").out


def test_rows_left_behind_are_said(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("sql", "-n", "2", "from range(9)") == (
        0,
        "range\n0\n1\n",
        "turnlog: only the first 2 rows of more; -n 0 shows all\n",
    )
    assert len(turnlog("sql", "-n", "0", "from range(2000)").out.splitlines()) == 2001


def test_a_refused_statement_is_one_line_and_exit_1(recorded: Settings, turnlog: Turnlog) -> None:
    code, out, err = turnlog("sql", "drop view sessions")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("turnlog: turnlog sql only reads, and this is DROP.")


def test_the_statement_may_come_from_a_file(recorded: Settings, turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("-- how many?\nselect 2 as n;\n"))
    assert turnlog("sql").out == "n\n2\n"


def test_the_tables_are_listed_with_what_a_row_is(turnlog: Turnlog) -> None:
    lines = turnlog("sql", ".tables").out.splitlines()
    assert [line.partition("  ")[2].strip() for line in lines] == [question.row for question in questions()]
    assert any(line.startswith("turn_numbers ") for line in lines)
    assert any(line.startswith("files_modified(session, last_turns) ") for line in lines)


def test_the_prompt_answers_statement_after_statement(recorded: Settings) -> None:
    with Terminal("sql", settings=recorded, NO_COLOR="1") as terminal:
        terminal.expect("turnlog> ")
        terminal.type("select count(*) as n\n")
        terminal.expect("...> ")
        terminal.type("from sessions;\n")
        terminal.expect("n\r\n2\r\n")
        terminal.type("select 3 as m\n\n")
        terminal.expect("m\r\n3\r\n")
        terminal.type("drop view sessions;\n")
        terminal.expect("only reads, and this is DROP")
        terminal.type(".tables\n")
        terminal.expect("a recorded change of session state")
        terminal.type(".nonsense\n")
        terminal.expect(".nonsense is not known; .help shows what is")
        terminal.expect("turnlog> ")
        terminal.type("select\n")
        terminal.expect("...> ")
        time.sleep(0.3)  # between the prompt and its select() readline takes no notice of a signal
        terminal.type("\x03")
        terminal.expect("turnlog> ")
        terminal.type(".quit\n")
        assert terminal.wait() == 0
