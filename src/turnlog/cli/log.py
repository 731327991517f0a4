"""`turnlog sessions`, `log` and `show`: who ran, what was done, and all of one commit."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from turnlog import queries
from turnlog.cli.asking import asking, known_turn, unmatched
from turnlog.cli.commit import REFUSED, actor_width, answer_line, commit_line, listed, marks_of, stated, turn_line
from turnlog.cli.context import evicted_log
from turnlog.cli.graph import graph_log
from turnlog.cli.hints import hint, same
from turnlog.cli.render import (
    Screen,
    Styled,
    Text,
    count,
    day_time,
    duration,
    from_json,
    record,
    screen,
    short,
    to_json,
)
from turnlog.cli.widths import columns
from turnlog.errors import NotFound
from turnlog.queries import Commit, Database, Decided

_ALL = 2**31
_LEAST_ID = 8
_USUAL = 20
_OUTCOME_STYLES = {"ok": "green", "in_flight": "yellow"}
_STATUS_STYLES = {"active": "green", "dead": "red bold", "paused": "yellow", "closed": "dim", "archived": "dim"}


def sessions(options: argparse.Namespace) -> int:
    out = screen()
    limit = options.limit or _USUAL
    with asking() as db:
        # A beginning of an id is to name one session of all.
        found = queries.sessions(db, _ALL if out.width else limit + 1)
    names = _beginnings([session.session_id for session in found])
    more = len(found) > limit
    found = found[:limit]
    if options.json:
        for session in found:
            out.json(record(session))
        return 0
    if not found:
        out.line(queries.NOTHING_YET)
        return 0
    rows: list[list[Text]] = [
        [
            Styled(session.session_id, "yellow"),
            Styled(session.status + (" pinned" if session.pinned else ""), _STATUS_STYLES.get(session.status, "")),
            session.agent or "-",
            day_time(session.started_at),
            day_time(session.last_active_at),
            f"{session.turns:,}",
            f"{session.commits:,}",
            Styled(f"{session.failures:,}", "red" if session.failures else ""),
            f"{session.tokens_in:,} in, {session.tokens_out:,} out",
        ]
        for session in found
    ]
    header = ["SESSION", "STATUS", "AGENT", "STARTED", "LAST ACTIVE", "TURNS", "COMMITS", "FAILED", "TOKENS"]
    if not _fits(out, rows, header):
        for row, session in zip(rows, found, strict=True):
            row[0] = Styled(names[session.session_id], "yellow")
    out.table(rows, header, drop=("STARTED", "LAST ACTIVE", "TOKENS", "COMMITS", "AGENT"), whole=("SESSION", "STATUS"))
    if more and not options.limit:
        hint(out, "there is more", "sessions", n=2 * limit)
    return 0


def _fits(out: Screen, rows: list[list[Text]], header: list[str]) -> bool:
    cells = zip(header, *([cell if isinstance(cell, str) else cell.text for cell in row] for row in rows), strict=True)
    return not out.width or sum(max(map(columns, column)) + 2 for column in cells) - 2 <= out.width


def _beginnings(ids: Iterable[str]) -> dict[str, str]:
    """Of each id, as much as tells it from all others."""
    ordered = ["", *sorted(ids), ""]
    return {
        each: each[: max(_LEAST_ID, _shared(before, each) + 1, _shared(each, after) + 1)]
        for before, each, after in zip(ordered, ordered[1:], ordered[2:], strict=False)
    }


def _shared(one: str, other: str) -> int:
    """How many letters they begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))


def log(options: argparse.Namespace) -> int:
    if options.graph:
        return graph_log(options)
    if options.evicted:
        return evicted_log(options)
    with asking() as db:
        session = queries.find_session(db, options.session)
        known_turn(db, session, options.turn)
        found, limit, more = listed(db, session, options)
        shown_turns = sorted({commit.turn for commit in found})
        inputs = {turn.turn: turn for turn in queries.turns(db, session, shown_turns)} if found and not options.json else {}
        saved = 0 if options.checkpoints else queries.checkpoints(db, session, options.turn)
        marks = marks_of(db, session, found if inputs else [])
        nothing = "" if found else unmatched(db, session, options.tool)
    out = screen()
    if options.json:
        for commit in found:
            out.json(record(commit))
        return 0
    out.line(Styled(f"session {session}", "dim"))
    narrowed = options.tool or options.failed
    if not found:
        out.line(nothing if narrowed or options.turn else "no commits yet")
    width = actor_width(found)
    shown = -1
    for commit in found:
        if commit.turn != shown:
            shown = commit.turn
            turn = inputs.get(shown)
            out.line(*turn_line(shown, turn, marks))
            if (answer := answer_line(turn, width)) and not narrowed:
                out.line(*answer)
        out.line(*commit_line(commit, width, marks))
    if more and not options.limit:
        hint(out, "there is more", "log", n=2 * limit, **same(options))
    if saved and not narrowed:
        hint(out, f"and {count(saved, 'checkpoint')}", "log", checkpoints=True, **same(options))
    return 0


def show(options: argparse.Namespace) -> int:
    with asking() as db:
        commit = chosen(db, options)
        turns = queries.turns(db, commit.session_id, [commit.turn])
        decision = queries.decision_of(db, commit)
        attributes = queries.commit_attributes(db, commit)
        refused = bool(commit.lifecycle_state) and commit.commit_id in queries.refused(db, commit.session_id)
        captured = {
            name: queries.blob(db, digest) if digest else None
            for name, digest in (("input", commit.input_hash), ("output", commit.output_hash))
        }
    out = screen(whole=True)
    if options.json:
        out.json(
            record(commit)
            | {"decision": record(decision) if decision else None, "attributes": from_json(attributes), "captured": captured}
        )
        return 0
    _show_commit(out, commit, turns[0].input_summary if turns else "before the first", refused)
    _show_decision(out, decision)
    _show_delta(out, commit)
    for name, text in captured.items():
        if text is not None:
            out.line()
            out.line(Styled(name, "bold"))
            out.block(text)
    rest = from_json(attributes)
    if rest:
        out.line()
        out.line(Styled("attributes", "bold"))
        out.table(
            [(name, value if isinstance(value, str) else to_json(value)) for name, value in sorted(rest.items())], indent="  "
        )
    return 0


def chosen(db: Database, options: argparse.Namespace) -> Commit:
    if options.commit:
        return queries.find_commit(db, options.commit)
    session = queries.find_session(db, options.session)
    newest = queries.log(db, session, limit=1)
    if not newest:
        raise NotFound(f"session {session} has no commits yet.")
    return newest[0]


def _show_commit(out: Screen, commit: Commit, turn_input: str, refused: bool) -> None:
    out.line(Styled(f"commit {commit.commit_id}", "yellow"))
    outcome = Styled(commit.outcome, _OUTCOME_STYLES.get(commit.outcome, "red bold"))
    rows: list[tuple[str, Text]] = [
        ("session", commit.session_id),
        ("turn", f"{commit.turn}  {turn_input}"),
        ("time", f"{day_time(commit.committed_at)}  ({duration(commit.duration_ms)})"),
        ("kind", f"{commit.kind}  {commit.tool}"),
        ("outcome", outcome),
    ]
    if commit.outcome_source:
        rows.append(("known", f"{commit.outcome_source} from the result"))
    if commit.lifecycle_state or commit.pinned:
        rows.append(("lifecycle", "".join(stated(commit)) + (REFUSED if refused else "")))
    if commit.self_reported:
        rows.append(("reported", "by the agent itself, over MCP"))
    if commit.fenced:
        rows.append(("fenced", Styled("another process had taken the session over: the state is as without this", "red")))
    tokens = f"{commit.input_tokens:,} in, {commit.output_tokens:,} out"
    optional = (
        ("error", "" if commit.outcome in ("ok", "in_flight") else f"{commit.error}: {commit.error_message}".rstrip(": ")),
        ("agent", commit.agent),
        ("model", commit.model),
        ("tokens", tokens if commit.input_tokens or commit.output_tokens else ""),
        ("tool call", commit.tool_call_id),
        ("input", commit.input_summary),
        ("input hash", commit.input_hash),
        ("output", commit.output_summary),
        ("output hash", commit.output_hash),
        ("trace", f"{commit.trace_id}  span {commit.span_id}"),
    )
    rows += [(name, value) for name, value in optional if value]
    out.table([(Styled(name, "dim"), value) for name, value in rows])


def _show_decision(out: Screen, decision: Decided | None) -> None:
    if decision is None:
        return
    alternatives = from_json(decision.alternatives)
    rows = (
        ("about", decision.about),
        ("choice", decision.choice),
        ("reason", f"{decision.reason}  ({decision.reason_source})" if decision.reason else "none stated"),
        ("instead of", ", ".join(map(str, alternatives)) if isinstance(alternatives, list) else str(alternatives)),
    )
    out.line()
    out.line(Styled("decision", "bold"))
    out.table([(Styled(name, "dim"), value) for name, value in rows if value], indent="  ")


def _show_delta(out: Screen, commit: Commit) -> None:
    delta: Any = from_json(commit.delta)
    if not isinstance(delta, list) or not delta:
        return
    out.line()
    out.line(Styled("delta", "bold"))
    rows = []
    for change in delta:
        notes = ", ".join(change[name] for name in ("tier", "action", "evidence") if change.get(name))
        entry = f"{change.get('kind', '')}:{short(str(change.get('key', '')))}"
        rows.append((str(change.get("op", "")), entry, f"{short(str(change.get('value', '')))}  ({notes})".strip()))
    out.table(rows, indent="  ")
