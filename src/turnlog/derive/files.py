"""Files and sources that a tool call declares in its arguments, and how that is put together with what was observed.

Order of trust: editor tools that name their command, tools known by name, argument names with the verb read from the tool's
name or from the presence of content, patches, shell commands. A path whose use cannot be told is left out, not guessed.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from turnlog.derive.patches import is_patch, patched
from turnlog.derive.shell import shell_touches
from turnlog.derive.touch import CREATE, DELETE, FETCH, LIST, MOST_TOUCHES, READ, RENAME, WRITE, Disk, Touch, settle, tidy
from turnlog.semconv import FileEvidence

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
_PARTS = ("new_string", "new_str", "text", "data", "edits", "new_source", "diff", "patch")
_URL = ("url", "uri", "link", "href")
_PATCH = ("patch", "diff", "input", "patch_text")
_COMMAND = ("command", "cmd", "commands", "script", "action")
_FOLDER = ("cwd", "workdir", "working_directory", "working_dir", "work_dir")
_TELLING = frozenset((*_ONE_PATH, *_MANY_PATHS, *_SOURCE, *_DESTINATION, *_URL, *_PATCH, *_COMMAND, "operation"))

_KNOWN = {
    **dict.fromkeys(
        ("read", "readfile", "readtextfile", "readmediafile", "readmultiplefiles", "view", "viewfile", "notebookread"), READ
    ),
    "getfileinfo": READ,
    **dict.fromkeys(
        ("write", "writefile", "createfile", "edit", "editfile", "multiedit", "notebookedit", "appendfile", "savefile"),
        WRITE,
    ),
    # As `mkdir -p`: it may have been there already.
    "createdirectory": WRITE,
    **dict.fromkeys(("delete", "deletefile", "removefile", "unlink"), DELETE),
    **dict.fromkeys(("movefile", "renamefile", "move", "rename"), RENAME),
    **dict.fromkeys(("ls", "glob", "grep", "listdir", "listdirectory", "listfiles", "directorytree", "searchfiles"), LIST),
    "listdirectorywithsizes": LIST,
}
_SHELLS = frozenset(
    (
        *("bash", "shell", "sh", "zsh", "terminal", "console", "execute", "exec", "run", "localshell", "bashtool", "shelltool"),
        *("runcommand", "runcommands", "executecommand", "execcommand", "shellcommand", "localshellcall", "shellexec"),
        *("runshell", "runshellcommand", "runbash", "runbashcommand", "executebash", "executeshell", "executeshellcommand"),
        *("runinterminal", "runterminalcmd", "runterminalcommand", "terminalcommand", "bashcommand", "terminaltool"),
    )
)
_EDITORS = {"strreplacebasededittool", "strreplaceeditor", "texteditor", "fileeditor", "memory"}
_EDITOR_COMMANDS = {"view": READ, "find_line": READ, "delete": DELETE, "rename": RENAME}
_OPERATIONS = {"create_file": CREATE, "update_file": WRITE, "delete_file": DELETE}
_LOOKING = re.compile(r"search|find|grep|match|count|compare")
# Their paths are routes, mailboxes, folders.
_ELSEWHERE = re.compile(r"http|api|request|ticket|directory|folder|mkdir")
_VERBS = (
    (DELETE, re.compile(r"delete|remove|unlink")),
    (WRITE, re.compile(r"write|edit|create|save|update|patch|append|replace|insert")),
    (READ, re.compile(r"read|view|load|open|get|cat|parse")),
)


class Observed(NamedTuple):
    """What was seen of a call while it ran here: its touches, and the folders that its relative paths were meant in.

    `declared` is what its arguments said when it began, read with a look at the disk; None when they were not known then.
    """

    touches: tuple[Touch, ...] = ()
    declared: tuple[Touch, ...] | None = None
    cwd: str = ""
    home: str = ""


def declared_touches(tool: str, arguments: Any, disk: Disk | None = None) -> list[Touch]:
    name = _plain_name(tool)
    if isinstance(arguments, str):
        return _freely(name, arguments, disk)
    if not isinstance(arguments, Mapping) or _TELLING.isdisjoint(arguments):
        return []
    operation = arguments.get("operation")
    if isinstance(operation, Mapping) and isinstance(operation.get("path"), str) and str(operation.get("type")) in _OPERATIONS:
        return _operation(operation)
    url = _first_text(arguments, _URL)
    if url and "://" in url:
        return [Touch(FETCH, url, is_file=False)]
    source, destination = _first_text(arguments, _SOURCE), _first_text(arguments, _DESTINATION)
    if source and destination:
        if _KNOWN.get(name) == RENAME or "move" in name or "rename" in name or arguments.get("command") == "rename":
            return [Touch(RENAME, destination, renamed_from=source)]
        return [Touch(READ, source), Touch(WRITE, destination)]
    paths = _paths(arguments)
    if paths:
        return _at_paths(name, arguments, paths)
    for text in (arguments[key] for key in _PATCH if isinstance(arguments.get(key), str)):
        if is_patch(text):
            return settle(patched(text))
    return _by_command(name, arguments, disk)


def merge_touches(declared: Iterable[Touch], observed: Observed) -> list[Touch]:
    """One touch per path. What was seen tells the action and what the file holds; what was only said stays as it was said."""
    placed = [_placed(touch, observed) for touch in declared]
    if not observed.touches:
        return settle(placed)[:MOST_TOUCHES]
    seen = {touch.path: touch for touch in observed.touches}
    moved = {touch.renamed_from for touch in observed.touches if touch.action == RENAME}
    merged: list[Touch] = []
    for touch in settle(placed):
        found = seen.get(touch.path)
        if found is None:
            if not (touch.action == DELETE and touch.path in moved):
                merged.append(touch)
        elif touch.modifies == found.modifies:
            merged.append(seen.pop(touch.path)._replace(evidence=FileEvidence.BOTH, content=touch.content))
        elif touch.modifies:
            merged.append(touch)
            seen.pop(touch.path)
    return (merged + list(seen.values()))[:MOST_TOUCHES]


def place(path: str, observed: Observed) -> str:
    """A path as the key of an entry: below the working folder relative to it, else absolute, where that folder is known."""
    if not observed.cwd:
        return tidy(path)
    if observed.home and (path == "~" or path.startswith("~/")):
        path = observed.home + path[1:]
    path = posixpath.normpath(posixpath.join(observed.cwd, path))
    return "." if path == observed.cwd else path.removeprefix(observed.cwd.rstrip("/") + "/")


def _placed(touch: Touch, observed: Observed) -> Touch:
    if not touch.is_file:
        return touch
    path, renamed_from = place(touch.path, observed), touch.renamed_from and place(touch.renamed_from, observed)
    is_there = path == touch.path and renamed_from == touch.renamed_from
    return touch if is_there else touch._replace(path=path, renamed_from=renamed_from)


def _freely(name: str, text: str, disk: Disk | None) -> list[Touch]:
    """Arguments as one text: JSON, the patch or command that a tool with free input takes, or nothing that tells."""
    if text.startswith("{"):
        try:
            arguments = orjson.loads(text)
        except ValueError:
            arguments = None
        if isinstance(arguments, dict):
            return declared_touches(name, arguments, disk)
    if is_patch(text):
        return settle(patched(text)) if "patch" in name or text.lstrip().startswith("*** Begin Patch") else []
    return settle(shell_touches(text, disk=disk)) if name in _SHELLS else []


def _operation(operation: Mapping[str, Any]) -> list[Touch]:
    """OpenAI's `apply_patch` call."""
    path, moved = operation["path"], operation.get("move_to")
    if isinstance(moved, str) and moved:
        return [Touch(RENAME, moved, renamed_from=path)]
    return [Touch(_OPERATIONS[operation["type"]], path)]


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    one = _first_text(arguments, _ONE_PATH)
    many: list[Any] = next((arguments[key] for key in _MANY_PATHS if isinstance(arguments.get(key), list)), [])
    folder = arguments.get("directory")
    if one and "/" not in one and isinstance(folder, str) and folder:
        one = f"{folder.rstrip('/')}/{one}"
    named = [item.get("path") if isinstance(item, Mapping) else item for item in many]
    return [one] if one else [item for item in named if isinstance(item, str)]


def _at_paths(name: str, arguments: Mapping[str, Any], paths: list[str]) -> list[Touch]:
    content = next((arguments[key] for key in _WHOLE if key in arguments), None)
    action = _action(name, arguments, content is not None or any(key in arguments for key in _PARTS))
    if not action:
        return []
    # Only the whole content hashes to what the file then holds.
    whole = content if action == WRITE and "append" not in name else None
    return [Touch(action, path, whole) for path in paths if "://" not in path]


def _by_command(name: str, arguments: Mapping[str, Any], disk: Disk | None) -> list[Touch]:
    if name not in _SHELLS:
        return []
    action = arguments.get("action")
    given = {**arguments, **action} if isinstance(action, Mapping) else arguments
    folder = _first_text(given, _FOLDER)
    found: list[Touch] = []
    for key in ("command", "cmd", "commands", "script"):
        value = given.get(key)
        several = key == "commands" and isinstance(value, list | tuple)
        for command in value if several and isinstance(value, list | tuple) else (value,):
            if isinstance(command, str) or (isinstance(command, list | tuple) and command):
                found += shell_touches(command, folder, disk)
    return settle(found)


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
