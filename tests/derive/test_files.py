"""Files and sources that tool calls declare, for the tools that agents come with and for those of an application."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.derive.files import Observed, declared_touches, merge_touches
from turnlog.derive.touch import Touch
from turnlog.semconv import FileEvidence


@pytest.mark.parametrize(
    ("tool", "arguments", "touches"),
    [
        ("Write", {"file_path": "/a", "content": "x"}, ["write /a"]),
        ("Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, ["write /a"]),
        ("MultiEdit", {"file_path": "/a", "edits": []}, ["write /a"]),
        ("Read", {"file_path": "/a"}, ["read /a"]),
        ("NotebookEdit", {"notebook_path": "/n.ipynb", "new_source": "x"}, ["write /n.ipynb"]),
        ("Glob", {"path": "src", "pattern": "*.py"}, ["list src"]),
        ("str_replace_based_edit_tool", {"command": "view", "path": "/a"}, ["read /a"]),
        ("str_replace_based_edit_tool", {"command": "create", "path": "/a", "file_text": "x"}, ["write /a"]),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "/a", "insert_text": "x"}, ["write /a"]),
        ("file_editor", {"command": "find_line", "path": "/a"}, ["read /a"]),
        ("memory", {"command": "delete", "path": "/m/a"}, ["delete /m/a"]),
        ("memory", {"command": "rename", "old_path": "/m/a", "new_path": "/m/b"}, ["rename /m/b"]),
        ("mcp__filesystem__write_file", {"path": "/w", "content": "x"}, ["write /w"]),
        ("filesystem.read_multiple_files", {"paths": ["/1", "/2"]}, ["read /1", "read /2"]),
        ("filesystem.read_media_file", {"path": "/1"}, ["read /1"]),
        ("filesystem.create_directory", {"path": "/d"}, ["write /d"]),
        ("filesystem.list_directory_with_sizes", {"path": "/d"}, ["list /d"]),
        ("filesystem.get_file_info", {"path": "/1"}, ["read /1"]),
        ("apply_diff", {"path": "a.py", "diff": "<<<<<<< SEARCH"}, ["write a.py"]),
        ("move_file", {"source": "/s", "destination": "/d"}, ["rename /d"]),
        ("copy_file", {"source_path": "a", "destination_path": "b"}, ["read a", "write b"]),
        ("edit_file", {"path": "/e", "edits": [{}]}, ["write /e"]),
        ("list_directory", {"path": "/l"}, ["list /l"]),
        ("EditFile", {"path": "p", "old_string": "", "new_string": "x"}, ["write p"]),
        ("file_memory_write", {"path": "m", "content": "c"}, ["write m"]),
        ("save_report", {"filename": "r.md", "text": "t"}, ["write r.md"]),
        ("FileWriterTool", {"filename": "r.md", "directory": "/o", "content": "t"}, ["write /o/r.md"]),
        ("FileWriterTool", {"filename": "/r.md", "directory": "/o", "content": "t"}, ["write /r.md"]),
        ("load_dataset", {"file": "d.csv"}, ["read d.csv"]),
        ("remove_draft", {"path": "d.md"}, ["delete d.md"]),
        ("find_in_file", {"path": "a.py", "text": "TODO"}, ["read a.py"]),
        ("find_and_replace", {"path": "a.py", "text": "TODO"}, ["write a.py"]),
        ("http_request", {"url": "https://x/y", "method": "GET"}, ["fetch https://x/y"]),
        ("analyse", {"path": "d.csv"}, []),
        ("fetch", {"path": "https://x"}, []),
        ("get_weather", {"city": "x"}, []),
        ("read_file", {"path": ""}, []),
        ("read_file", {"path": None}, []),
        ("read_file", {"paths": [1, None, "a"]}, ["read a"]),
        ("read_file", "a.py", []),
        ("read_file", ["a.py"], []),
        ("read_file", None, []),
    ],
)
def test_a_tool_call_touches_what_its_arguments_declare(tool: str, arguments: Any, touches: list[str]) -> None:
    assert [f"{touch.action} {touch.path}" for touch in declared_touches(tool, arguments)] == touches


def test_only_what_is_written_carries_content_and_only_an_address_is_no_file() -> None:
    assert declared_touches("write_file", {"path": "a", "content": "x"}) == [Touch("write", "a", "x", is_file=True)]
    assert declared_touches("read_file", {"path": "a"}) == [Touch("read", "a", None, is_file=True)]
    assert declared_touches("browse", {"url": "http://a"}) == [Touch("fetch", "http://a", None, is_file=False)]
    assert declared_touches("move_file", {"source": "a", "destination": "b"}) == [Touch("rename", "b", renamed_from="a")]


def seen(action: str, path: str, value: str = "", renamed_from: str = "") -> Touch:
    return Touch(action, path, renamed_from=renamed_from, value=value, evidence=FileEvidence.OBSERVED)


def merged(declared: list[Touch], *observed: Touch, cwd: str = "/w", home: str = "") -> list[tuple[str, ...]]:
    touches = merge_touches(declared, Observed(observed, cwd=cwd, home=home))
    return [(touch.action, touch.path, touch.value, touch.evidence.value, touch.renamed_from) for touch in touches]


@pytest.mark.parametrize(
    ("declared", "observed", "entries"),
    [
        ([Touch("write", "a", "x")], [], [("write", "a", "", "declared", "")]),
        ([], [seen("create", "a", "h")], [("create", "a", "h", "observed", "")]),
        ([Touch("write", "a", "x")], [seen("create", "a", "h")], [("create", "a", "h", "both", "")]),
        ([Touch("delete", "a")], [seen("write", "a", "h")], [("write", "a", "h", "both", "")]),
        ([Touch("write", "a")], [seen("delete", "a")], [("delete", "a", "", "both", "")]),
        ([Touch("read", "a")], [seen("read", "a")], [("read", "a", "", "both", "")]),
        ([Touch("read", "a")], [seen("write", "a", "h")], [("write", "a", "h", "observed", "")]),
        ([Touch("write", "a")], [seen("read", "a")], [("write", "a", "", "declared", "")]),
        (
            [Touch("rename", "b", renamed_from="a")],
            [seen("rename", "b", "h", "a")],
            [("rename", "b", "h", "both", "a")],
        ),
        # Written beside and moved into place: nothing was renamed.
        ([Touch("rename", "b", renamed_from="b.tmp")], [seen("write", "b", "h")], [("write", "b", "h", "both", "")]),
        (
            [Touch("delete", "a"), Touch("write", "b")],
            [seen("rename", "b", "h", "a")],
            [("rename", "b", "h", "both", "a")],
        ),
        (
            [Touch("fetch", "http://x", is_file=False)],
            [seen("create", "page.html", "h")],
            [("fetch", "http://x", "", "declared", ""), ("create", "page.html", "h", "observed", "")],
        ),
    ],
)
def test_what_was_seen_tells_the_action_and_what_was_only_said_stays_said(
    declared: list[Touch], observed: list[Touch], entries: list[tuple[str, ...]]
) -> None:
    assert merged(declared, *observed) == entries


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("src/a.py", "src/a.py"),
        ("/w/src/a.py", "src/a.py"),
        ("./src/../src//a.py", "src/a.py"),
        ("/w/../w/src/a.py", "src/a.py"),
        ("../b.py", "/b.py"),
        ("/w/", "."),
        ("/world/b.py", "/world/b.py"),
        ("~/b.py", "/home/me/b.py"),
        ("~you/b.py", "~you/b.py"),
    ],
)
def test_a_path_below_the_working_folder_is_one_entry_however_it_is_written(path: str, key: str) -> None:
    assert merged([Touch("write", path)], seen("write", key), cwd="/w", home="/home/me") == [("write", key, "", "both", "")]


def test_where_the_working_folder_is_not_known_paths_stay_as_they_were_said() -> None:
    said = [Touch("write", "/w/a"), Touch("write", "./b"), Touch("write", "../c"), Touch("write", "~/d")]
    assert [row[1] for row in merged(said, cwd="")] == ["/w/a", "b", "../c", "~/d"]
