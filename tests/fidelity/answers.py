"""What turnlog's views answer about a run, in the words in which the truth is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from fidelity.case import KINDS, Facts, cut
from turnlog.queries import Database

_SAID = """
    (select max(d.output_summary) from commits as d where d.session_id = {row}.session_id and d.kind = 'decision' and {by})
"""


def answers(db: Database, folder: Path, turns_seen: Iterable[tuple[str, int]]) -> Facts:
    facts: Facts = {kind: Counter() for kind in KINDS}
    names = _first_inputs(db)
    for kind, rows in {
        "session": _sessions(db),
        "turn": db.execute("select session_id, turn, input_summary from turns").fetchall(),
        "context": [
            row for who, turn in turns_seen for name in names if names[name] == who for row in _context(db, name, turn)
        ],
        "tool": _tools(db),
        "eviction": _evictions(db),
        "file": _files(db, folder),
        "retry": _retries(db),
        "taint": _taint(db),
        "unfinished": _unfinished(db),
    }.items():
        for session, *row in rows:
            facts[kind][names.get(session, session), *(cut(value) if isinstance(value, str) else value for value in row)] += 1
    return facts


def _first_inputs(db: Database) -> dict[str, str]:
    """Sessions are compared by what they began with: most ids are made up as the program runs."""
    return {
        session: cut(text)
        for session, text in db.execute("select session_id, input_summary from turns where turn = 1").fetchall()
    }


def _sessions(db: Database) -> list[tuple[object, ...]]:
    found = db.execute("select session_id, turns from sessions").fetchall()
    return [(session, "" if _is_made_up(session) else session, turns) for session, turns in found]


def _is_made_up(session: str) -> bool:
    try:
        return str(UUID(session)) == session
    except ValueError:
        return False


def _context(db: Database, session: str, turn: int) -> list[tuple[object, ...]]:
    said = "(select max(d.output_summary) from commits as d where d.session_id = $session and d.commit_id = c.source_commit)"
    found = db.execute(
        f"""
        select c.role, c.tool_call_id, case when c.role = 'assistant' then coalesce({said}, c.summary) else c.summary end
        from context_at($session, $turn) as c
        order by c.position
        """,
        {"session": session, "turn": turn},
    ).fetchall()
    return [
        (session, turn, place, f"result: {call}" if call else f"{role}: {text}")
        for place, (role, call, text) in enumerate(found)
    ]


def _tools(db: Database) -> list[tuple[object, ...]]:
    asked_by = _SAID.format(row="t", by="d.span_id = t.decision_id and t.decision_id <> ''")
    found = db.execute(f"""
        select t.session_id, t.turn, t.tool, t.outcome, t.outcome_source, coalesce({asked_by}, '')
        from commits as t
        where t.kind = 'tool'
    """).fetchall()
    return [
        (session, turn, tool, f"{outcome} inferred" if source == "inferred" and outcome != "ok" else outcome, said)
        for session, turn, tool, outcome, source, said in found
    ]


def _evictions(db: Database) -> list[tuple[object, ...]]:
    decided = _SAID.format(row="e", by="e.kind = 'decision' and d.span_id = e.key")
    said = """
        (
            select max(d.output_summary)
            from context_messages as m
            join commits as d on d.session_id = m.session_id and d.commit_id = m.decision_commit
            where m.session_id = e.session_id and e.kind = 'message' and m.message_key = e.key
        )
    """
    found = db.execute(
        f"select e.session_id, e.turn, e.kind, e.role, e.key, coalesce({decided}, {said}, e.summary) from evictions as e"
    ).fetchall()
    return [
        (
            session,
            turn,
            f"{role if kind == 'message' else kind}: {summary if kind in ('message', 'decision') else key}",
        )
        for session, turn, kind, role, key, summary in found
    ]


def _files(db: Database, folder: Path) -> list[tuple[object, ...]]:
    found = db.execute("""
        select d.session_id, t.turn, d.entry_key, d.action, d.renamed_from, d.evidence, d.tool
        from delta_rows as d
        join turn_numbers as t on t.session_id = d.session_id and t.turn_id = d.turn_id
        where d.entry_kind = 'file' and d.op <> 'evict'
    """).fetchall()
    return [
        (session, turn, _below(path, folder), f"{action} from {_below(old, folder)}" if old else action, evidence, tool)
        for session, turn, path, action, old, evidence, tool in found
    ]


def _below(path: str, folder: Path) -> str:
    return path.removeprefix(f"{folder}/")


def _retries(db: Database) -> list[tuple[object, ...]]:
    return db.execute(
        "select session_id, turn, case when kind = 'turn' then 'turn' else tool end, original_turn, attempt from retries"
    ).fetchall()


def _taint(db: Database) -> list[tuple[object, ...]]:
    decided = _SAID.format(row="c", by="d.commit_id = c.decision_commit")
    return db.execute(
        f"select c.session_id, c.turn, c.source_tool, {decided}, c.tool, c.turns_later, c.how from contamination as c"
    ).fetchall()


def _unfinished(db: Database) -> list[tuple[object, ...]]:
    return db.execute("select session_id, turn, status, action from pending_actions").fetchall()
