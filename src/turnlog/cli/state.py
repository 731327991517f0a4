"""`turnlog state`, `files` and `diff`: what the session holds, what it touched, and what a turn changed and why."""

from __future__ import annotations

import argparse
from itertools import groupby

from turnlog import queries
from turnlog.cli.asking import asking, known_turn
from turnlog.cli.commit import SHORT_ID, failure
from turnlog.cli.context import evicted_state
from turnlog.cli.hints import hint, same
from turnlog.cli.patterns import show_loops
from turnlog.cli.render import SPAN_ID, Screen, Styled, Text, count, day_time, duration, record, screen, short
from turnlog.cli.side_by_side import MARKS, diff_retry, diff_sessions
from turnlog.queries import Commit, Difference, Entry, Failed, ModifiedFile, Pending, Touched, TurnDiff

_ALL_TURNS = 2**31
_LAST_FAILURES = 5
_LAST_STEPS = 3


def state(options: argparse.Namespace) -> int:
    if options.evicted:
        return evicted_state(options)
    with asking() as db:
        session = queries.find_session(db, options.session)
        turn = known_turn(db, session, options.turn)
        entries = queries.state(db, session, turn)
        # What still runs, runs now: of an earlier turn only its entries say what was open.
        pending = [] if turn else queries.pending(db, session)
        paused = queries.session_of(db, session).status == "paused"
        loops = [] if turn else queries.loops(db, session)
        failures = queries.log(db, session, failed=True, turn=turn, limit=_LAST_FAILURES)
        more_failures = queries.failures(db, session, turn) - len(failures)
        newest = queries.last_turn(db, session)
    out = screen()
    if options.json:
        for entry in entries:
            out.json(record(entry))
        return 0
    out.line(Styled(f"session {session}", "dim"), Styled(f"  after turn {turn or newest}", "dim"))
    _show_entries(out, [entry for entry in entries if turn or entry.kind != "pending"], options)
    _show_pending(out, pending, paused)
    show_loops(out, loops, "going in circles")
    _show_failures(out, failures, "last failures")
    if more_failures:
        hint(out, f"  and {count(more_failures, 'earlier one')}", "log", failed=True, **same(options))
    return 0


def _show_entries(out: Screen, entries: list[Entry], options: argparse.Namespace) -> None:
    if not entries:
        out.line("no entries")
    for kind, group in groupby(entries, key=lambda entry: entry.kind):
        out.line(Styled(kind, "bold"))
        members = list(group)
        steps = [entry for entry in members if kind == "decision" and SPAN_ID.match(entry.key)]
        rows = [
            (
                "" if entry in steps else short(entry.key),
                _value(entry.value, entry.action),
                f"turn {entry.turn}",
                _source(entry.tool, entry.commit_id),
            )
            for entry in members
            if entry not in steps[_LAST_STEPS:]
        ]
        out.table(rows, indent="  ")
        if steps[_LAST_STEPS:]:
            hint(out, f"  and {len(steps) - _LAST_STEPS} earlier choices of tools", "log", session=options.session)


def _show_pending(out: Screen, pending: list[Pending], paused: bool) -> None:
    if pending:
        out.line(Styled("open work", "bold"))
        rows = [
            (
                Styled(row.status.replace("_", " "), "red" if row.status == "interrupted" else "yellow"),
                f"turn {row.turn}",
                row.commit_id[:SHORT_ID],
                _lasted(row),
                _open(row, paused),
            )
            for row in pending
        ]
        out.table(rows, indent="  ")


def _open(row: Pending, paused: bool) -> str:
    if row.status != "queued":
        return row.action
    return f"{row.action} ({row.action_id})" + (" once the session goes on" if paused else "")


def _lasted(row: Pending) -> Text:
    if row.status == "in_flight":
        return Styled(f"running for {duration(row.ran_ms)}", "dim")
    # A process shows life every few seconds; how much later it died nobody saw.
    ran = f"after at least {duration(row.ran_ms)}" if row.ran_ms >= 1 else "soon after its start"
    return Styled(ran if row.status == "interrupted" else f"since {day_time(row.since_at)}", "dim")


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
    if modified:
        titles = ("FILE", "LAST", "TURN", "CHANGES", "EVIDENCE", "WHEN", "BY")
        out.table([_file_row(row) for row in modified], titles, drop=("WHEN", "EVIDENCE", "CHANGES"), whole=("BY",))
    elif touched:
        kinds = ("WHAT", "KIND", "LAST", "TURN", "TOUCHES", "EVIDENCE", "WHEN", "BY")
        out.table([_touched_row(row) for row in touched], kinds, drop=("WHEN", "EVIDENCE", "TOUCHES"), whole=("BY",))
    else:
        out.line("nothing touched" if options.all else "no files modified")
    return 0


def _file_row(row: ModifiedFile) -> tuple[Text, ...]:
    rest = (f"{row.modifications:,}", row.evidence or "-", day_time(row.changed_at), _source(row.tool, row.commit_id))
    return (row.path, _last(row), str(row.turn), *rest)


def _touched_row(row: Touched) -> tuple[Text, ...]:
    rest = (f"{row.touches:,}", row.evidence or "-", day_time(row.changed_at), _source(row.tool, row.commit_id))
    return (row.key, row.kind, _last(row), str(row.turn), *rest)


def _last(row: ModifiedFile | Touched) -> str:
    return f"{row.last_action} from {row.renamed_from}" if row.renamed_from else row.last_action


def diff(options: argparse.Namespace) -> int:
    if isinstance(options.first, str) or isinstance(options.second, str):
        return diff_sessions(options)
    if options.retry is not None:
        return diff_retry(options)
    with asking() as db:
        session = queries.find_session(db, options.session)
        before, after = _sides(options.first, options.second, queries.last_turn(db, session))
        known_turn(db, session, after)
        found = queries.diff(db, session, before, after)
    out = screen()
    if options.json:
        out.json(record(found))
        return 0
    out.line(Styled(f"session {session}", "dim"), "  ", Styled(f"turn {before} -> turn {after}", "bold"))
    _show_differences(out, found)
    _show_decisions(out, found)
    _show_failures(out, found.failures, "failures")
    return 0


def _sides(first: int | None, second: int | None, newest: int) -> tuple[int, int]:
    if first is not None and second is not None:
        return first, second
    after = newest if first is None else first
    return max(after - 1, 0), after


def _show_differences(out: Screen, found: TurnDiff) -> None:
    if not found.differences:
        out.line("no difference")
    # What was chosen in one call is an entry under the call's own id; below, the same choice comes with its reason.
    rows: list[tuple[Text, ...]] = [
        (MARKS[row.change], row.kind, short(row.key), _change(row), _source(row.tool, row.commit_id))
        for row in found.differences
        if not (row.kind == "decision" and SPAN_ID.match(row.key))
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
