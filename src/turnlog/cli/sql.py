"""`turnlog sql`: one statement, or a prompt. Each statement opens the store anew, so that nobody keeps the file."""

from __future__ import annotations

import argparse
import contextlib
import csv
import sys
from datetime import datetime
from typing import Any

from turnlog.cli.asking import asking
from turnlog.cli.render import Screen, Styled, complain, count, inert, screen, to_json
from turnlog.errors import TurnlogError, is_interrupt
from turnlog.settings import read_settings
from turnlog.store import sandbox, schema
from turnlog.store.sandbox import Answer

_HELP = """\
Type one reading statement and end it with ; or an empty line.
.tables  what there is to ask, and what one row of it is
.help    this text
.quit    leave (also Ctrl-D)"""


def sql(options: argparse.Namespace) -> int:
    if options.statement is None and sys.stdin.isatty():
        return _prompt(options)
    statement = _read() if options.statement is None else options.statement
    if statement.strip() in (".tables", ".help"):
        _answer_dot(screen(), statement.strip())
    else:
        _write(screen(), _ask(statement, options), options)
    return 0


def _read() -> str:
    try:
        statement = sys.stdin.read()
        statement.encode()
    except UnicodeError:
        raise TurnlogError("the statement is not UTF-8.") from None
    return statement


def _ask(statement: str, options: argparse.Namespace) -> Answer:
    with asking() as db:
        sandbox.lock_down(db, read_settings().archive)
        return sandbox.answer(db, statement, rows=options.limit or None, seconds=options.timeout)


def _write(out: Screen, answer: Answer, options: argparse.Namespace) -> None:
    if options.json:
        for row in answer.rows:
            out.json(dict(zip(answer.columns, row, strict=True)))
    elif options.csv:
        _write_csv(out, answer)
    elif answer.columns and answer.columns[0] == "explain_key":
        for row in answer.rows:
            out.block(str(row[1]), indent="")
    else:
        rows = [[_cell(value) for value in row] for row in answer.rows]
        if hidden := out.table(rows, answer.columns, drop=answer.columns[:0:-1]):
            out.line(Styled(f"and {count(len(hidden), 'more column')}: --json has them all", "dim"))
    if answer.more:
        complain(f"only the first {count(len(answer.rows), 'row')} of more; -n 0 shows all")


def _write_csv(out: Screen, answer: Answer) -> None:
    rows = [[_cell(value) for value in row] for row in answer.rows]
    if out.stream.isatty():
        rows = [[inert(cell) for cell in row] for row in rows]
    csv.writer(out.stream, lineterminator="\n").writerows([answer.columns, *rows])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return to_json(value) if isinstance(value, list | dict | bool) else str(value)


def _prompt(options: argparse.Namespace) -> int:
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - importing it gives input() its editing keys
    out = screen()
    out.line("read-only; .help for help, .quit to leave")
    lines: list[str] = []
    while True:
        try:
            line = input("   ...> " if lines else "turnlog> ")
            if not lines and line.strip() == ".quit":
                return 0
            if not lines and line.startswith("."):
                _answer_dot(out, line.strip())
                continue
            lines += [line] if line.strip() else []
            if lines and (not line.strip() or line.rstrip().endswith(";")):
                statement, lines = "\n".join(lines), []
                _write(out, _ask(statement, options), options)
        except EOFError:
            out.line()
            return 0
        except (KeyboardInterrupt, RuntimeError) as error:
            if not is_interrupt(error):
                raise
            lines = []
            out.line()
        except TurnlogError as error:
            complain(str(error))


def _answer_dot(out: Screen, word: str) -> None:
    if word == ".tables":
        out.table(
            [(f"{question.name}{question.parameters.replace('p_', '')}", question.row) for question in schema.questions()]
        )
    elif word == ".help":
        out.block(_HELP, indent="")
    else:
        out.line(f"{word} is not known; .help shows what is")
