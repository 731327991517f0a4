"""Traces that are not known to have arrived whole. Children come before their parents, and a turn's root comes last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from turnlog import semconv
from turnlog.intake.sender import origin_of
from turnlog.intake.trace import has_state
from turnlog.received import ReceivedSpan

_NAMES = (semconv.SESSION_ID, semconv.GEN_AI_CONVERSATION_ID)
_ENTRIES = ("server", "consumer")


@dataclass(slots=True)
class Trace:
    spans: list[ReceivedSpan] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    sender: str = ""
    names: set[str] = field(default_factory=set)
    begins_ns: int = 0
    # Whether the senders' own processes have derived all of it: then its order does not matter any more.
    is_derived: bool = True
    last_arrival: float = 0.0

    def add(self, span: ReceivedSpan, file: str, now: float) -> None:
        if not self.spans:
            self.sender, self.begins_ns = origin_of(span.resource), span.start_ns
        self.begins_ns = min(self.begins_ns, span.start_ns)
        self.is_derived = self.is_derived and has_state(span)
        self.spans.append(span)
        self.ids.add(span.span_id)
        self.names.update(str(name) for key in _NAMES if (name := span.attributes.get(key)))
        self.files[file] += 1
        self.last_arrival = now

    def is_whole(self, is_known: Callable[[str], bool]) -> bool:
        """Whether every span's parent is here, or was before, or is in a process that does not send to us."""
        return all(
            not span.parent_id
            or span.parent_id in self.ids
            or span.has_remote_parent
            or span.kind in _ENTRIES
            or is_known(span.parent_id)
            for span in self.spans
        )


class Waiting:
    def __init__(self, quiet: float, give_up: float, is_known: Callable[[str], bool]) -> None:
        """A trace that is whole waits for `quiet` more, in case a span without children comes late; any other for `give_up`."""
        self.count = 0
        self._quiet = quiet
        self._give_up = give_up
        self._is_known = is_known
        self._traces: dict[str, Trace] = {}

    def add(self, spans: Iterable[ReceivedSpan], now: float, file: str = "") -> None:
        for span in spans:
            trace = self._traces.get(span.trace_id)
            if trace is None:
                trace = self._traces[span.trace_id] = Trace()
            trace.add(span, file, now)
            self.count += 1

    def all(self) -> list[Trace]:
        """In the order in which they began."""
        return sorted(self._traces.values(), key=lambda trace: trace.begins_ns)

    def take_ready(self, now: float, *, everything: bool = False, at_least: int = 0) -> list[Trace]:
        """The traces to play now, in the order in which they began. A turn waits for the turns before it in its session; where
        it names none, for all that its sender began before. `at_least` so many spans come out, whole or not."""
        ready: list[Trace] = []
        blocked: set[str] = set()
        for trace in self.all():
            quiet_for = now - trace.last_arrival
            is_whole = quiet_for >= self._quiet and trace.is_whole(self._is_known)
            is_due = trace.is_derived or is_whole or quiet_for >= self._give_up
            follows = trace.names or {trace.sender}
            if everything or at_least > 0 or (is_due and (trace.is_derived or not follows & blocked)):
                ready.append(trace)
                at_least -= len(trace.spans)
            else:
                blocked |= {trace.sender, *trace.names}
        for trace in ready:
            del self._traces[trace.spans[0].trace_id]
            self.count -= len(trace.spans)
        return ready
