"""The context of one model call against the one before: what stayed, what came, what left. Pure.

Instructions (leading system messages) are kept apart: changing them neither evicts nor forks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from turnlog.semconv import EntryKind

STRIDE = 1 << 32
_SERIALS = 1 << 16
NOTHING = "sha256:" + hashlib.sha256().hexdigest()


class Seen(NamedTuple):
    """One message of a context, or one of the tool results that a message holds."""

    hash: str
    role: str
    call: str
    where: int
    part: int = 0


class Item(NamedTuple):
    """A message with its place: `at` orders and names it within its lineage."""

    at: int
    hash: str
    role: str
    call: str = ""
    origin: str = ""
    keys: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        if self.call:
            return f"{EntryKind.RESULT}:{self.call}"
        return f"{EntryKind.MESSAGE}:{self.hash.partition(':')[2][:16]}"


class Course(Enum):
    """How a context continues another."""

    EXTENDED = "extended"
    TRIMMED = "trimmed"
    CLEARED = "cleared"
    SUMMARISED = "summarised"
    FORKED = "forked"
    UNRELATED = "unrelated"

    @property
    def evicts(self) -> bool:
        return self in (Course.TRIMMED, Course.CLEARED, Course.SUMMARISED)


class Alignment(NamedTuple):
    """`kept` has for every new message the index of the old one that it is, or -1."""

    course: Course
    kept: list[int]


def align(old: Sequence[Item], new: Sequence[Seen]) -> Alignment:
    """Tell an extension, an eviction and a fork apart.

    A fork leaves the old path at a user message (edited, or asked again from an earlier point) and takes nothing of what
    came after it along; an eviction keeps later messages, or puts something else in the place of what a model or tool said.
    """
    same = common(old, new)
    kept = list(range(same)) + [-1] * (len(new) - same)
    if same == len(old):
        return Alignment(Course.EXTENDED, kept)
    if same == len(new):
        return Alignment(Course.FORKED if new else Course.UNRELATED, kept)
    places: dict[str, list[int]] = {}
    for index in range(len(old) - 1, same - 1, -1):
        places.setdefault(old[index].hash, []).append(index)
    after = same
    for index in range(same, len(new)):
        found = places.get(new[index].hash, [])
        while found and found[-1] < after:
            found.pop()
        if found:
            kept[index] = found.pop()
            after = kept[index] + 1
    fresh = [index for index in range(same, len(new)) if kept[index] < 0]
    if after > same:
        stay = set(kept)
        left = [item for index, item in enumerate(old) if index not in stay]
        swapped = {item.role for item in left} | {new[index].role for index in fresh} == {"user"}
        if fresh and swapped and kept[-1] == len(old) - 1:
            # The same question about something else is another conversation, not a trimmed one.
            return Alignment(Course.FORKED if same else Course.UNRELATED, kept)
        inserted = bool(fresh) and max(index for index, place in enumerate(kept) if place >= 0) > fresh[0]
        return Alignment(_course_of_replacement(old, new, fresh) if inserted else Course.TRIMMED, kept)
    leaves_at, arrives_at = old[same], new[same]
    if arrives_at.call and arrives_at.call == leaves_at.call:
        return Alignment(Course.CLEARED, kept)
    if leaves_at.role == arrives_at.role == "user" and (len(new) == same + 1 or new[same + 1].role != "user"):
        return Alignment(Course.FORKED if same else Course.UNRELATED, kept)
    return Alignment(Course.SUMMARISED if same else Course.UNRELATED, kept)


def _course_of_replacement(old: Sequence[Item], new: Sequence[Seen], fresh: Iterable[int]) -> Course:
    calls = {item.call for item in old if item.call}
    first = next(iter(fresh))
    return Course.CLEARED if new[first].call and new[first].call in calls else Course.SUMMARISED


def common(old: Sequence[Item], new: Sequence[Seen]) -> int:
    size = min(len(old), len(new))
    return next((index for index in range(size) if old[index].hash != new[index].hash), size)


def places(kept: Sequence[int], old: Sequence[Item], same: int, top: int, serial: int) -> list[int] | None:
    """Where each message after the first `same` goes: kept ones stay, new ones at the end follow, others fit in between.

    A place is never given twice, so that it names a message: appended ones are multiples of the stride, and those in
    between carry the serial number of the call. None when there is no room left.
    """
    found: list[int] = []
    floor = old[same - 1].at if same else 0
    index = 0
    while index < len(kept):
        if kept[index] >= 0:
            floor = old[kept[index]].at
            found.append(floor)
            index += 1
            continue
        end = next((later for later in range(index, len(kept)) if kept[later] >= 0), len(kept))
        if end == len(kept):
            return found + [max(floor, top) + STRIDE * step for step in range(1, end - index + 1)]
        step = (old[kept[end]].at - floor) // (end - index + 1)
        if step < 2 * _SERIALS:
            return None
        at = [floor + step * number for number in range(1, end - index + 1)]
        found += [place - place % _SERIALS + serial % (_SERIALS - 1) + 1 for place in at]
        index = end
    return found


def chain_on(chain: list[str], hashes: Iterable[str]) -> None:
    """Extend the digests of all prefixes."""
    last = chain[-1] if chain else NOTHING
    for digest in hashes:
        last = "sha256:" + hashlib.sha256(f"{last} {digest}".encode()).hexdigest()
        chain.append(last)


def digest_of(system: Sequence[str], chain: Sequence[str]) -> str:
    """The digest of a whole context: its instructions, and its messages in order."""
    return "sha256:" + hashlib.sha256(" ".join((*system, *chain[-1:])).encode()).hexdigest()
