"""How many tokens a text may cost a model, and texts that keep within so many. No tokenizer is needed.

The estimate is an upper one: measured against o200k_base, cl100k_base and the tokenizers of open models on ids, paths, JSON,
prose and other scripts, it is above each of them (`tests/test_tokens.py`). It adds up: that of lines is the sum of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_PIECE = re.compile(
    r"(?P<digits>[0-9]+(?![A-Za-z0-9]))"
    r"|(?P<letters>[A-Za-z]+(?![A-Za-z0-9]))"
    r"|(?P<mixed>[A-Za-z0-9]+)"
    r"|(?P<before>[ \t]+(?=[0-9]))"
    r"|(?P<space>[ \t]+)"
    r"|(?P<one>[\x00-\x7f\u0400-\u045f\u0621-\u064a])"
    r"|(?P<two>[\u0080-\u07ff\u0900-\u0eff\u1ea0-\u1eff\u2000-\u2bff\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef])"
    r"|(?P<three>[\u0800-\uffff])"
    r"|(?P<four>.)",
    re.DOTALL,
)
# What can be spoken is a word that a tokenizer may know; other letters are spelt. Possessive, so that no text takes long.
_WORD = re.compile(
    r"(?P<spoken>[A-Z]?(?:[b-df-hj-np-tv-xz]{0,3}+[aeiouy]{1,3}+)++[b-df-hj-np-tv-xz]{0,3}+(?![a-z]))|[A-Z]?[a-z]+|[A-Z]+"
)
_EACH = {"one": 1, "two": 2, "three": 3, "four": 4}
_LONG_WORD = 12


def estimate(text: str) -> int:
    """No fewer tokens than a text of people, agents or tools has for a model of today."""
    return sum(_cost(str(found.lastgroup), found[0]) for found in _PIECE.finditer(text))


def _cost(kind: str, piece: str) -> int:
    match kind:
        case "letters":
            return sum(_word_cost(len(found[0]), bool(found["spoken"])) for found in _WORD.finditer(piece))
        # Some tokenizers spell digits one by one, and never join them to the space before.
        case "mixed" | "digits":
            return len(piece)
        case "before":
            return 1 + len(piece) // 16
        case "space":
            return len(piece) // 16
    return _EACH[kind]


def _word_cost(length: int, spoken: bool) -> int:
    if not spoken:
        return 1 + length * 3 // 5
    return 1 + length // 5 if length <= _LONG_WORD else length // 3


class Section(NamedTuple):
    """Lines of one subject, the most telling first. `more`: how to get those for which there is no room. `total`: how many
    there are, where only as many were made as can have room."""

    title: str
    lines: Sequence[str]
    more: str = ""
    total: int = 0


def fit(head: str, sections: Sequence[Section], budget: int) -> str:
    """The head, and of each section as many whole lines as the budget has room for, with a word on those it has not.

    A section that needs less than an even share leaves the rest of it to the others. Of sections without lines nothing is said.
    """
    told = [section for section in sections if section.lines]
    rooms = _shared([_size(section) for section in told], budget - estimate(head))
    texts = [_within(section, room) for section, room in zip(told, rooms, strict=True)]
    return "\n".join([head, *(text for text in texts if text)])


def left_out(number: int, more: str = "") -> str:
    """What stands in the place of lines for which there was no room."""
    return f"- and {number:,} more" + (f": {more}" if more else "")


def _shared(needs: list[int], room: int) -> list[int]:
    rooms = [0] * len(needs)
    smallest_first = sorted(range(len(needs)), key=needs.__getitem__)
    for place, index in enumerate(smallest_first):
        rooms[index] = min(needs[index], max(room, 0) // (len(needs) - place))
        room -= rooms[index]
    return rooms


def _within(section: Section, room: int) -> str:
    """As much of a section as there is room for; nothing when there is none for a word on what was left out."""
    title, lines, more, total = section
    if _size(section) <= room and total <= len(lines):
        return "\n".join([title, *lines])
    total = max(total, len(lines))
    room -= _line(title) + _line(left_out(total, more))
    shown = sum(size <= room for size in accumulate(map(_line, lines)))
    return "\n".join([title, *lines[:shown], left_out(total - shown, more)]) if room >= 0 else ""


def _size(section: Section) -> int:
    return sum(map(_line, (section.title, *section.lines)))


def _line(text: str) -> int:
    """What a line costs with the break in front of it."""
    return estimate(text) + 1
