"""Files and sources that a tool call declares in its arguments. Claimed, not seen: evidence is always `declared`.

Order of trust: editor tools that name their command, tools known by name, then argument names with the verb read from
the tool's name or from the presence of content. A path whose use cannot be told is left out rather than guessed.
"""

import functools
import posixpath
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

READ, WRITE, DELETE, RENAME, LIST, FETCH = "read", "write", "delete", "rename", "list", "fetch"

_ONE_PATH = (
    "file_path",
    "filepath",
    "path",
    "filename",
    "file_name",
    "file",
    "absolute_path",
    "notebook_path",
    "target_file",
    "relative_path",
)
_MANY_PATHS = ("paths", "files", "file_paths")
_SOURCE = ("source", "src", "source_path", "old_path")
_DESTINATION = ("destination", "dest", "dst", "destination_path", "target", "new_path")
_WHOLE = ("content", "contents", "file_text")
_PARTS = ("new_string", "new_str", "text", "data", "edits", "new_source")
_URL = ("url", "uri", "link", "href")
_TELLING = frozenset((*_ONE_PATH, *_MANY_PATHS, *_SOURCE, *_DESTINATION, *_URL, "operation"))

_KNOWN = {
    **dict.fromkeys(("read", "readfile", "readtextfile", "readmultiplefiles", "view", "viewfile", "notebookread"), READ),
    **dict.fromkeys(
        ("write", "writefile", "createfile", "edit", "editfile", "multiedit", "notebookedit", "appendfile", "savefile"),
        WRITE,
    ),
    **dict.fromkeys(("delete", "deletefile", "removefile", "unlink"), DELETE),
    **dict.fromkeys(("movefile", "renamefile", "move", "rename"), RENAME),
    **dict.fromkeys(("ls", "glob", "grep", "listdir", "listdirectory", "listfiles", "directorytree", "searchfiles"), LIST),
}
_EDITORS = {"strreplacebasededittool", "strreplaceeditor", "texteditor", "fileeditor", "memory"}
_EDITOR_COMMANDS = {"view": READ, "find_line": READ, "delete": DELETE, "rename": RENAME}
_PATCHES = {"create_file": WRITE, "update_file": WRITE, "delete_file": DELETE}
_LOOKING = re.compile(r"search|find|grep|match|count|compare")
# Their paths are routes, mailboxes, folders.
_ELSEWHERE = re.compile(r"http|api|request|ticket|directory|folder|mkdir")
_VERBS = (
    (DELETE, re.compile(r"delete|remove|unlink")),
    (WRITE, re.compile(r"write|edit|create|save|update|patch|append|replace|insert")),
    (READ, re.compile(r"read|view|load|open|get|cat|parse")),
)


class Touch(NamedTuple):
    """One thing a tool call says it touches. `is_file` is false for a remote source."""

    action: str
    path: str
    content: Any = None
    is_file: bool = True

    @property
    def key(self) -> str:
        """`./a.py` and `a.py` are one entry."""
        untidy = self.is_file and ("./" in self.path or "//" in self.path)
        return posixpath.normpath(self.path) if untidy else self.path


def declared_touches(tool: str, arguments: Any) -> list[Touch]:
    if not isinstance(arguments, Mapping) or _TELLING.isdisjoint(arguments):
        return []
    name = _plain_name(tool)
    patch = arguments.get("operation")
    if isinstance(patch, Mapping) and isinstance(patch.get("path"), str) and str(patch.get("type")) in _PATCHES:
        return [Touch(_PATCHES[patch["type"]], patch["path"])]
    url = _first_text(arguments, _URL)
    if url and "://" in url:
        return [Touch(FETCH, url, is_file=False)]
    source, destination = _first_text(arguments, _SOURCE), _first_text(arguments, _DESTINATION)
    if source and destination:
        moved = _KNOWN.get(name) == RENAME or "move" in name or "rename" in name or arguments.get("command") == "rename"
        return [Touch(DELETE if moved else READ, source), Touch(WRITE, destination)]
    one = _first_text(arguments, _ONE_PATH)
    many: list[Any] = next((arguments[key] for key in _MANY_PATHS if isinstance(arguments.get(key), list)), [])
    folder = arguments.get("directory")
    if one and "/" not in one and isinstance(folder, str) and folder:
        one = f"{folder.rstrip('/')}/{one}"
    named = [item.get("path") if isinstance(item, Mapping) else item for item in many]
    paths = [one] if one else [item for item in named if isinstance(item, str)]
    content = next((arguments[key] for key in _WHOLE if key in arguments), None)
    action = _action(name, arguments, content is not None or any(key in arguments for key in _PARTS))
    if not action:
        return []
    # Only the whole content hashes to what the file then holds.
    whole = content if action == WRITE and "append" not in name else None
    return [Touch(action, path, whole) for path in paths if "://" not in path]


@functools.lru_cache(1024)
def _plain_name(tool: str) -> str:
    """`mcp__fs__write_file` and `fs.write_file` are both `writefile`."""
    return re.sub(r"[^a-z0-9]", "", tool.lower().rsplit("__", 1)[-1].rsplit(".", 1)[-1])


def _action(name: str, arguments: Mapping[str, Any], has_content: bool) -> str:
    if name in _EDITORS and isinstance(arguments.get("command"), str):
        return _EDITOR_COMMANDS.get(arguments["command"], WRITE)
    known = _KNOWN.get(name)
    if known:
        return known
    if _ELSEWHERE.search(name):
        return ""
    verb = next((verb for verb, pattern in _VERBS if pattern.search(name)), "")
    if verb not in (WRITE, DELETE) and _LOOKING.search(name):
        return READ
    return WRITE if has_content else verb


def _first_text(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((arguments[key] for key in keys if key in arguments and arguments[key] and isinstance(arguments[key], str)), "")
