"""What a tool call did, or says it did, to one file or source; and how several such things in one call add up."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from turnlog.semconv import FileEvidence

READ, CREATE, WRITE, DELETE, RENAME, LIST, FETCH = "read", "create", "write", "delete", "rename", "list", "fetch"
# More files of one call than this would make its row too long for the journal.
MOST_TOUCHES = 500
MODIFYING = frozenset((CREATE, WRITE, DELETE, RENAME))


class Touch(NamedTuple):
    """`is_file` is false for a remote source. `value` is the hash of what the file holds afterwards, where that was seen."""

    action: str
    path: str
    content: Any = None
    is_file: bool = True
    renamed_from: str = ""
    value: str = ""
    evidence: FileEvidence = FileEvidence.DECLARED

    @property
    def key(self) -> str:
        return tidy(self.path) if self.is_file else self.path

    @property
    def modifies(self) -> bool:
        return self.action in MODIFYING


class Disk(Protocol):
    """What the reader of a command may know of the files around it. Where the call ran elsewhere, nothing is known."""

    def is_folder(self, path: str) -> bool: ...
    def text(self, path: str) -> str: ...


class Elsewhere:
    def is_folder(self, path: str) -> bool:
        return False

    def text(self, path: str) -> str:
        return ""


def tidy(path: str) -> str:
    """`./a.py`, `a//../a.py` and `a.py` are one entry."""
    untidy = "./" in path or "//" in path or path.endswith(("/", "/.", "/.."))
    return posixpath.normpath(path) if untidy else path


def settle(touches: Iterable[Touch]) -> list[Touch]:
    """The net effect of a sequence, one touch per path: written and then moved is one file under its last name."""
    net: dict[str, Touch] = {}
    for touch in touches:
        key = touch.key
        if not touch.modifies:
            net.setdefault(key, touch)
            continue
        before = net.pop(key, None)
        if touch.action == RENAME:
            net |= _rename(net.pop(tidy(touch.renamed_from), None), touch, before)
        elif touch.action == DELETE:
            if before is not None and before.action == RENAME:
                net[tidy(before.renamed_from)] = Touch(DELETE, before.renamed_from)
            elif before is None or before.action != CREATE:
                net[key] = touch
        elif before is not None and before.action in (CREATE, RENAME):
            net[key] = before._replace(content=touch.content)
        else:
            net[key] = touch._replace(action=WRITE) if before is not None and before.action == DELETE else touch
    return list(net.values())


def _rename(source: Touch | None, touch: Touch, replaced: Touch | None) -> dict[str, Touch]:
    if source is None or not source.modifies:
        return {touch.key: touch}
    if source.action == CREATE:
        return {touch.key: Touch(CREATE if replaced is None else WRITE, touch.path, source.content)}
    if source.action == RENAME:
        if tidy(source.renamed_from) == touch.key:
            return {}
        return {touch.key: touch._replace(renamed_from=source.renamed_from, content=source.content)}
    return {touch.key: touch._replace(content=source.content)}
