"""`turnlog patterns`: what repeats over all sessions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from turnlog import queries
from turnlog.cli.asking import asking
from turnlog.cli.commit import SHORT_ID
from turnlog.cli.render import Screen, Styled, Text, count, duration, record, screen, short
from turnlog.queries import DecisionReversal, Loop, OutcomeCost, ToolFailure, ToolSequence


def patterns(options: argparse.Namespace) -> int:
    with asking() as db:
        found = queries.patterns(db, options.limit)
    out = screen()
    if options.json:
        out.json(record(found))
        return 0
    out.line(Styled(f"over {count(found.sessions, 'session')}", "dim") if found.sessions else queries.NOTHING_YET)
    show_loops(out, found.loops, "the same call with the same result", named=True)
    _table(
        out,
        "tools that fail, and with which input",
        ("TOOL", "FAILED", "LAST", "INPUT"),
        [_failure(row) for row in found.failures],
    )
    _table(
        out,
        "decisions that were reversed",
        ("ABOUT", "FROM", "TO", "WHY", "WHERE"),
        [_reversal(row) for row in found.reversals],
    )
    _table(out, "tools that follow each other", ("TIMES", "FAILED", "TOOLS"), [_sequence(row) for row in found.sequences])
    _table(
        out,
        "what turns cost, by how they ended",
        ("OUTCOME", "TURNS", "TOKENS A TURN", "TIME A TURN"),
        [_cost(row) for row in found.costs],
    )
    return 0


def show_loops(out: Screen, loops: list[Loop], title: str, *, named: bool = False) -> None:
    rows = [_loop(row, named) for row in loops]
    _table(out, title, (), rows)


def _table(out: Screen, title: str, header: Sequence[str], rows: Sequence[tuple[Text, ...]]) -> None:
    if rows:
        out.line(Styled(title, "bold"))
        out.table(rows, header, indent="  ")


def _loop(row: Loop, named: bool) -> tuple[Text, ...]:
    where = f"{row.session_id} turn {row.turn}" if named else f"turn {row.turn}"
    goes_on = Styled("goes on" if row.is_going_on else "ended", "red" if row.is_going_on else "dim")
    return (
        Styled(row.commit_id[:SHORT_ID], "yellow"),
        f"{row.times} times",
        row.tool,
        goes_on,
        where,
        Styled(f"{short(row.input_summary)} -> {row.outcome} {short(row.result_summary)}".rstrip(), "dim"),
    )


def _failure(row: ToolFailure) -> tuple[Text, ...]:
    last = f"{row.last_commit[:SHORT_ID]} {row.last_outcome}" + (f" {row.last_error}" if row.last_error else "")
    return row.tool, f"{row.failures:,} of {row.calls:,}", last, Styled(row.input_summary, "dim")


def _reversal(row: DecisionReversal) -> tuple[Text, ...]:
    back = "back to " if row.is_back else ""
    where = f"{row.session_id} turn {row.turn_after}"
    return (
        short(row.about),
        short(row.choice_before),
        back + short(row.choice_after),
        short(row.reason_after),
        Styled(where, "dim"),
    )


def _sequence(row: ToolSequence) -> tuple[Text, ...]:
    return f"{row.times:,}", f"{row.failures:,}", row.tools


def _cost(row: OutcomeCost) -> tuple[Text, ...]:
    return row.outcome, f"{row.turns:,}", f"{row.tokens_per_turn:,.0f}", duration(row.mean_ms)
