"""Answers that keep within a budget of tokens, and cursors that stay good while the log grows."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from turnlog.errors import TurnlogError
from turnlog.tokens import estimate

LEAST, DEFAULT, MOST = 200, 2_000, 10_000
# A line has no fewer tokens: more rows than this many to a budget need not be fetched.
_SHORTEST_LINE = 8
_LONG, _SHORT = 160, 10
_CURSOR = 40
_CUT = "… cut here: ask with a larger max_tokens"
Row = TypeVar("Row", bound=tuple[object, ...])


class StaleCursor(TurnlogError):
    """A cursor that belongs to another question, or to what is gone."""


def clamp(budget: int) -> int:
    return min(max(budget, LEAST), MOST)


def rows_for(budget: int) -> int:
    """So many rows are enough, and one to know that there are more."""
    return budget // _SHORTEST_LINE + 1


def page(
    head: str,
    rows: Sequence[Row],
    tell: Callable[[Row, int], str],
    cursor_of: Callable[[int], str],
    budget: int,
    nothing: str = "nothing",
) -> str:
    """The head and as many rows as fit, each told on a line; then the cursor after the last of them, if there are more.

    `tell` is given how long a text may be: the first row is always told, shortened if need be.
    """
    if not rows:
        return f"{head}\n{nothing}"
    room = budget - estimate(head) - _CURSOR
    lines: list[str] = []
    for row in rows:
        line = tell(row, _LONG)
        longest = _LONG
        while not lines and estimate(line) >= room and longest > _SHORT:
            longest //= 2
            line = tell(row, longest)
        if lines and estimate(line) >= room:
            return "\n".join([head, *lines, f"more: the same with cursor {cursor_of(len(lines))}"])
        lines.append(line)
        room -= estimate(line) + 1
    return "\n".join([head, *lines])


def cut_to(text: str, budget: int) -> str:
    """The text; or, where names alone go beyond the budget, as many of its lines as keep within."""
    if estimate(text) <= budget:
        return text
    lines = text.split("\n")
    while len(lines) > 1 and estimate("\n".join([*lines, _CUT])) > budget:
        lines.pop()
    return "\n".join([*lines, _CUT])


def remaining(rows: Sequence[Row], identity: Callable[[Row], object], cursor: str) -> Sequence[Row]:
    """What comes after a cursor. New rows come first, so it counts from the end; a row that came in between is not lost."""
    if not cursor:
        return rows
    left, _, mark = cursor.partition(".")
    if not re.fullmatch(r"[0-9]{1,12}", left) or not mark:
        raise StaleCursor(f"{cursor[:40]!r} is no cursor of this question. Leave it out to begin anew.")
    start = max(len(rows) - int(left), 0)
    last = next((index for index, row in enumerate(rows) if _mark(identity(row)) == mark), None)
    return rows[start if last is None else min(start, last + 1) :]


def cursor_after(rows: Sequence[Row], identity: Callable[[Row], object]) -> Callable[[int], str]:
    """The cursor after so many rows."""
    return lambda shown: f"{len(rows) - shown}.{_mark(identity(rows[shown - 1]))}"


def _mark(identity: object) -> str:
    return f"{zlib.crc32(repr(identity).encode('utf-8', 'replace')):x}"
