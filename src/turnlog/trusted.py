"""Whose results count as verified: rules by tool name, from the settings and from the application's own code.

Of several rules that match a tool, the one with the most literal characters decides, so that `*` may distrust everything and
`read_*` make an exception; between equals, distrust does.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

_MOST_REMEMBERED = 4096
_in_process: dict[str, bool] = {}


def trust(*tools: str) -> None:
    """From now on in this process, results of tools with such names (`read_*`, `mcp__github__*`) are verified."""
    _decide(tools, True)


def distrust(*tools: str) -> None:
    """From now on in this process, results of tools with such names are unverified."""
    _decide(tools, False)


class Trust:
    """The rules of one process's settings, together with those that its code has added."""

    __slots__ = ("_known", "_rules")

    def __init__(self, trusted: Sequence[str] = (), distrusted: Sequence[str] = ()) -> None:
        self._rules = {**_rules(trusted, True), **_rules(distrusted, False)}
        self._known: dict[str, bool | None] = {}
        _instances.append(self)

    def says(self, tool: str) -> bool | None:
        """Whether the tool's results are verified; None when no rule says."""
