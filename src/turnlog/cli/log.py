"""`turnlog sessions`, `log` and `show`: who ran, what was done, and all of one commit."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from turnlog import queries
from turnlog.cli.asking import asking, known_turn
from turnlog.cli.context import evicted_log, left_by
from turnlog.cli.render import (
    Screen,
    Styled,
    Text,
    clock,
    columns,
    count,
    day_time,
    duration,
    from_json,
    record,
    screen,
    short,
    to_json,
)
from turnlog.errors import NotFound
from turnlog.queries import Commit, Database, Decided

SHORT_ID = 7
_BEFORE_ACTOR = len("078cfea  13:53:21  ")
_USUAL = 20
_ALL = 2**31
_LEAST_ID = 8
_REFUSED = "  (refused: it could not follow)"
_SELF_REPORTED = "  (self-reported)"
_FENCED = "  (fenced: another process had taken the session over)"
_OUTCOME_STYLES = {"ok": "green", "in_flight": "yellow"}
_STATUS_STYLES = {"active": "green", "dead": "red bold", "paused": "yellow", "closed": "dim", "archived": "dim"}


def sessions(options: argparse.Namespace) -> int:
    out = screen()
    with asking() as db:
        # A beginning of an id is to name one session of all.
        found = queries.sessions(db, _ALL if out.width else options.limit)
    names = _beginnings([session.session_id for session in found])
    found = found[: options.limit]
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
    for title in ("STARTED", "LAST ACTIVE"):
        if not _fits(out, rows, header):
            index = header.index(title)
            del header[index]
            for row in rows:
                del row[index]
    out.table(rows, header, long=header.index("AGENT"))
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
    if options.evicted:
        return evicted_log(options)
    with asking() as db:
        session = queries.find_session(db, options.session)
        known_turn(db, session, options.turn)
        limit = options.limit or _USUAL
        found = queries.log(
            db,
            session,
            limit=limit + 1,
            turn=options.turn,
            tool=options.tool,
            failed=options.failed,
            checkpoints=options.checkpoints,
        )
        found, more = found[:limit], len(found) > limit
        shown_turns = sorted({commit.turn for commit in found})
        inputs = {turn.turn: turn for turn in queries.turns(db, session, shown_turns)} if found and not options.json else {}
        retried = queries.retries(db, session) if inputs else []
        forked = queries.forks(db, session) if inputs else {}
        saved = 0 if options.checkpoints else queries.checkpoints(db, session, options.turn)
        refused = queries.refused(db, session) if any(commit.lifecycle_state for commit in found) else set()
    out = screen()
    if options.json:
        for commit in found:
            out.json(record(commit))
        return 0
    out.line(Styled(f"session {session}", "dim"))
    narrowed = options.tool or options.failed
    if not found:
        out.line("no commit matches" if narrowed or options.turn else "no commits yet")
    width = min(max((len(actor(commit)) for commit in found), default=0), 24)
    again = {row.commit_id or row.turn: row for row in retried}
    shown = -1
    for commit in found:
        if commit.turn != shown:
            shown = commit.turn
            turn = inputs.get(shown)
            retry = again.get(shown)
            mark = f"retry of turn {retry.original_turn} (attempt {retry.attempt})  " if retry else ""
            mark += _forked(forked, shown)
            started = Styled(day_time(turn.started_at) if turn else "before the first", "dim")
            asked = turn.input_summary if turn else ""
            out.line(Styled(f"turn {shown}", "bold"), "  ", Styled(mark, "yellow"), started, "  ", asked)
            # A model's answer is a commit itself.
            if turn and turn.output_summary and not turn.answer_commit and not narrowed:
                out.line(" " * _BEFORE_ACTOR, Styled(f"{'answer':{width}}", "cyan"), "  ", turn.output_summary)
        out.line(
            Styled(commit.commit_id[:SHORT_ID], "yellow"),
            f"  {clock(commit.committed_at)}  ",
            Styled(f"{actor(commit):{width}}", "cyan"),
            "  ",
            Styled(f"attempt {again[commit.commit_id].attempt}  " if commit.commit_id in again else "", "yellow"),
            Styled(_forked(forked, commit.commit_id), "yellow"),
            *what(commit),
            Styled(_REFUSED if commit.commit_id in refused else "", "red"),
            Styled(_FENCED if commit.fenced else "", "red"),
            Styled(_SELF_REPORTED if commit.self_reported else "", "dim"),
        )
    if more and not options.limit:
        out.line(Styled(f"there is more: turnlog log -n {2 * limit}", "dim"))
    if saved and not narrowed:
        out.line(Styled(f"and {count(saved, 'checkpoint')}: turnlog log --checkpoints", "dim"))
    return 0


def _forked(forks: dict[int | str, int], what: int | str) -> str:
    if what not in forks:
        return ""
    return f"fork of turn {forks[what]}  " if forks[what] else "fork  "


def actor(commit: Commit) -> str:
    return commit.tool or commit.kind


def what(commit: Commit) -> list[Text]:
    """What a commit did, in a line: how it failed, what was chosen and why, or what went in and came out."""
    if commit.outcome == "in_flight":
        return [Styled("in flight", "yellow"), "  ", commit.input_summary]
    if commit.outcome != "ok":
        return [*failure(commit), "  ", Styled(commit.input_summary, "dim")]
    if commit.lifecycle_state or commit.pinned:
        state, why = _said(commit)
        return [state, Styled(why, "dim")]
    if commit.kind == "eviction":
        return [left_by(commit.delta), Styled(" left the context", "dim")]
    if commit.choice:
        said = commit.reason or commit.output_summary
        return [commit.choice, Styled(f" - {said}" if said else "", "dim")]
    return [commit.input_summary, Styled(f" -> {commit.output_summary}" if commit.output_summary else "", "dim")]


def _said(commit: Commit) -> tuple[str, str]:
    """The lifecycle state that a commit says, and what it says with it."""
    state = commit.lifecycle_state or ("pinned" if commit.pinned == "true" else "unpinned")
    more = [said for said in (commit.pause_reason, commit.input_summary) if said not in ("", state)]
    return state, " - ".join(["", *more])


def failure(failed: Commit | queries.Failed) -> list[Text]:
    said = f"{failed.error}: {failed.error_message}" if failed.error_message else failed.error
    inferred = isinstance(failed, Commit) and failed.outcome_source == "inferred"
    mark = Styled(" (inferred)" if inferred else "", "dim")
    return [Styled(failed.outcome.upper(), "red bold"), mark, f" {said}" if said != failed.outcome else ""]


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
        rows.append(("lifecycle", "".join(_said(commit)) + (_REFUSED if refused else "")))
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
