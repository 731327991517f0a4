"""`turnlog state`, `files` and `diff`: what the session holds, what it touched, and what a turn changed and why."""

from __future__ import annotations

import argparse
from itertools import groupby

from turnlog import queries
from turnlog.cli.asking import asking, known_turn
from turnlog.cli.log import SHORT_ID, failure
from turnlog.cli.render import Screen, Styled, Text, count, day_time, record, screen, short
from turnlog.queries import Commit, Difference, Entry, Failed, Pending, TurnDiff

_ALL_TURNS = 2**31
_LAST_FAILURES = 5
_MARKS = {"added": Styled("+", "green"), "removed": Styled("-", "red"), "changed": Styled("~", "yellow")}


def state(options: argparse.Namespace) -> int:
    with asking() as db:
        session = queries.find_session(db, options.session)
        turn = known_turn(db, session, options.turn)
        entries = queries.state(db, session, turn)
        # What still runs, runs now: of an earlier turn only its entries say what was open.
        pending = [] if turn else queries.pending(db, session)
        failures = queries.log(db, session, failed=True, turn=turn, limit=_LAST_FAILURES)
        newest = queries.last_turn(db, session)
    out = screen()
    if options.json:
        for entry in entries:
            out.json(record(entry))
        return 0
    out.line(Styled(f"session {session}", "dim"), Styled(f"  after turn {turn or newest}", "dim"))
    _show_entries(out, [entry for entry in entries if turn or entry.kind != "pending"])
    _show_pending(out, pending)
    _show_failures(out, failures, f"last {count(len(failures), 'failure')}")
    return 0


def _show_entries(out: Screen, entries: list[Entry]) -> None:
    if not entries:
        out.line("no entries")
    for kind, members in groupby(entries, key=lambda entry: entry.kind):
        out.line(Styled(kind, "bold"))
        rows = [
            (short(entry.key), _value(entry.value, entry.action), f"turn {entry.turn}", _source(entry.tool, entry.commit_id))
            for entry in members
        ]
        out.table(rows, indent="  ")


def _show_pending(out: Screen, pending: list[Pending]) -> None:
    if pending:
        out.line(Styled("open work", "bold"))
        rows = [
            (Styled(row.status.replace("_", " "), "yellow"), f"turn {row.turn}", row.commit_id[:SHORT_ID], row.action)
            for row in pending
        ]
        out.table(rows, indent="  ")


def _show_failures(out: Screen, failures: list[Commit] | list[Failed], title: str) -> None:
    if failures:
        out.line(Styled(title, "bold"))
        for failed in failures:
            out.line(
                "  ",
                Styled(failed.commit_id[:SHORT_ID], "yellow"),
                f"  turn {failed.turn}  {failed.tool or failed.kind}  ",
                *failure(failed),
                "  ",
                Styled(failed.input_summary, "dim"),
            )


def files(options: argparse.Namespace) -> int:
    with asking() as db:
        session = queries.find_session(db, options.session)
        turns = queries.last_turn(db, session)
        last = options.last or _ALL_TURNS
        modified = [] if options.all else queries.files_modified(db, session, last)
        touched = queries.working_set(db, session, last) if options.all else []
    out = screen()
    if options.json:
        for row in modified or touched:
            out.json(record(row))
        return 0
    since = max(1, turns - last + 1)
    span = f"turn {turns}" if since == turns else f"turns {since} to {turns}"
    out.line(Styled(f"session {session}  {span}", "dim"))
    if options.all:
        rows = [
            (t.key, t.kind, t.last_action, f"turn {t.turn}", count(t.touches, "touch").replace("touchs", "touches"))
            + (t.evidence or "-", day_time(t.changed_at), _source(t.tool, t.commit_id))
            for t in touched
        ]
    else:
        rows = [
            (f.path, f.last_action, f"turn {f.turn}", count(f.modifications, "change"), f.evidence or "-", day_time(f.changed_at))
            + (_source(f.tool, f.commit_id),)
            for f in modified
        ]
    if not rows:
        out.line("nothing touched" if options.all else "no files modified")
    out.table(rows)
    return 0


def diff(options: argparse.Namespace) -> int:
    with asking() as db:
        session = queries.find_session(db, options.session)
        before, after = _sides(options.turns, queries.last_turn(db, session))
        found = queries.diff(db, session, before, after)
    out = screen()
    if options.json:
        out.json(record(found))
        return 0
    out.line(Styled(f"session {session}", "dim"), "  ", Styled(f"turn {before} -> turn {after}", "bold"))
    _show_differences(out, found.differences)
    _show_decisions(out, found)
    _show_failures(out, found.failures, "failures")
    return 0


def _sides(turns: list[int], newest: int) -> tuple[int, int]:
    if len(turns) == 2:
        return turns[0], turns[1]
    after = turns[0] if turns else newest
    return max(after - 1, 0), after


def _show_differences(out: Screen, differences: list[Difference]) -> None:
    if not differences:
        out.line("no difference")
    rows: list[tuple[Text, ...]] = [
        (_MARKS[row.change], row.kind, short(row.key), _change(row), _source(row.tool, row.commit_id)) for row in differences
    ]
    out.table(rows)


def _change(row: Difference) -> str:
    if row.change == "added":
        return _value(row.after_value, row.action)
    if row.change == "removed":
        return short(row.before_value)
    if row.before_value == row.after_value:
        return _value(row.after_value, row.action)
    return f"{short(row.before_value) or '(none)'} -> {short(row.after_value) or '(none)'}"


def _show_decisions(out: Screen, found: TurnDiff) -> None:
    if found.decisions:
        out.line(Styled("decisions", "bold"))
        for decided in found.decisions:
            about = f"{decided.about}: " if decided.about else ""
            out.line(
                "  ",
                Styled(decided.commit_id[:SHORT_ID], "yellow"),
                f"  turn {decided.turn}  {about}{decided.choice}",
                Styled(f" - {decided.reason}" if decided.reason else "", "dim"),
            )


def _value(value: str, action: str) -> str:
    return f"{action} {short(value)}".strip()


def _source(tool: str, commit_id: str) -> Text:
    return Styled(f"{tool} {commit_id[:SHORT_ID]}".strip(), "dim")
