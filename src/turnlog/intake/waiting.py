"""Traces that are not known to have arrived whole. Children come before their parents, and a turn's root comes last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from turnlog import semconv
from turnlog.intake.sender import is_process, origin_of
from turnlog.intake.trace import has_state
from turnlog.received import ReceivedSpan

_NAMES = (semconv.SESSION_ID, semconv.GEN_AI_CONVERSATION_ID)
_ENTRIES = ("server", "consumer")
_ELSEWHERE = 6


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
    size: int = 0

    def add(self, span: ReceivedSpan, file: str, now: float) -> None:
        if not self.spans:
            self.sender = origin_of(span.resource) if is_process(span.resource) else ""
            self.begins_ns = span.start_ns
        self.begins_ns = min(self.begins_ns, span.start_ns)
        self.is_derived = self.is_derived and has_state(span)
        self.spans.append(span)
        self.ids.add(span.span_id)
        self.names.update(str(name) for key in _NAMES if (name := span.attributes.get(key)))
        self.files[file] += 1
        self.last_arrival = now

    def orphans(self, is_known: Callable[[str], bool]) -> list[ReceivedSpan]:
        """The spans whose parent is not here, and was not here before."""
        return [
            span for span in self.spans if span.parent_id and span.parent_id not in self.ids and not is_known(span.parent_id)
        ]


class Waiting:
    def __init__(self, quiet: float, give_up: float, is_known: Callable[[str], bool]) -> None:
        """A trace that is whole waits for `quiet` more, in case a span without children comes late; one whose missing parents
        are in other processes, which may not send to us, several times as long; any other for `give_up`."""
        self.count = self.size = 0
        self._quiet = quiet
        self._give_up = give_up
        self._is_known = is_known
        self._traces: dict[str, Trace] = {}

    def add(self, spans: Sequence[ReceivedSpan], now: float, file: str = "", size: int = 0) -> None:
        """`size` is what the spans take, in bytes."""
        self.size += size // len(spans) * len(spans) if spans else 0
        for span in spans:
            trace = self._traces.get(span.trace_id)
            if trace is None:
                trace = self._traces[span.trace_id] = Trace()
            trace.add(span, file, now)
            trace.size += size // len(spans)
            self.count += 1

    def all(self) -> list[Trace]:
        """In the order in which they began."""
        return sorted(self._traces.values(), key=lambda trace: trace.begins_ns)

    def newest(self, most: int) -> list[Trace]:
        """The traces that began last, with no more than so many spans, in the order in which they began."""
        found: list[Trace] = []
        for trace in reversed(self.all()):
            most -= len(trace.spans)
            if most < 0:
                break
            found.append(trace)
        return found[::-1]

    def clear(self) -> None:
        self._traces.clear()
        self.count = self.size = 0

    def take_ready(self, now: float, *, everything: bool = False, whole: bool = False, at_least: int = 0) -> list[Trace]:
        """The traces to play now, in the order in which they began. A turn waits for the turns before it in its session; where
        it names none, for all that its sender began before. `at_least` so many spans come out, whole or not;
        `whole`: nobody waits for anything more."""
        ready: list[Trace] = []
        blocked: set[str] = set()
        for trace in self.all():
            quiet_for = now - trace.last_arrival
            is_due = trace.is_derived or quiet_for >= self._give_up or self._is_whole(trace, quiet_for, whole)
            follows = trace.names or {trace.sender}
            if everything or at_least > 0 or (is_due and (trace.is_derived or whole or not follows & blocked)):
                ready.append(trace)
                at_least -= len(trace.spans)
            else:
                blocked |= {trace.sender, *trace.names} - {""}
        for trace in ready:
            del self._traces[trace.spans[0].trace_id]
            self.count -= len(trace.spans)
            self.size -= trace.size
        return ready

    def _is_whole(self, trace: Trace, quiet_for: float, whole: bool) -> bool:
        if not whole and quiet_for < self._quiet:
            return False
        orphans = trace.orphans(self._is_known)
        is_quiet = whole or not orphans or quiet_for >= _ELSEWHERE * self._quiet
        return is_quiet and all(span.has_remote_parent or span.kind in _ENTRIES for span in orphans)
