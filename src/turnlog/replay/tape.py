"""The recorded calls of one session, each given out once: by what was asked, in the order in which it was asked.

What a call is asked by is its key: the digest of the context that a model sees (its position in the lineage), or a tool's name
with the hash of its input.
"""

from __future__ import annotations

import bisect
import itertools
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from turnlog.queries.replaying import MODEL, TOLD, TOOL, RecordedCall


class Tape:
    """Safe to take from in several threads at once."""

    def __init__(self, session: str, calls: Sequence[RecordedCall], kinds: Iterable[str] = (MODEL, TOOL)) -> None:
        """`kinds` are those that are given back; calls of the others go live."""
        self.session = session
        self.kinds = frozenset(kinds)
        self._inside: dict[str, list[RecordedCall]] = defaultdict(list)
        self._left: dict[str, RecordedCall] = {}
        self._waiting: dict[tuple[str, str, str], deque[RecordedCall]] = defaultdict(deque)
        self._lock = threading.Lock()
        for call in calls:
            if call.inside:
                self._inside[call.inside].append(call)
            if call.call_kind in self.kinds and not call.is_recovered and not call.is_unrun:
                self._left[call.commit_id] = call
                self._waiting[call.call_kind, call.tool if call.call_kind == TOOL else "", key_of(call)].append(call)
        self.scopes = {kind: {call.scope for call in self._left.values() if call.call_kind == kind} for kind in self.kinds}
        self._by_end = sorted((call for call in self._left.values() if call.call_kind == TOOL), key=_place)

    def take(self, kind: str, key: str, tool: str = "") -> RecordedCall | None:
        """The next call that was asked for like this and has not been given out. None: there is no other."""
        with self._lock:
            waiting = self._waiting[kind, tool, key]
            while waiting:
                call = waiting.popleft()
                if call.commit_id in self._left:
                    self._give(call)
                    return call
        return None

    def take_call(self, call: RecordedCall) -> bool:
        """This very call, whatever its key. False: it has been given out."""
        with self._lock:
            is_left = call.commit_id in self._left
            if is_left:
                self._give(call)
            return is_left

    def next_of(self, kind: str) -> RecordedCall | None:
        """The first call of a kind that nobody has asked for yet."""
        with self._lock:
            return next((call for call in self._left.values() if call.call_kind == kind), None)

    @property
    def is_over(self) -> bool:
        return not self._left

    def left(self) -> list[RecordedCall]:
        """What nobody has asked for yet, in order."""
        with self._lock:
            return list(self._left.values())

    def is_agent(self, call: RecordedCall) -> bool:
        """Whether a model was called inside a tool call: such a tool is run, and what it asks for is given back."""
        return MODEL in self.kinds and any(
            inner.call_kind == MODEL or self.is_agent(inner) for inner in self._inside.get(call.span_id, ())
        )

    def beside(self, call: RecordedCall) -> list[RecordedCall]:
        """The tool calls whose commits came before this one's, and which ran beside it, or could have: asked for together."""

        def could_run_beside(other: RecordedCall) -> bool:
            return other.ended_ns > call.started_ns or other.decision_id == call.decision_id != ""

        own = bisect.bisect_left(self._by_end, _place(call), key=_place)
        return list(itertools.takewhile(could_run_beside, (self._by_end[place] for place in range(own - 1, -1, -1))))

    def is_left(self, call: RecordedCall) -> bool:
        return call.commit_id in self._left

    def told_inside(self, call: RecordedCall) -> list[RecordedCall]:
        """What the program recorded by hand inside a tool call: decisions, notes, changes of the session's lifecycle."""
        return [inner for inner in self._inside.get(call.span_id, ()) if inner.call_kind == TOLD]

    def _give(self, call: RecordedCall) -> None:
        self._left.pop(call.commit_id, None)
        if call.call_kind == TOOL and not self.is_agent(call):
            # Nothing in it runs again.
            for inner in self._inside.get(call.span_id, ()):
                self._give(inner)


def _place(call: RecordedCall) -> tuple[int, int]:
    """Its commit's among those of the session: an end is noted before it is known who of several was first."""
    return call.turn, call.sequence


def key_of(call: RecordedCall) -> str:
    """What a call was asked by. A request without messages, as for embeddings, is told by itself."""
    return call.call_key or str(call.answer.get("key", ""))
