"""Who changed a file, over all sessions and through its renames: rows in and rows out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store.story import Story, change, touch
from turnlog import queries
from turnlog.errors import NotFound
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load


def moved(old: str, new: str, value: str = "") -> tuple[dict[str, str], dict[str, str]]:
    gone = change("file", old, "", "drop", action="delete", evidence="both")
    return gone, change("file", new, value, action="rename", evidence="both", renamed_from=old)


class Files(Story):
    """Two sessions that write, move and remove a few files; one call was asked for by a model that gave its reason."""

    def first_half(self) -> None:
        self.agent("agent", "s", "t1", "write it")
        self.chat("decide", "s", "t1", choice="call write_file", reason="it is needed")
        asked = {"decision_id": self.spans["decide"], "input_summary": '{"path":"a.py"}'}
        self.tool("write", "s", "t1", "write_file", touch("write", "a.py", "h1"), touch("read", "b.py"), **asked)
        self.tool("move", "s", "t1", "move_file", *moved("a.py", "c.py", "h1"))
        self.tool("again", "o", "u1", "write_file", touch("create", "a.py", "h2"))

    def second_half(self) -> None:
        self.tool("edit", "o", "u2", "edit_file", touch("write", "c.py", "h3"), outcome="error", error_type="E")
        self.tool("twice", "o", "u2", "move_file", *moved("c.py", "d.py"), outcome="ok")
        self.tool("back", "o", "u2", "move_file", *moved("d.py", "c.py", "h3"))
        self.tool("delete", "o", "u2", "delete_file", touch("delete", "a.py"))
        self.tool("deep", "o", "u2", "write_file", touch("write", "/w/src/x.py"), touch("write", "/w/lib/x.py"))
        self.evict("evict", "o", "u2", "deep", "trimmed", "file:a.py")


@pytest.fixture(scope="module", params=["journals", "store", "half of each"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Files]]:
    settings = Settings(directory=Path(tmp_path_factory.mktemp("told")))
    files = Files(settings)
    files.first_half()
    if request.param == "half of each":
        load(settings, patience=1)
    files.second_half()
    if request.param == "store":
        load(settings, patience=1)
    with Store(settings).reading() as db:
        yield db, files
    files.writer.close()


def history(db: duckdb.DuckDBPyConnection, files: Files, path: str) -> list[tuple[str, ...]]:
    labels = {commit: label for label, commit in files.ids.items()}
    columns = "commit_id, path, action, renamed_from, renamed_to, content_hash"
    rows = db.execute(f"select {columns} from blame(?) order by changed_ns desc, sequence desc", [path]).fetchall()
    return [(labels[row[0]], *row[1:]) for row in rows]


def test_blame(told: tuple[Any, Files]) -> None:
    db, files = told
    assert db.execute(
        "select * exclude (changed_at, changed_ns, sequence) from blame('a.py') order by changed_ns"
    ).fetchall() == [
        (
            *("a.py", "write", "declared", "", "", "h1", "s", 1, files.ids["write"], "write_file", '{"path":"a.py"}', "ok"),
            *(files.ids["decide"], "call write_file", "it is needed", "m", "/w"),
        ),
        ("a.py", "delete", "both", "", "c.py", "", "s", 1, files.ids["move"], "move_file", "", "ok", "", "", "", "", "/w"),
        ("a.py", "create", "declared", "", "", "h2", "o", 1, files.ids["again"], "write_file", "", "ok", "", "", "", "", "/w"),
        ("a.py", "delete", "declared", "", "", "", "o", 2, files.ids["delete"], "delete_file", "", "ok", "", "", "", "", "/w"),
    ]


def test_blame_follows_a_file_through_its_names(told: tuple[Any, Files]) -> None:
    assert history(*told, "c.py") == [
        ("back", "c.py", "rename", "d.py", "", "h3"),
        ("twice", "d.py", "rename", "c.py", "", ""),
        ("edit", "c.py", "write", "", "", "h3"),
        ("move", "c.py", "rename", "a.py", "", "h1"),
        ("write", "a.py", "write", "", "", "h1"),
    ]
    assert history(*told, "b.py") == history(*told, "missing") == []


def test_blame_ends_for_a_file_that_was_moved_to_and_fro(settings: Settings) -> None:
    files = Files(settings)
    for number in range(15):
        files.tool(f"to {number}", "s", "t1", "move_file", *moved("a.py", "b.py"))
        files.tool(f"fro {number}", "s", "t1", "move_file", *moved("b.py", "a.py"))
    with Store(settings).reading() as db:
        assert [row[0] for row in history(db, files, "a.py")[:3]] == ["fro 14", "to 14", "fro 13"]
        assert len(history(db, files, "a.py")) == 30
    files.writer.close()


def test_blame_tells_each_rename_once_however_many_sessions_made_the_same(settings: Settings) -> None:
    files = Files(settings)
    for session in ("r", "s", "o"):
        files.tool(f"{session} writes", session, session, "write_file", touch("create", "index.html", "h"))
        files.tool(f"{session} moves", session, session, "move_file", *moved("index.html", "home.html", "h"))
        if session == "s":
            files.tool("s writes again", session, session, "write_file", touch("create", "index.html", "other"))
            files.tool("s moves away", session, session, "move_file", *moved("index.html", "old.html", "other"))
    away = ("s moves away", "index.html", "delete", "", "old.html", "")
    with Store(settings).reading() as db:
        assert history(db, files, "home.html") == [
            ("o moves", "home.html", "rename", "index.html", "", "h"),
            ("o writes", "index.html", "create", "", "", "h"),
            away,
            ("s writes again", "index.html", "create", "", "", "other"),
            ("s moves", "home.html", "rename", "index.html", "", "h"),
            ("s writes", "index.html", "create", "", "", "h"),
            ("r moves", "home.html", "rename", "index.html", "", "h"),
            ("r writes", "index.html", "create", "", "", "h"),
        ]
        gone = [row for row in history(db, files, "index.html") if row[4]]
        assert gone == [
            ("o moves", "index.html", "delete", "", "home.html", ""),
            away,
            *((f"{session} moves", "index.html", "delete", "", "home.html", "") for session in ("s", "r")),
        ]
    files.writer.close()


@pytest.mark.parametrize(
    ("path", "folder", "first"),
    [
        ("a.py", "", "delete"),
        ("./a.py", "/w", "delete"),
        ("/w/a.py", "/w", "delete"),
        ("src/x.py", "/w", "deep"),
        ("x.py", "/w/src", "deep"),
        ("src/x.py", "/elsewhere", "deep"),
    ],
)
def test_a_path_is_found_however_it_is_written(told: tuple[Any, Files], path: str, folder: str, first: str) -> None:
    db, files = told
    assert queries.blame(db, path, folder)[0].commit_id == files.ids[first]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x.py", "'x.py' names several files: /w/lib/x.py, /w/src/x.py. Give more of the path."),
        ("b.py", "no session has changed 'b.py'. Nearest: a.py, c.py, d.py."),
    ],
)
def test_a_path_that_names_no_file_or_several_is_refused(told: tuple[Any, Files], path: str, said: str) -> None:
    with pytest.raises(NotFound) as refused:
        queries.blame(told[0], path)
    assert str(refused.value) == said


def test_the_working_set_knows_no_evictions(told: tuple[Any, Files]) -> None:
    query = "select key, last_action, renamed_from, touches from working_set('o', 9) where key in ('a.py', 'c.py') order by key"
    assert told[0].execute(query).fetchall() == [("a.py", "delete", "", 2), ("c.py", "rename", "d.py", 3)]


def test_files_that_were_created_are_modified_files(told: tuple[Any, Files]) -> None:
    query = "select path, last_action, modifications from files_modified('o', 9) order by path"
    assert told[0].execute(query).fetchall() == [
        ("/w/lib/x.py", "write", 1),
        ("/w/src/x.py", "write", 1),
        ("a.py", "delete", 2),
        ("c.py", "rename", 3),
        ("d.py", "delete", 2),
    ]
