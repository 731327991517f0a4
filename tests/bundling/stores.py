"""Two stores, what goes from one to the other, and all that each of them says."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from turnlog import queries
from turnlog.bundling.loading import Unbundled, unbundle
from turnlog.bundling.writing import write_bundle
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.reading import Reading
from turnlog.store.schema import questions

Rows = list[tuple[Any, ...]]
Said = dict[str, Rows]

# Their keys are the store's own.
_TABLES = {
    "spans": "p.process_id, x.session_id, t.* exclude (process_key, session_key)",
    "open_spans": "p.process_id, x.session_id, t.* exclude (process_key, session_key)",
    "context_changes": "p.process_id, x.session_id, t.* exclude (process_key, session_key)",
    "lifecycle": "p.process_id, x.session_id, t.* exclude (process_key, session_key)",
    "leases": "p.process_id, x.session_id, t.* exclude (process_key, session_key)",
    "losses": "p.process_id, t.* exclude (process_key)",
    "deltas": "x.session_id, t.* exclude (session_key)",
    "interrupted": "x.session_id, t.* exclude (session_key)",
    "sessions": "t.* exclude (session_key)",
    "scopes": "x.session_id, t.* exclude (session_key)",
    "doubts": "x.session_id, t.* exclude (session_key)",
    "checks": "x.session_id, t.* exclude (session_key)",
    "blobs": "t.*",
}


def sessions_of(settings: Settings) -> list[str]:
    with queries.reading(settings) as db:
        return [name for (name,) in db.execute("select session_id from session_rows order by session_id").fetchall()]


def bundle(settings: Settings, *sessions: str) -> io.BytesIO:
    """These sessions, or all."""
    file = io.BytesIO()
    with queries.reading(settings) as db:
        write_bundle(db, sessions or sessions_of(settings), file, settings.directory)
    return file


def carry(source: Settings, target: Settings, *sessions: str) -> Unbundled:
    return unbundle(target, bundle(source, *sessions))


def beside(settings: Settings, name: str = "other") -> Settings:
    """Another machine."""
    return Settings(directory=Path(settings.directory).with_name(name))


def said(settings: Settings) -> Said:
    """What every view and every macro of the core says, and what the tables below them hold."""
    found: Said = {}
    with Store(settings).reading() as db:
        for question in questions():
            if question.kind == "view":
                found[question.name] = _without_keys(db, f"from {question.name}")
        # The first session's: everything else that macros could answer follows from the tables.
        name, turn, commit = db.execute(
            "select session_id, max(turn), max(commit_id) from commits group by session_id order by session_id limit 1"
        ).fetchall()[0]
        given = {
            "p_session": name,
            "p_turn": turn,
            "p_last_turns": 2,
            "p_commit": commit,
            "p_path": "a.py",
            "p_session_a": name,
            "p_session_b": name,
            "p_turn_a": 1,
            "p_turn_b": turn,
            "p_keys": [],
        }
        for question in questions():
            if question.kind == "macro":
                values = [_literal(given.get(parameter, "a")) for parameter in question.parameters.strip("()").split(", ")]
                found[question.name] = _without_keys(db, f"from {question.name}({', '.join(values)})")
        return found | _held(db)


def held(settings: Settings) -> Said:
    """What the tables hold, from which all that is said follows."""
    with Store(settings).reading() as db:
        return _held(db)


def _held(db: Reading) -> Said:
    found: Said = {}
    for table, columns in _TABLES.items():
        of_process = "join raw.processes as p using (process_key)" if "p." in columns else ""
        of_session = "join raw.sessions as x using (session_key)" if "x." in columns else ""
        query = f"select {columns} from raw.{table} as t {of_process} {of_session} order by all"
        found[f"raw.{table}"] = db.execute(query).fetchall()
    wrote = "(select process_key from raw.spans union all select process_key from raw.open_spans)"
    found["processes"] = db.execute(
        f"select process_id, host, pid, resource from raw.processes where process_key in {wrote} order by all"
    ).fetchall()
    return found


def _without_keys(db: Reading, query: str) -> Rows:
    return db.execute(f"select columns(lambda c: c <> 'process_key') {query} order by all").fetchall()


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int | list) else "'" + str(value).replace("'", "''") + "'"


def different(here: Said, there: Said) -> dict[str, tuple[Rows, Rows]]:
    """Of each answer that differs, the rows that only one side has."""
    return {
        name: ([row for row in here[name] if row not in there[name]], [row for row in there[name] if row not in here[name]])
        for name in here
        if here[name] != there[name]
    }
