"""The answers: each asks one function of `queries` and tells its rows within a budget."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from turnlog import queries, telling
from turnlog.errors import NotFound
from turnlog.mcp_server import lines
from turnlog.mcp_server.lines import quoted
from turnlog.mcp_server.paging import StaleCursor, cursor_after, page, remaining, rows_for
from turnlog.queries import Commit, Database
from turnlog.resume_brief import resume_brief as compose_brief
from turnlog.telling import IN_QUOTES
from turnlog.tokens import Section, estimate, fit

_ALL_TURNS = 2**31
_MOST_ROWS = 10_000
_MOST_OF_A_LINE = 120
_MOST_OF_A_SUMMARY = 240
# Two processes can write in another order than their calls ended in.
_OVERLAP_NS = 2 * 10**9
_CURSOR_LINE = 30
_SAMPLE = 20_000


class _Part(NamedTuple):
    """Rows of one subject of a session's state. `more`: which question has all of them; without one, this with its name."""

    name: str
    title: str
    rows: Sequence[Any]
    tell: Callable[[Any, int], str]
    identity: Callable[[Any], object]
    more: str = ""


def whats_my_state(db: Database, session: str, budget: int, *, since: str = "", part: str = "", cursor: str = "") -> str:
    """What a session holds, what is open, what failed and what left the context; or what of that is new since a cursor. With
    `part`, only the rows of that subject, page by page."""
    asked_ns = time.time_ns()
    since_ns = _since(since)
    known = queries.session_of(db, session)
    turn = queries.last_turn(db, session)
    parts = _parts(db, session, since_ns)
    if cursor and not part:
        raise StaleCursor("a cursor of whats_my_state goes with the part that it was given for. Name it, or leave both out.")
    counts = f"turn {turn}, {lines.count(known.commits, 'commit')}, {known.failures:,} failed, {known.in_flight} in flight"
    head = f"session {_named(session)}, {lines.word(known.status)}: {counts}. {IN_QUOTES}"
    if part:
        chosen = next(each for each in parts if each.name == part)
        head = f"{head}\n{chosen.title} ({len(chosen.rows):,}):"
        rows = remaining(chosen.rows, chosen.identity, cursor)
        return page(head, rows, chosen.tell, cursor_after(rows, chosen.identity), budget, "none")
    most = rows_for(budget)
    sections = [
        Section(
            f"{each.title} ({len(each.rows):,}):",
            [each.tell(row, _MOST_OF_A_LINE) for row in each.rows[:most]],
            each.more or f"whats_my_state with part {each.name}",
            len(each.rows),
        )
        for each in parts
    ]
    text = fit(head, sections, budget - _CURSOR_LINE)
    nothing = "\nnothing new" if since_ns and not any(each.rows for each in parts) else ""
    return f"{text}{nothing}\nsince: s{(asked_ns - _OVERLAP_NS) // 10**6:x}"


def _parts(db: Database, session: str, since_ns: int) -> list[_Part]:
    """What is most urgent comes first, though each has its share of the room. What is open is told anew each time."""
    failures = queries.unresolved_failures(db, session)
    lost = queries.out_of_context(db, session)
    entries = queries.state(db, session)
    decisions = queries.standing_decisions(db, session)
    reported = queries.self_reported(db, session)
    happened: list[Commit] = []
    if since_ns:
        happened = queries.log(db, session, since_ns=since_ns, limit=_MOST_ROWS)
        fresh = {row.commit_id for row in happened}
        failures = [row for row in failures if row.commit_id in fresh]
        lost = [row for row in lost if row.commit_id in fresh]
        entries = [row for row in entries if row.commit_id in fresh]
        decisions = [row for row in decisions if row.commit_id in fresh]
    as_entry, as_decided = partial(lines.entry, reported=reported), partial(lines.decided, reported=reported)
    return [
        _Part("loops", "in a loop", queries.loops(db, session), lines.loop, _commit_of),
        _Part(
            "pending", "not finished", queries.pending(db, session), lines.pending, lambda row: (row.action_id, row.commit_id)
        ),
        _Part("failures", "failed, and has not succeeded since", failures, lines.failed, _commit_of),
        _Part("happened", "happened since", happened, lines.commit, _commit_of, "log"),
        _Part("evicted", "no longer in your context", lost, lines.lost, lambda row: (row.kind, row.key, row.commit_id)),
        _Part("facts", "facts", [row for row in entries if row.kind == "fact"], as_entry, lambda row: row.key),
        _Part("decisions", "decided", [row for row in decisions if not row.model], as_decided, _commit_of),
        _Part(
            "steps",
            "your last choices",
            [row for row in decisions if row.model],
            as_decided,
            _commit_of,
            "log with kind decision",
        ),
        _Part(
            "touched",
            "touched",
            [row for row in entries if row.kind in ("file", "source", "state")],
            as_entry,
            lambda row: (row.kind, row.key),
            "working_set",
        ),
    ]


def _commit_of(row: Any) -> object:
    return row.commit_id


def _named(session: str) -> str:
    return quoted(session, 100)


def _since(cursor: str) -> int:
    if not cursor:
        return 0
    try:
        if cursor[0] == "s":
            return int(cursor[1:], 16) * 10**6
    except ValueError:
        pass
    raise StaleCursor(f"{cursor[:40]!r} does not stand in the last line of an answer of whats_my_state. Leave it out.")


def log(db: Database, session: str, budget: int, *, turn: int, tool: str, failed: bool, kind: str, cursor: str) -> str:
    newest = queries.last_turn(db, session)
    if not 0 <= turn <= newest:
        raise NotFound(f"session {_named(session)} has turns 1 to {newest}; there is no turn {turn}.")
    before = _commit_before(db, cursor)
    rows = queries.log(db, session, turn=turn, tool=tool, failed=failed, kind=kind, before=before, limit=rows_for(budget))
    head = f"log of session {_named(session)}, newest first. {IN_QUOTES}"
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
    rows = remaining(queries.sessions(db, _MOST_ROWS), lambda row: row.session_id, cursor)
    after = cursor_after(rows, lambda row: row.session_id)
    return page(f"sessions, newest first. {IN_QUOTES}", rows, lines.session, after, budget, "no session")


def working_set(db: Database, session: str, budget: int, *, last_turns: int, cursor: str) -> str:
    everything = queries.working_set(db, session, last_turns or _ALL_TURNS)
    rows = remaining(everything, lambda row: (row.kind, row.key), cursor)
    head = f"working set of session {_named(session)}, {len(everything):,} touched, newest first. {IN_QUOTES}"
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
        f"session {_named(session)} from the state after turn {before} to that after turn {after}: "
        f"{lines.count(len(found.decisions), 'decision')}, {lines.count(len(found.failures), 'failure')}, "
        f"{lines.count(len(found.differences), 'difference')}. {IN_QUOTES}"
    )
    rows = remaining(told, lambda row: row[0], cursor)
    after_row = cursor_after(rows, lambda row: row[0])
    return page(head, rows, lambda row, most: row[1](most), after_row, budget, "no difference")


def why(db: Database, commit_id: str, budget: int, *, cursor: str) -> str:
    commit = _find_commit(db, commit_id)
    found = queries.why(db, commit)
    most = min(_MOST_OF_A_LINE, budget // 16)
    unverified = [
        f"- {lines.short_id(row.source_commit)} {quoted(row.source_tool, most)} (turn {row.source_turn})"
        for row in found.built_on
    ]
    head = "\n".join(
        [
            f"why, in session {_named(commit.session_id)}. {IN_QUOTES}",
            lines.commit(commit, most),
            "decided by:" if found.decision else "no model call is known to have decided it",
            *([lines.commit(found.decision, most)] if found.decision else []),
            f"built on unverified results ({len(unverified)}):"
            if unverified
            else "built on no unverified result that is known",
            *unverified[:5],
            *(["- and more"] if len(unverified) > 5 else []),
            f"what the model saw then ({lines.count(len(found.context), 'message')}), newest first:" if found.context else "",
        ]
    ).rstrip("\n")
    rows = remaining(found.context[::-1], lambda row: (row.position, row.message_hash), cursor)
    after = cursor_after(rows, lambda row: (row.position, row.message_hash))
    return page(head, rows, lines.seen, after, budget, "its context is not known")


def blame(db: Database, path: str, budget: int, *, folder: str, cursor: str) -> str:
    everything = queries.blame(db, path, folder)
    rows = remaining(everything, lambda row: (row.commit_id, row.path, row.action), cursor)
    head = f"who changed {quoted(path, 100)}: {lines.count(len(everything), 'change')}, newest first. {IN_QUOTES}"
    return page(head, rows, lines.change, cursor_after(rows, lambda row: (row.commit_id, row.path, row.action)), budget)


def search(db: Database, text: str, session: str, budget: int, *, cursor: str) -> str:
    before = _commit_before(db, cursor)
    rows = queries.search(db, text, session, before=before, limit=rows_for(budget))
    where = f"in session {_named(session)}" if session else "in all sessions"
    head = f"commits with {quoted(text, 100)} {where}, newest first. {IN_QUOTES}"
    return page(head, rows, lines.found, lambda shown: f"c{rows[shown - 1].commit_id}", budget, "nothing found")


def show(db: Database, commit_id: str, budget: int, *, part: str, cursor: str) -> str:
    """A commit; with `part`, the input or the output that was captured of it, as much as fits from the cursor on."""
    commit = _find_commit(db, commit_id)
    if part:
        digest = commit.input_hash if part == "input" else commit.output_hash
        return _content(commit, part, queries.blob(db, digest) if digest else None, budget, cursor)
    decision = queries.decision_of(db, commit)
    most = min(_MOST_OF_A_SUMMARY, budget // 16)
    told = [
        f"commit {lines.short_id(commit.commit_id)} of session {_named(commit.session_id)}, at "
        f"{commit.committed_at:%Y-%m-%dT%H:%M:%SZ}, {commit.duration_ms:.0f} ms. {IN_QUOTES}",
        lines.commit(commit, most),
        *([lines.decided(decision, most)] if decision else []),
    ]
    for name, digest in (("input", commit.input_hash), ("output", commit.output_hash)):
        text = queries.blob(db, digest) if digest else None
        if text is not None:
            told.append(f"captured {name}: {len(text):,} characters, about {_about(text):,} tokens: show with part {name}")
    return fit(
        told[0], [Section(told[1], told[2:] or ["no content was captured"]), Section("changes:", _changes(commit), "")], budget
    )


def _about(text: str) -> int:
    """How many tokens, as its beginning has them: to read a text of megabytes to its end takes seconds."""
    head = text[:_SAMPLE]
    return estimate(head) * len(text) // max(len(head), 1)


def _changes(commit: Commit) -> list[str]:
    import orjson

    delta = orjson.loads(commit.delta or "[]")
    told = [{name: str(value) for name, value in each.items()} for each in delta if isinstance(each, dict)]
    return [
        f"- {lines.word(each.get('op', ''))} {lines.word(each.get('kind', ''))} {quoted(each.get('key', ''), 100)}"
        + (f": {quoted(each['value'], 200)}" if each.get("value") else "")
        for each in told
    ]


def _content(commit: Commit, part: str, text: str | None, budget: int, cursor: str) -> str:
    if text is None:
        raise NotFound(
            f"the {part} of {commit.commit_id} was not captured: only its summary is known, which show gives without part. "
            "Content is captured with TURNLOG_CAPTURE=full."
        )
    if cursor and not re.fullmatch(r"o[0-9]{1,12}", cursor):
        raise StaleCursor(f"{cursor[:40]!r} is no cursor of this question. Leave it out to begin anew.")
    start = min(int(cursor[1:]) if cursor else 0, len(text))
    head = f"{part} of commit {lines.short_id(commit.commit_id)}, characters {start:,} to %s of {len(text):,}. {IN_QUOTES}"
    length = _fitting(text, start, budget - estimate(head) - 2 * _CURSOR_LINE)
    end = start + length
    more = f"\nmore: the same with cursor o{end}" if end < len(text) else ""
    return f"{head % f'{end:,}'}\n{telling.quoted(text[start:end], length + 1)}{more}"


def _fitting(text: str, start: int, room: int) -> int:
    """How many characters from there on fit in quotes: at least some, so that whoever asks on comes to an end."""
    length = min(len(text) - start, room * 4)
    while length > 20 and estimate(telling.quoted(text[start : start + length], length + 1)) > room:
        length = length * 3 // 4
    return length


def resume_brief(db: Database, session: str, budget: int) -> str:
    return compose_brief(queries.session_state(db, session), budget)


def _find_commit(db: Database, commit_id: str) -> Commit:
    try:
        return queries.find_commit(db, commit_id)
    except NotFound as error:
        if "several" in str(error):
            raise
        near = ", ".join(map(lines.short_id, queries.nearest_commits(db, commit_id)))
        hint = f"Nearest: {near}." if near else "Nothing has been recorded yet."
        raise NotFound(f"there is no commit {quoted(commit_id, 60)}. {hint} All ids are in log.") from None
