"""`turnlog context`, `log --evicted` and `state --evicted`: what the model could see, what left, and what it no longer sees."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from turnlog import queries
from turnlog.cli.asking import asking, known_turn
from turnlog.cli.hints import hint, same
from turnlog.cli.render import Styled, Text, clock, count, day_time, from_json, record, screen, short
from turnlog.queries import Eviction, Message, OutOfContext

_USUAL = 20
_MOST_OF_A_KIND = 12


def context(options: argparse.Namespace) -> int:
    with asking() as db:
        session = queries.find_session(db, options.session)
        turn = known_turn(db, session, options.turn) or queries.last_model_turn(db, session)
        found = queries.context(db, session, turn)
    out = screen()
    if options.json:
        for message in found:
            out.json(record(message))
        return 0
    if found:
        saw = f"{count(len(found), 'message')} that model call {short(found[0].commit_id)} saw"
        out.line(Styled(f"session {session}  turn {turn}  {saw}", "dim"))
    else:
        out.line(Styled(f"session {session}", "dim"))
        out.line("no model call is recorded with what it saw")
    out.table([_message_row(message) for message in found])
    return 0


def _message_row(message: Message) -> tuple[Text, ...]:
    source = f"{message.tool} {short(message.source_commit)}".strip()
    said = message.summary or Styled("(no summary)", "dim")
    return (Styled(message.role, "cyan"), f"turn {message.turn}", Styled(source, "dim"), said)


def evicted_log(options: argparse.Namespace) -> int:
    """The commits with which something left the context, each with what left."""
    with asking() as db:
        session = queries.find_session(db, options.session)
        known_turn(db, session, options.turn)
        limit = options.limit or _USUAL
        found = queries.evictions(db, session, turn=options.turn, tool=options.tool or "", limit=limit + 1)
        commits = list(dict.fromkeys(row.commit_id for row in found))
        found = [row for row in found if row.commit_id in commits[:limit]]
        turns = {row.turn: row for row in queries.turns(db, session, sorted({row.turn for row in found}))} if found else {}
    out = screen()
    if options.json:
        for row in found:
            out.json(record(row))
        return 0
    out.line(Styled(f"session {session}", "dim"))
    if not found:
        out.line("nothing has left the context")
    for number, of_turn in groupby(found, key=lambda row: row.turn):
        turn = turns[number]
        out.line(Styled(f"turn {number}", "bold"), "  ", Styled(day_time(turn.started_at), "dim"), "  ", turn.input_summary)
        for commit_id, of_commit in groupby(of_turn, key=lambda row: row.commit_id):
            rows = list(of_commit)
            out.line(
                Styled(short(commit_id), "yellow"),
                f"  {clock(rows[0].evicted_at)}  ",
                Styled(rows[0].reason or "evicted", "cyan"),
                f"  {_kinds(row.kind for row in rows)}",
            )
            out.table([(row.kind, *_what(row)) for row in rows], indent="  ")
    if len(commits) > limit and not options.limit:
        hint(out, "there is more", "log", n=2 * limit, **same(options))
    return 0


def evicted_state(options: argparse.Namespace) -> int:
    """What the model could see once and no longer can."""
    with asking() as db:
        session = queries.find_session(db, options.session)
        turn = known_turn(db, session, options.turn)
        found = queries.out_of_context(db, session, turn)
        newest = queries.last_turn(db, session)
    out = screen()
    if options.json:
        for row in found:
            out.json(record(row))
        return 0
    out.line(Styled(f"session {session}  out of context after turn {turn or newest}", "dim"))
    if not found:
        out.line("nothing: the model can see all that it ever saw")
    for kind, of_kind in groupby(found, key=lambda row: row.kind):
        rows = list(of_kind)
        out.line(Styled(kind, "bold"))
        out.table([_left(row) for row in rows[:_MOST_OF_A_KIND]], indent="  ")
        if rows[_MOST_OF_A_KIND:]:
            hint(out, f"  and {count(len(rows) - _MOST_OF_A_KIND, 'earlier one')}", "state", **same(options), json=True)
    return 0


def left_by(delta: str) -> str:
    """How much of what an eviction's delta takes from the context."""
    changes = from_json(delta)
    return _kinds(str(change.get("kind", "")) for change in changes if isinstance(change, dict)) if changes else "nothing"


def _kinds(found: Iterable[str]) -> str:
    return ", ".join(count(number, kind) for kind, number in Counter(found).items())


def _left(row: OutOfContext) -> tuple[Text, ...]:
    label, since, *said = _what(row)
    why = f": {row.reason}" if row.reason else ""
    return (label, since, f"left in turn {row.turn}{why}", *said)


def _what(row: Eviction | OutOfContext) -> tuple[Text, ...]:
    """What an entry is called, since which turn the model knew it, from which commit, and what it was."""
    # What a model decided in a message is kept under the id of a span, which no command takes.
    name = {"message": row.role, "result": row.tool or row.key, "decision": "" if row.role else row.key}
    since = f"turn {row.introduced_in}" if row.introduced_in else "-"
    return name.get(row.kind, row.key), since, Styled(short(row.source_commit), "dim"), row.summary
