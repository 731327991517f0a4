"""`turnlog gc`: says what retention would take, asks, takes it, and says what that freed."""

from __future__ import annotations

import argparse
import sys

from turnlog.cli.render import Screen, Styled, Text, count, day_time, progress, screen, size
from turnlog.errors import TurnlogError
from turnlog.settings import Settings, read_settings
from turnlog.store import retention
from turnlog.store.loader import load
from turnlog.store.retention import Doomed, Freed, Plan

_MOST_SHOWN = 30
_TITLES = ("SESSION", "STATUS", "LAST ACTIVE", "SPANS", "CONTENT", "WHAT GOES")


def gc(options: argparse.Namespace) -> int:
    settings = read_settings()
    out = screen()
    if not settings.directory.exists():
        out.line("nothing has been recorded yet")
        return 0
    load(settings, settings.patience, lambda report: progress(f"loading what was recorded: {report.rows:,} rows"))
    plan = retention.plan(settings, options.older_than, options.keep_durable)
    progress("")
    _show(out, plan)
    if not (plan.sessions or plan.blobs) or options.dry_run:
        return 0
    if not options.yes and not _agreed(plan):
        out.line("nothing was deleted")
        return 0
    freed = retention.collect(settings, plan, settings.patience, progress)
    progress("")
    _tell(out, freed, settings)
    return 0


def _show(out: Screen, plan: Plan) -> None:
    spared = [f"{plan.pinned:,} pinned"] * bool(plan.pinned) + [f"{plan.in_use:,} in use"] * bool(plan.in_use)
    if plan.sessions:
        rows = [_row(session) for session in plan.sessions[:_MOST_SHOWN]]
        out.table(rows, _TITLES, drop=("CONTENT", "SPANS", "LAST ACTIVE", "STATUS"), whole=("WHAT GOES",))
        if plan.sessions[_MOST_SHOWN:]:
            out.line(Styled(f"and {len(plan.sessions) - _MOST_SHOWN:,} more", "dim"))
    if plan.sessions or plan.blobs:
        spans = sum(session.spans for session in plan.sessions)
        what = (
            f"{count(len(plan.sessions), 'session')}, {count(spans, 'span')}, {count(plan.blobs, 'blob')}, {size(plan.bytes)}"
        )
        out.line(Styled("together: ", "bold"), what)
    else:
        out.line("nothing is old enough to go")
    if spared:
        out.line(Styled(f"left alone although old: {', '.join(spared)}", "dim"))


def _row(session: Doomed) -> tuple[Text, ...]:
    if session.to_archive:
        what = Styled("all, into the archive", "yellow")
    elif session.keeps_durable:
        what = Styled("what is transient", "yellow")
    else:
        what = Styled("all", "red")
    last = day_time(session.last_active_at)
    return (Styled(session.session_id, "yellow"), session.status, last, f"{session.spans:,}", size(session.bytes), what)


def _agreed(plan: Plan) -> bool:
    if not sys.stdin.isatty():
        raise TurnlogError("nothing was deleted: this is no terminal to ask on. Look with --dry-run, then add --yes.")
    sys.stdout.write(f"Delete this{' and write the archive' if any(s.to_archive for s in plan.sessions) else ''}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _tell(out: Screen, freed: Freed, settings: Settings) -> None:
    taken = freed.plan.sessions
    archived = [session for session in taken if session.to_archive]
    stripped = [session for session in taken if session.keeps_durable]
    deleted = len(taken) - len(archived) - len(stripped)
    for number, what in (
        (deleted, "deleted"),
        (len(stripped), "left with durable entries only"),
        (len(archived), f"moved to {settings.archive} ({size(freed.archive_bytes)})"),
    ):
        if number:
            out.line(f"{count(number, 'session')} {what}")
    if freed.plan.blobs:
        out.line(f"{count(freed.plan.blobs, 'blob')} deleted")
    change = freed.bytes_before - freed.bytes_after
    out.line(f"the store has {size(freed.bytes_after)} instead of {size(freed.bytes_before)}: {size(max(change, 0))} freed")
