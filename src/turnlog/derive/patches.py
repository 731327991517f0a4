"""Files that a patch touches: V4A (`*** Begin Patch`), git diffs with renames and new files, plain unified diffs.

The hunks are skipped by their counted lines, because a removed line that begins with `-- ` looks like a header.
"""

from __future__ import annotations

import re

from turnlog.derive.touch import CREATE, DELETE, RENAME, WRITE, Touch

_V4A = re.compile(r"^\*\*\* (?:(Add|Update|Delete) File|(Move to)): (.+?)[ \t\r]*$", re.MULTILINE)
_V4A_ACTIONS = {"Add": CREATE, "Update": WRITE, "Delete": DELETE}
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_GIT = re.compile(r'^diff --git (?:"?a/(.+?)"? "?b/(.+?)"?)$')
_ESCAPE = re.compile(r'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
NOWHERE = "/dev/null"


def is_patch(text: str) -> bool:
    return "*** Begin Patch" in text or "\n+++ " in text or text.startswith("diff --git ") or "\ndiff --git " in text


def patched(text: str, strip: int | None = None) -> list[Touch]:
    """`strip` is `patch -p`: how many leading folders of a unified diff's paths are left out; None is as git writes them."""
    if "*** Begin Patch" in text:
        return _read_v4a(text)
    return [touch for section in _sections(text) if (touch := section.touch(strip))]


def _read_v4a(text: str) -> list[Touch]:
    found: list[Touch] = []
    for kind, move, path in _V4A.findall(text):
        if not move:
            found.append(Touch(_V4A_ACTIONS[kind], path))
        elif found and found[-1].action == WRITE:
            found.append(Touch(RENAME, path, renamed_from=found.pop().path))
    return found


class _Section:
    """One file of a unified diff, as far as its headers tell."""

    def __init__(self, old: str = "", new: str = "", *, from_git: bool = False) -> None:
        self.old = old
        self.new = new
        self.from_git = from_git
        self.headed = False
        self.changes = False
        self.moved: dict[str, str] = {}

    def touch(self, strip: int | None) -> Touch | None:
        if "rename to" in self.moved:
            return Touch(RENAME, self.moved["rename to"], renamed_from=self.moved.get("rename from", ""))
        if "copy to" in self.moved:
            return Touch(CREATE, self.moved["copy to"])
        if not self.changes:
            return None
        if self.new == NOWHERE:
            return Touch(DELETE, path) if (path := self._path(self.old, strip)) else None
        path = self._path(self.new, strip)
        return Touch(CREATE if self.old == NOWHERE else WRITE, path) if path else None

    def _path(self, path: str, strip: int | None) -> str:
        if strip is None:
            strip = int(self.old.startswith(("a/", NOWHERE)) and self.new.startswith(("b/", NOWHERE)))
        return path.split("/", strip)[-1] if path.count("/") >= strip else ""


def _sections(text: str) -> list[_Section]:
    found: list[_Section] = []
    old_left = new_left = 0
    for line in text.splitlines():
        if old_left > 0 or new_left > 0:
            old_left -= line[:1] in (" ", "-", "")
            new_left -= line[:1] in (" ", "+", "")
        elif hunk := _HUNK.match(line):
            old_left, new_left = (int(count or 1) for count in hunk.groups())
        elif line.startswith("diff --git "):
            found.append(_git_section(line))
        elif line.startswith("--- "):
            if not (found and found[-1].from_git and not found[-1].headed):
                found.append(_Section())
            found[-1].old, found[-1].headed = _header_path(line), True
        elif line.startswith("+++ ") and found and found[-1].headed:
            found[-1].new = _header_path(line)
            found[-1].changes = True
        elif found and found[-1].from_git:
            _read_extended_header(found[-1], line)
    return found


def _git_section(line: str) -> _Section:
    names = _GIT.match(line)
    old, new = names.groups() if names else ("", "")
    return _Section(f"a/{_unquoted(old)}", f"b/{_unquoted(new)}", from_git=True)


def _read_extended_header(section: _Section, line: str) -> None:
    for header in ("rename from", "rename to", "copy from", "copy to"):
        if line.startswith(header + " "):
            section.moved[header] = _unquoted(line[len(header) + 1 :].strip().strip('"'))
    if line.startswith("new file mode"):
        section.old, section.changes = NOWHERE, True
    elif line.startswith("deleted file mode"):
        section.new, section.changes = NOWHERE, True
    elif line.startswith(("GIT binary patch", "Binary files")):
        section.changes = True


def _header_path(line: str) -> str:
    """What stands after `--- ` or `+++ `: quoted in C's way, or up to the tab before a date."""
    rest = line[4:].strip()
    return _unquoted(rest[1 : rest.rfind('"')]) if rest.startswith('"') else rest.partition("\t")[0]


def _unquoted(path: str) -> str:
    if "\\" not in path:
        return path
    data = re.sub(
        _ESCAPE,
        lambda found: chr(_ESCAPES[found[1]] if found[1] in _ESCAPES else int(found[1], 8) & 0xFF),
        path.encode("utf-8", "replace").decode("latin-1"),
    )
    return data.encode("latin-1").decode("utf-8", "replace")
