"""`turnlog blame`: which session, turn, tool call and decision wrote a file, and why."""

from __future__ import annotations

import argparse
from pathlib import Path

from turnlog import queries
from turnlog.cli.asking import asking
from turnlog.cli.commit import SHORT_ID
from turnlog.cli.render import Screen, Styled, Text, count, day_time, record, screen, short
from turnlog.queries import FileChange

_TITLES = ("FILE", "CHANGE", "EVIDENCE", "WHEN", "SESSION", "TURN", "BY", "DECISION", "WHY")


def blame(options: argparse.Namespace) -> int:
    with asking() as db:
        changes = queries.blame(db, options.path, str(Path.cwd()))
        last = changes[0]
        asked = queries.turns(db, last.session_id, [last.turn])
    out = screen()
    if options.json:
        for change in changes if options.all else changes[:1]:
            out.json(record(change))
    elif options.all:
        out.table([_row(change) for change in changes], _TITLES, drop=("EVIDENCE", "WHEN", "FILE"), whole=("BY",))
    else:
        _show(out, last, asked[0].input_summary if asked else "", len(changes))
    return 0


def _show(out: Screen, change: FileChange, asked: str, changes: int) -> None:
    rows: list[tuple[Text, Text]] = [
        ("file", Styled(change.path, "bold")),
        ("change", f"{what_changed(change)}  {short(change.content_hash)}".rstrip()),
        ("evidence", change.evidence),
        ("time", day_time(change.changed_at)),
        ("session", change.session_id),
        ("turn", f"{change.turn}  {asked}"),
        ("tool call", f"{change.commit_id[:SHORT_ID]}  {change.tool}  {change.input_summary}"),
        ("decision", f"{change.decision_commit_id[:SHORT_ID]}  {change.choice}" if change.decision_commit_id else "not known"),
        ("why", change.reason or "none stated"),
        ("model", change.model),
    ]
    out.table([row for row in rows if row[1]])
    if changes > 1:
        out.line(Styled(f"{count(changes, 'change')} in all: turnlog blame --all {change.path}", "dim"))


def _row(change: FileChange) -> tuple[Text, ...]:
    return (
        change.path,
        what_changed(change),
        change.evidence or "-",
        day_time(change.changed_at),
        change.session_id,
        str(change.turn),
        Styled(f"{change.tool} {change.commit_id[:SHORT_ID]}".strip(), "dim"),
        change.decision_commit_id[:SHORT_ID] or "-",
        change.reason,
    )


def what_changed(change: FileChange) -> str:
    if change.renamed_from:
        return f"{change.action} from {change.renamed_from}"
    return f"renamed to {change.renamed_to}" if change.renamed_to else change.action
