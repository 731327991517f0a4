"""How wide a text is on a terminal, how it is cut, and how the columns of a table share the room.

Nothing here writes. A text's width is the sum over its letters, as terminals that know emoji count them: wide letters take
two columns, marks none, and what a joiner or a modifier adds to an emoji takes no room of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate

GAP = 2
# A text column is not cut below this while another column can be left out instead, then below these only one after the other.
_COMFORTABLE, _SHORT, _LEAST = 16, 8, 4
# A number or a time that is cut is another one.
_EXACT = re.compile(r"-|[\d,.:%+\- ]+(?: ?(?:ms|s|B|kB|MB|GB))?")
_JOINER, _AS_EMOJI = "\u200d", "\ufe0f"
_SOFT_HYPHEN = "\u00ad"


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return len(text) if text.isascii() else sum(width for _, width in _letters(text))


def _letters(text: str) -> Iterator[tuple[str, int]]:
    before, width_before = "", 0
    for letter in text:
        width = _columns_of(letter)
        if width and (before == _JOINER or ("\U0001f3fb" <= letter <= "\U0001f3ff" and width_before == 2)):
            width = 0
        elif letter == _AS_EMOJI and width_before == 1:
            width = 1
        yield letter, width
        before, width_before = letter, width or width_before


def _columns_of(letter: str) -> int:
    if letter == _SOFT_HYPHEN:
        return 1
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf") or "\u1160" <= letter <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1


def head(text: str, room: int) -> str:
    """As much of the text as fits, without an ellipsis."""
    taken = 0
    for index, (_, width) in enumerate(_letters(text)):
        taken += width
        if taken > room:
            return text[:index].removesuffix(_JOINER)
    return text


def cut(text: str, room: int) -> str:
    """The text, or as much of it as fits with an ellipsis: at its end, or within a path, whose end tells most."""
    whole = columns(text)
    if whole <= room:
        return text
    if room < 1:
        return ""
    if "/" not in text or " " in text:
        return head(text, room - 1) + "…"
    tail = room * 2 // 3
    taken = accumulate((width for _, width in _letters(text)), initial=0)
    near = next(start for start, before in enumerate(taken) if whole - before <= tail)
    # Without the joiner before it, a letter may take more.
    end = next(text[start:] for start in range(near, len(text) + 1) if columns(text[start:]) <= tail)
    return head(text, room - 1 - columns(end)) + "…" + end


def pad(text: str, room: int) -> str:
    return text + " " * (room - columns(text))


def shared(
    cells: Sequence[Sequence[str]], titles: Sequence[str], room: int, drop: Sequence[str], whole: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Which columns of a table are shown in so much room, and how wide each of them is.

    Texts are cut, the widest first, but none in a column of `whole`. Where that leaves too little of them, columns are left
    out in the order of `drop`.
    """
    natural = [max((columns(row[index]) for row in cells), default=0) for index in range(len(cells[0]))]
    body = cells[1:] if titles else cells
    exact = [
        (bool(titles) and titles[index] in whole) or all(_EXACT.fullmatch(row[index]) for row in body if row[index])
        for index in range(len(natural))
    ]
    shown = list(range(len(natural)))
    for gone in ("", *drop):
        shown = [index for index in shown if not gone or titles[index] != gone]
        if widths := _narrowed(natural, exact, shown, room, _COMFORTABLE):
            return shown, widths
    shorter = _narrowed(natural, exact, shown, room, _SHORT) or _narrowed(natural, exact, shown, room, _LEAST)
    return shown, shorter or [natural[index] for index in shown]


def _narrowed(natural: list[int], exact: list[bool], shown: list[int], room: int, least: int) -> list[int] | None:
    widths = [natural[index] for index in shown]
    floors = [natural[index] if exact[index] else min(natural[index], least) for index in shown]
    excess = sum(widths) + GAP * (len(widths) - 1) - room
    while excess > 0:
        loose = [place for place, width in enumerate(widths) if width > floors[place]]
        if not loose:
            return None
        widest = max(widths[place] for place in loose)
        most = [place for place in loose if widths[place] == widest]
        # Down to the next widest, together.
        below = max((widths[place] for place in loose if widths[place] < widest), default=0)
        step = min(max(excess // len(most), 1), widest - max(below, *(floors[place] for place in most)))
        for place in most[: excess if step == 1 else None]:
            widths[place] -= step
            excess -= step
    return widths
