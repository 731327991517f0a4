"""What was touched, and by whom."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from turnlog.errors import NotFound
from turnlog.queries.asking import Database, rows, some
from turnlog.queries.entry import Entry


class ModifiedFile(NamedTuple):
    path: str
    last_action: str
    evidence: str
    renamed_from: str
    turn: int
    modifications: int
    tool: str
    commit_id: str
    changed_at: datetime


class FileChange(NamedTuple):
    path: str
    action: str
    evidence: str
    renamed_from: str
    renamed_to: str
    content_hash: str
    changed_at: datetime
    session_id: str
    turn: int
    commit_id: str
    tool: str
    input_summary: str
    outcome: str
    decision_commit_id: str
    choice: str
    reason: str
    model: str
    folder: str


class Touched(NamedTuple):
    kind: str
    key: str
    last_action: str
    evidence: str
    renamed_from: str
    turn: int
    touches: int
    tool: str
    commit_id: str
    changed_at: datetime


def files_modified(db: Database, session: str, last_turns: int) -> list[ModifiedFile]:
    return rows(db, ModifiedFile, "from files_modified(?, ?) order by turn desc, changed_at desc, path", [session, last_turns])


def working_set(db: Database, session: str, last_turns: int) -> list[Touched]:
    return rows(db, Touched, "from working_set(?, ?) order by turn desc, changed_at desc, key", [session, last_turns])


def touches_by_turn(db: Database, session: str, last_turns: int) -> dict[tuple[str, str], dict[int, tuple[str, str]]]:
    """Of each file and source of the working set, what each turn did to it, and how that is known."""
    found: dict[tuple[str, str], dict[int, tuple[str, str]]] = {}
    for kind, key, turn, action, evidence in db.execute(
        "select kind, key, turn, action, evidence from touches_by_turn(?, ?)", [session, last_turns]
    ).fetchall():
        found.setdefault((kind, key), {})[turn] = (action, evidence)
    return found


def blamed_in(db: Database, session: str, path: str, limit: int) -> list[FileChange]:
    """Who changed a file that a session touched, in that session, newest first; `path` as its working set has it."""
    within = "from blame(?) where session_id = ? order by changed_ns desc, sequence desc limit ?"
    return rows(db, FileChange, within, [path, session, limit])


def blame(db: Database, path: str, folder: str = "") -> list[FileChange]:
    """Who changed a file, in any session, newest first, also under its earlier names. `folder`: what `path` is relative to.

    A path in a folder where no agent worked names whatever agents called so elsewhere, unless it is absolute.
    """
    whole = posixpath.normpath(posixpath.join(folder, path))
    found = [
        (key, row)
        for key in _keys(db, path, whole)
        for row in rows(db, FileChange, "from blame(?) order by changed_ns desc, sequence desc", [key])
    ]
    here = [row for key, row in found if not row.folder or posixpath.normpath(posixpath.join(row.folder, key)) == whole]
    changes = here or ([] if posixpath.isabs(path) else [row for _, row in found])
    if not changes:
        raise NotFound(f"no session has changed {path!r}; {found[0][0]!r} was changed in {found[0][1].folder}.")
    return sorted(changes, key=lambda row: row.changed_at, reverse=True)


def _keys(db: Database, path: str, whole: str) -> list[str]:
    """The entries that a path names: as agents in any folder would have written it, else as the end of a longer one."""
    folders = [str(each) for (each,) in db.execute("select distinct folder from process_rows where folder <> ''").fetchall()]
    below = [posixpath.relpath(whole, each) for each in folders if whole.startswith(each.rstrip("/") + "/")]
    names = [posixpath.normpath(path), whole, *below]
    changed = "from entries where kind = 'file' and action in ('create', 'write', 'delete', 'rename')"
    found = db.execute(f"select distinct key {changed} and list_contains($names, key)", {"names": names}).fetchall()
    if not found:
        ending = "/" + names[0].lstrip("/")
        found = db.execute(f"select distinct key {changed} and ends_with(key, $ending)", {"ending": ending}).fetchall()
    if len(found) == 1 or any(key in names for (key,) in found):
        return [str(key) for (key,) in found]
    if found:
        raise NotFound(f"{path!r} names several files: {some(sorted(key for (key,) in found))}. Give more of the path.")
    near = db.execute(
        f"select key {changed} group by key order by jaro_winkler_similarity(key, $path) desc, key limit 3", {"path": names[0]}
    ).fetchall()
    hint = f"Nearest: {some([key for (key,) in near])}." if near else "No change of a file has been recorded yet."
    raise NotFound(f"no session has changed {path!r}. {hint}")


def files_by(db: Database, session: str, ids: Sequence[str]) -> list[Entry]:
    """What the given commits did to files, oldest first; what they only read is left out."""
    return rows(
        db,
        Entry,
        """
        from entries
        where session_id = $session
          and kind = 'file'
          and op <> 'evict'
          and action not in ('read', 'list')
          and list_contains($ids, commit_id)
        order by changed_ns, sequence
        """,
        {"session": session, "ids": list(ids)},
    )
