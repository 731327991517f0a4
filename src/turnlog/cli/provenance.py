"""`turnlog taint` and `why`: what is built on a result, and what a commit was built on."""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import groupby

from turnlog import queries
from turnlog.cli.asking import asking
from turnlog.cli.commit import SHORT_ID, actor, what
from turnlog.cli.hints import hint, same
from turnlog.cli.log import chosen
from turnlog.cli.render import Screen, Styled, Text, count, record, screen
from turnlog.queries import Built, Commit, Database, Entry, InContext, Source, Why

_USUAL_COMMITS = 40
_USUAL_MESSAGES = 20
_FLAGS = {"true": Styled("verified", "green"), "false": Styled("NOT VERIFIED", "red bold"), "": Styled("", "dim")}


def taint(options: argparse.Namespace) -> int:
    with asking() as db:
        session = queries.find_session(db, options.session)
        sources = queries.find_sources(db, options.source, session) if options.source else []
        found = [(source, queries.built_on(db, source)) for source in sources]
        if options.source:
            made = {source.commit_id: _made(db, source, built) for source, built in found}
        else:
            unverified = queries.unverified(db, session)
    out = screen()
    if options.json:
        for row in [row for _, built in found for row in built] if options.source else unverified:
            out.json(record(row))
    elif options.source:
        for source, built in found:
            _show_source(out, source)
            _show_built(out, built, *made[source.commit_id], options)
    else:
        out.line(Styled(f"session {session}", "dim"))
        if not unverified:
            out.line("nothing unverified")
        out.table([(*_source_cells(source), source.summary) for source in unverified])
    return 0


def _made(db: Database, source: Source, built: list[Built]) -> tuple[dict[str, Commit], list[Entry]]:
    ids = [row.commit_id for row in built]
    return queries.commits(db, source.session_id, ids), queries.files_by(db, source.session_id, ids)


def _show_source(out: Screen, source: Source) -> None:
    out.line(Styled(f"session {source.session_id}", "dim"))
    cells = _source_cells(source)
    out.line(cells[0], "  ", cells[1], "  ", cells[2], "  ", source.source_kind, "  ", cells[4])
    if source.summary:
        out.line("  ", Styled(source.summary, "dim"))


def _source_cells(source: Source) -> tuple[Text, ...]:
    flag = _FLAGS[source.verified]
    return (
        Styled(source.commit_id[:SHORT_ID], "yellow"),
        Styled(source.tool or "decision", "cyan"),
        f"turn {source.turn}",
        source.source_kind,
        Styled(source.verification, flag.style) if source.verification else flag,
    )


def _show_built(
    out: Screen, built: list[Built], commits: dict[str, Commit], files: list[Entry], options: argparse.Namespace
) -> None:
    if not built:
        out.line("nothing is built on it")
        return
    later = max(row.turns_later for row in built)
    parts = [_kinds(built), *([count(len({file.key for file in files}), "file")] if files else [])]
    out.line(
        Styled("built on it: ", "bold"), ", ".join(parts), f", up to {count(later, 'turn')} later" if later else ", in its turn"
    )
    limit = options.limit or _USUAL_COMMITS
    width = min(max(len(actor(commits[row.commit_id])) for row in built[:limit]), 24)
    for turn, rows in groupby(built[:limit], key=lambda row: row.turn):
        out.line(Styled(f"turn {turn}", "bold"))
        for row in rows:
            commit = commits[row.commit_id]
            out.line(
                "  ",
                Styled(commit.commit_id[:SHORT_ID], "yellow"),
                "  ",
                Styled(f"{actor(commit):{width}}", "cyan"),
                "  ",
                Styled(f"{_by_way_of(row):24}", "red" if row.how == "context" else "yellow"),
                "  ",
                *what(commit),
            )
    if len(built) > limit:
        hint(out, "there is more", "taint", options.source, n=len(built), **same(options))
    if files:
        out.line(Styled("files", "bold"))
        rows_of_files = {file.key: file for file in files}.values()
        out.table([_file_row(file) for file in rows_of_files], indent="  ")


def _kinds(built: list[Built]) -> str:
    kinds = Counter("tool call" if row.kind == "tool" else row.kind for row in built)
    return ", ".join(count(number, kind) for kind, number in sorted(kinds.items()))


def _by_way_of(row: Built) -> str:
    """How the source got there: seen, or by whose words; what a tool does follows from the decision that asked for it."""
    steps = row.path.split(" > ")
    if row.commit_id != row.decision_commit:
        return f"asked by {row.decision_commit[:SHORT_ID]}"
    if row.how == "context":
        return "saw it"
    return f"by way of {steps[-2][:SHORT_ID]}" if len(steps) > 2 else "built on its reply"


def _file_row(file: Entry) -> tuple[Text, ...]:
    return (file.key, file.action, f"turn {file.turn}", Styled(f"{file.tool} {file.commit_id[:SHORT_ID]}", "dim"))


def why(options: argparse.Namespace) -> int:
    with asking() as db:
        found = queries.why(db, chosen(db, options))
    out = screen()
    if options.json:
        out.json(
            {
                "commit": record(found.commit),
                "decision": record(found.decision) if found.decision else None,
                "context": [record(message) for message in found.context],
                "built_on": [record(row) for row in found.built_on],
            }
        )
        return 0
    _show_decided(out, found)
    _show_context(out, found, options)
    return 0


def _show_decided(out: Screen, found: Why) -> None:
    commit, decision = found.commit, found.decision
    out.line(Styled(f"session {commit.session_id}", "dim"))
    _show_commit(out, commit)
    if decision is None:
        out.line("no model call is known to have asked for it")
        return
    if decision.commit_id != commit.commit_id:
        out.line(Styled("decided by", "bold"))
        _show_commit(out, decision)
    out.line(Styled("reason", "bold"), "  ", decision.reason or Styled("none stated", "dim"))
    if found.built_on:
        out.line(Styled(f"built on {count(len(found.built_on), 'unverified input')}", "bold"))
        rows = [
            (
                Styled(row.source_commit[:SHORT_ID], "yellow"),
                Styled(row.source_tool, "cyan"),
                f"turn {row.source_turn}",
                Styled("in its context", "red") if row.how == "context" else Styled("derived", "yellow"),
                Styled(" > ".join(step[:SHORT_ID] for step in row.path.split(" > ")), "dim"),
            )
            for row in found.built_on
        ]
        out.table(rows, indent="  ")
    else:
        out.line("built on nothing unverified that is known")


def _show_commit(out: Screen, commit: Commit) -> None:
    out.line(
        Styled(commit.commit_id[:SHORT_ID], "yellow"),
        f"  turn {commit.turn}  ",
        Styled(actor(commit), "cyan"),
        "  ",
        *what(commit),
    )


def _show_context(out: Screen, found: Why, options: argparse.Namespace) -> None:
    if not found.context:
        return
    limit = options.limit or _USUAL_MESSAGES
    out.line(Styled("in its context", "bold"), "  ", count(len(found.context), "message"))
    if len(found.context) > limit:
        earlier = f"  {len(found.context) - limit} earlier"
        hint(out, earlier, "why", found.commit.commit_id[:SHORT_ID], n=len(found.context))
    out.table([_message_row(message) for message in found.context[-limit:]], indent="  ")


def _message_row(message: InContext) -> tuple[Text, ...]:
    return (
        message.role,
        message.source_kind,
        _FLAGS[message.verified],
        f"turn {message.turn}",
        Styled(f"{message.tool} {message.source_commit[:SHORT_ID]}".strip(), "dim"),
        message.summary,
    )
