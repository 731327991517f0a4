"""Whose results count as verified: rules by tool name, from the settings and from the application's own code.

Of several rules that match, the one with the most literal characters decides, so that `*` may distrust everything and
`read_*` be an exception; between equals, distrust does.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

_in_process: dict[str, bool] = {}


def trust(*tools: str) -> None:
    """From now on in this process, what tools of such names (`read_*`, `mcp__wiki__*`) return is verified."""
    _in_process.update(_rules(tools, True))


def distrust(*tools: str) -> None:
    """From now on in this process, what tools of such names return is unverified."""
    _in_process.update(_rules(tools, False))


class Trust:
    """The rules of one process's settings, together with those that its code has added."""

    __slots__ = ("_rules",)

    def __init__(self, trusted: Iterable[str] = (), distrusted: Iterable[str] = ()) -> None:
        self._rules = _rules(trusted, True) | _rules(distrusted, False)

    def says(self, tool: str) -> bool | None:
        """Whether the tool's results are verified; None when no rule says."""
        if not self._rules and not _in_process:
            return None
        name = tool.lower()
        matching = [
            (sum(letter not in "*?[]" for letter in glob), not trusted)
            for glob, trusted in (self._rules | _in_process).items()
            if fnmatchcase(name, glob)
        ]
        return not max(matching)[1] if matching else None


def _rules(tools: Iterable[str], trusted: bool) -> dict[str, bool]:
    """Names are compared without regard to case: frameworks spell one tool `WebFetch` and `webfetch`."""
    return {glob: trusted for tool in tools if (glob := str(tool).strip().lower())}
