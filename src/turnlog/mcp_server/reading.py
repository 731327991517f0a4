"""The answers: each asks one function of `queries` and tells its rows within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from turnlog import queries
from turnlog.errors import NotFound
from turnlog.mcp_server import lines
from turnlog.mcp_server.paging import StaleCursor, cursor_after, page, remaining, rows_for
from turnlog.queries import Commit, Database, Entry
from turnlog.resume_brief import resume_brief as compose_brief
from turnlog.telling import IN_QUOTES, quoted
from turnlog.tokens import Section, estimate, fit

_ALL_TURNS = 2**31
_MOST_SESSIONS = 10_000
_MOST_OF_A_LINE = 120
# Two processes can write in another order than their calls ended in.
_OVERLAP_NS = 2 * 10**9
_CURSOR_LINE = 30
Row = TypeVar("Row", bound=tuple[object, ...])


def whats_my_state(db: Database, session: str, budget: int, since: str = "") -> str:
    """What a session holds, what is open, what failed and what left the context; or what of that is new since a cursor."""
    asked_ns = time.time_ns()
    since_ns = _since(since)
    known = queries.session_of(db, session)
    turn = queries.last_turn(db, session)
    pending = queries.pending(db, session)
    failures = queries.unresolved_failures(db, session)
    lost = queries.out_of_context(db, session)
    loops = queries.loops(db, session)
    entries = queries.state(db, session)
    reported = queries.self_reported(db, session)
    most = rows_for(budget)
    happened: list[Commit] = []
    if since_ns:
        happened = queries.log(db, session, since_ns=since_ns, limit=_MOST_SESSIONS)
        fresh = {row.commit_id for row in happened}
        failures = [row for row in failures if row.commit_id in fresh]
        lost = [row for row in lost if row.evicted_at.timestamp() * 1e9 >= since_ns or row.commit_id in fresh]
        entries = [row for row in entries if row.commit_id in fresh]
    counts = f"turn {turn}, {known.commits:,} commits, {known.failures:,} failed, {known.in_flight} in flight"
    head = f"session {quoted(session, 100)}, {lines.word(known.status)}: {counts}. {IN_QUOTES}"
    facts, decisions, others = _entries(entries)

    def told(title: str, rows: Sequence[Row], tell: Callable[[Row, int], str], more: str) -> Section:
        shown = [tell(row, _MOST_OF_A_LINE) for row in rows[:most]]
        return Section(f"{title} ({len(rows):,}):", shown, more, len(rows))

    def as_entry(row: Entry, longest: int) -> str:
        return lines.entry(row, longest, reported)

    sections = (
        told("in a loop", loops, lines.loop, "log"),
        told("not finished", pending, lines.pending, "larger max_tokens"),
        told("failed, and has not succeeded since", failures, lines.failed, "log with failed"),
        told("happened since", happened, lines.commit, "log"),
        told("no longer in your context", lost, lines.lost, "larger max_tokens"),
        told("facts", facts, as_entry, "larger max_tokens"),
        told("decisions", decisions, as_entry, "log with kind decision"),
        told("touched", others, as_entry, "working_set"),
    )
    text = fit(head, sections, budget - _CURSOR_LINE)
    nothing = "\nnothing new" if since_ns and not any(section.lines for section in sections) else ""
    return f"{text}{nothing}\nsince: s{(asked_ns - _OVERLAP_NS) // 10**6:x}"


def _since(cursor: str) -> int:
    if not cursor:
        return 0
    try:
        if cursor[0] == "s":
            return int(cursor[1:], 16) * 10**6
    except ValueError:
        pass
    raise StaleCursor(f"{cursor[:40]!r} does not stand in the last line of an answer of whats_my_state. Leave it out.")


def _entries(entries: list[Entry]) -> tuple[list[Entry], list[Entry], list[Entry]]:
    """Facts; decisions, those with a name before those of single calls; files, sources and what else is held."""
    decisions = [row for row in entries if row.kind == "decision"]
    return (
        [row for row in entries if row.kind == "fact"],
        sorted(decisions, key=lambda row: lines.is_by_itself(row.key)),
        [row for row in entries if row.kind in ("file", "source", "state")],
    )


def log(db: Database, session: str, budget: int, *, turn: int, tool: str, failed: bool, kind: str, cursor: str) -> str:
    before = _commit_before(db, cursor)
    rows = queries.log(db, session, turn=turn, tool=tool, failed=failed, kind=kind, before=before, limit=rows_for(budget))
    head = f"log of session {quoted(session, 100)}, newest first. {IN_QUOTES}"
    return page(head, rows, lines.commit, lambda shown: f"c{rows[shown - 1].commit_id}", budget, "no commits")


def _commit_before(db: Database, cursor: str) -> str:
    if not cursor:
        return ""
    if cursor[0] == "c":
        try:
            return queries.find_commit(db, cursor[1:]).commit_id
        except NotFound:
            pass
    raise StaleCursor(f"{cursor[:40]!r} is no cursor of this question, or what it stands for is gone. Leave it out.")


def sessions(db: Database, budget: int, cursor: str) -> str:
    rows = remaining(queries.sessions(db, _MOST_SESSIONS), lambda row: row.session_id, cursor)
    after = cursor_after(rows, lambda row: row.session_id)
    return page(f"sessions, newest first. {IN_QUOTES}", rows, lines.session, after, budget, "no session")


def working_set(db: Database, session: str, budget: int, *, last_turns: int, cursor: str) -> str:
    everything = queries.working_set(db, session, last_turns or _ALL_TURNS)
    rows = remaining(everything, lambda row: (row.kind, row.key), cursor)
    head = f"working set of session {quoted(session, 100)}, {len(everything):,} entries, newest first. {IN_QUOTES}"
    return page(head, rows, lines.touched, cursor_after(rows, lambda row: (row.kind, row.key)), budget, "nothing touched")


def diff(db: Database, session: str, budget: int, *, turn_a: int, turn_b: int, cursor: str) -> str:
    newest = queries.last_turn(db, session)
    after = turn_b or newest
    before = turn_a if turn_a >= 0 else max(after - 1, 0)
    found = queries.diff(db, session, before, after)
    told: list[tuple[object, Callable[[int], str]]] = [
        *((("decided", row.commit_id), partial(lines.decided, row)) for row in found.decisions),
        *((("failed", row.commit_id), partial(lines.failed, row)) for row in found.failures),
        *(((row.kind, row.key), partial(lines.difference, row)) for row in found.differences),
    ]
    head = (
        f"session {quoted(session, 100)} from the state after turn {before} to that after turn {after}: "
        f"{len(found.decisions)} decisions, {len(found.failures)} failures, {len(found.differences)} entries. {IN_QUOTES}"
    )
    rows = remaining(told, lambda row: row[0], cursor)
    after_row = cursor_after(rows, lambda row: row[0])
    return page(head, rows, lambda row, most: row[1](most), after_row, budget, "no difference")


def why(db: Database, commit_id: str, budget: int, *, cursor: str) -> str:
    commit = find_commit(db, commit_id)
    found = queries.why(db, commit)
    unverified = [
        f"- {lines.short_id(row.source_commit)} {quoted(row.source_tool, 60)} (turn {row.source_turn})"
        for row in found.built_on
    ]
    head = "\n".join(
        [
            f"why, in session {quoted(commit.session_id, 100)}. {IN_QUOTES}",
            lines.commit(commit, _MOST_OF_A_LINE),
            "decided by:" if found.decision else "no model call is known to have decided it",
            *([lines.commit(found.decision, _MOST_OF_A_LINE)] if found.decision else []),
            f"built on unverified results ({len(unverified)}):"
            if unverified
            else "built on no unverified result that is known",
            *unverified[:5],
            *(["- and more"] if len(unverified) > 5 else []),
            f"what the model saw then ({len(found.context)} messages), newest first:" if found.context else "",
        ]
    ).rstrip("\n")
    rows = remaining(found.context[::-1], lambda row: (row.position, row.message_hash), cursor)
    after = cursor_after(rows, lambda row: (row.position, row.message_hash))
    return page(head, rows, lines.seen, after, budget, "its context is not known")


def blame(db: Database, path: str, budget: int, *, folder: str, cursor: str) -> str:
    everything = queries.blame(db, path, folder)
    rows = remaining(everything, lambda row: (row.commit_id, row.path, row.action), cursor)
    head = f"who changed {quoted(path, 200)}: {len(everything):,} changes, newest first. {IN_QUOTES}"
    return page(head, rows, lines.change, cursor_after(rows, lambda row: (row.commit_id, row.path, row.action)), budget)


def search(db: Database, text: str, session: str, budget: int, *, cursor: str) -> str:
    before = _commit_before(db, cursor)
    rows = queries.search(db, text, session, before=before, limit=rows_for(budget))
    where = f"in session {quoted(session, 100)}" if session else "in all sessions"
    head = f"commits with {quoted(text, 100)} {where}, newest first. {IN_QUOTES}"
    return page(head, rows, lines.found, lambda shown: f"c{rows[shown - 1].commit_id}", budget, "nothing found")


def show(db: Database, commit_id: str, budget: int, *, part: str, cursor: str) -> str:
    """A commit; with `part`, the input or the output that was captured of it, as much as fits from the cursor on."""
    commit = find_commit(db, commit_id)
    if part:
        digest = commit.input_hash if part == "input" else commit.output_hash
        return _content(commit, part, queries.blob(db, digest) if digest else None, budget, cursor)
    decision = queries.decision_of(db, commit)
    told = [
        f"commit {lines.short_id(commit.commit_id)} of session {quoted(commit.session_id, 100)}, at "
        f"{commit.committed_at:%Y-%m-%dT%H:%M:%SZ}, {commit.duration_ms:.0f} ms. {IN_QUOTES}",
        lines.commit(commit, 240),
        *([lines.decided(decision, 240)] if decision else []),
    ]
    for name, digest in (("input", commit.input_hash), ("output", commit.output_hash)):
        text = queries.blob(db, digest) if digest else None
        if text is not None:
            told.append(f"captured {name}: {len(text):,} characters, about {estimate(text):,} tokens: show with part {name}")
    return fit(
        told[0], [Section(told[1], told[2:] or ["no content was captured"]), Section("changes:", _changes(commit), "")], budget
    )


def _changes(commit: Commit) -> list[str]:
    import orjson

    delta = orjson.loads(commit.delta or "[]")
    return [
        f"- {lines.word(str(each.get('op', '')))} {lines.word(str(each.get('kind', '')))} {quoted(str(each.get('key', '')))}"
        + (f": {quoted(str(each['value']))}" if each.get("value") else "")
        for each in delta
        if isinstance(each, dict)
    ]


def _content(commit: Commit, part: str, text: str | None, budget: int, cursor: str) -> str:
    if text is None:
        raise NotFound(
            f"the {part} of {commit.commit_id} was not captured: only its summary is known, which show gives without part. "
            "Content is captured with TURNLOG_CAPTURE=full."
        )
    if cursor and not (cursor[0] == "o" and cursor[1:].isdigit()):
        raise StaleCursor(f"{cursor[:40]!r} is no cursor of this question. Leave it out to begin anew.")
    start = min(int(cursor[1:] or 0) if cursor else 0, len(text))
    head = f"{part} of commit {lines.short_id(commit.commit_id)}, characters {start:,} to %s of {len(text):,}. {IN_QUOTES}"
    length = _fitting(text, start, budget - estimate(head) - 2 * _CURSOR_LINE)
    end = start + length
    more = f"\nmore: the same with cursor o{end}" if end < len(text) else ""
    return f"{head % f'{end:,}'}\n{quoted(text[start:end], length + 1)}{more}"


def _fitting(text: str, start: int, room: int) -> int:
    """How many characters from there on fit in quotes: at least some, so that whoever asks on comes to an end."""
    length = min(len(text) - start, room * 4)
    while length > 20 and estimate(quoted(text[start : start + length], length + 1)) > room:
        length = length * 3 // 4
    return length


def resume_brief(db: Database, session: str, budget: int) -> str:
    return compose_brief(queries.session_state(db, session), budget)


def find_commit(db: Database, commit_id: str) -> Commit:
    """The commit that a beginning of its id names; where there is none, the newest are named."""
    try:
        return queries.find_commit(db, commit_id)
    except NotFound as error:
        if "several" in str(error):
            raise
        session = queries.find_session(db)
        newest = ", ".join(lines.short_id(row.commit_id) for row in queries.log(db, session, limit=3))
        raise NotFound(f"there is no commit {quoted(commit_id, 60)}. The newest are: {newest}. Others: log, search.") from None
