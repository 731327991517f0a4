"""Files and sources that tool calls declare, for the tools that agents come with and for those of an application."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.derive.files import Touch, declared_touches


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
        ("memory", {"command": "rename", "old_path": "/m/a", "new_path": "/m/b"}, ["delete /m/a", "write /m/b"]),
        ("apply_patch", {"operation": {"type": "create_file", "path": "z", "diff": "+x"}}, ["write z"]),
        ("apply_patch", {"operation": {"type": "delete_file", "path": "z"}}, ["delete z"]),
        ("apply_patch", {"operation": {"type": [], "path": "z"}}, []),
        ("mcp__filesystem__write_file", {"path": "/w", "content": "x"}, ["write /w"]),
        ("filesystem.read_multiple_files", {"paths": ["/1", "/2"]}, ["read /1", "read /2"]),
        ("move_file", {"source": "/s", "destination": "/d"}, ["delete /s", "write /d"]),
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
