"""Finished spans, played through the one SessionProcessor as if they ran now: what it derives goes to the journal."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, Span, TracerProvider
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.derive.files import Observed
from turnlog.foreign import MODEL_CALLS
from turnlog.identity import Identity, Turn
from turnlog.intake.sender import Ids, SenderSessions, origin_of, process_row
from turnlog.intake.trace import Piece, is_agents, pieces_of, steps
from turnlog.journal.record import span_row
from turnlog.journal.writer import loss_row
from turnlog.operation import lent
from turnlog.processor import SessionProcessor
from turnlog.received import ReceivedSpan
from turnlog.running import KnownSpans
from turnlog.vocabulary import Told, told

_MOST_SENDERS = 256
_MOST_TURNS = 8192
_MOST_TRACES = 8192
_BATCH = 1024 * 1024
_FLAGS = TraceFlags(TraceFlags.SAMPLED)
_KINDS = {kind.name.lower(): kind for kind in SpanKind}
_SUMMARIES = (
    semconv.COMMIT_INPUT_SUMMARY,
    semconv.COMMIT_OUTPUT_SUMMARY,
    semconv.TURN_INPUT_SUMMARY,
    semconv.TURN_OUTPUT_SUMMARY,
)
_WORKING_DIRECTORY = "process.working_directory"
_NOWHERE = Resource.get_empty()
_STATUSES = {code.name.lower(): code for code in StatusCode}


class Player:
    """Plays trace after trace. What it writes is in the journal when `flush` returns."""

    def __init__(self, policy: ContentPolicy, write: Callable[[bytes, int], bool], known: KnownSpans | None = None) -> None:
        self.known = KnownSpans() if known is None else known
        self.nobodys = 0
        self.repeated = 0
        self._policy = policy
        self._rows = _Rows(write)
        self._journal = _Journal(self._rows)
        self._homes: OrderedDict[str, _Home] = OrderedDict()
        self._home_of: OrderedDict[str, str] = OrderedDict()
        self._answers: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._heard: OrderedDict[str, int] = OrderedDict()
        self._senders: OrderedDict[str, None] = OrderedDict()
        self._origins: dict[int, tuple[Mapping[str, Any], str]] = {}
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._scopes: dict[str, InstrumentationScope] = {}

    def play(self, spans: Sequence[ReceivedSpan]) -> None:
        """The spans of one trace that have not been played before."""
        pieces = pieces_of(spans, self._told)
        if not is_agents(pieces) and not any(int(piece.span.parent_id or "0", 16) in self.known for piece in pieces):
            self.nobodys += len(pieces)
            return
        if self._is_told_elsewhere(pieces):
            self.repeated += len(pieces)
            return
        _forget_contexts(pieces, self._heard.get(pieces[0].span.trace_id, 0))
        home = self._home(pieces[0].span)
        running: dict[int, _PlayedSpan] = {}
        for piece, is_start in steps(pieces):
            home.follow(piece.span, is_start)
            self._journal.origin = self._origin(piece.span)
            if is_start:
                running[id(piece)] = self._start(piece, home)
            else:
                self._end(running.pop(id(piece)), home)

        heard = max((piece.starts_ns for piece in pieces if piece.operation in MODEL_CALLS), default=0)
        self._heard[pieces[0].span.trace_id] = max(heard, self._heard.pop(pieces[0].span.trace_id, 0))
        if len(self._heard) > _MOST_TRACES:
            self._heard.popitem(last=False)

    def flush(self) -> bool:
        return self._rows.flush()

    def _is_told_elsewhere(self, pieces: Sequence[Piece]) -> bool:
        """Whether all its calls were told in another trace, by another instrumentation of the program: answers have ids."""
        calls = [piece for piece in pieces if piece.operation and not piece.has_state]
        answers = [(self._origin(piece.span), str(piece.get(semconv.GEN_AI_RESPONSE_ID) or "")) for piece in calls]
        scopes = [self._answers.get(answer) for answer in answers]
        for piece, answer in zip(calls, answers, strict=True):
            if answer[1]:
                self._answers.setdefault(answer, piece.span.scope)
        while len(self._answers) > _MOST_TRACES:
            self._answers.popitem(last=False)
        return bool(calls) and all(
            scope is not None and scope != piece.span.scope for piece, scope in zip(calls, scopes, strict=True)
        )

    def _told(self, span: ReceivedSpan, is_root: bool) -> Told:
        if semconv.TURN_ID in span.attributes:
            return Told({}, {})
        return told(span, is_root=is_root and int(span.parent_id or "0", 16) not in self.known)

    def _start(self, piece: Piece, home: _Home) -> _PlayedSpan:
        span = _PlayedSpan(piece, self._scope(piece.span.scope))
        if not span.has_state:
            with lent({} if piece.aside else dict(piece.told.content)):
                home.processor.on_start(cast(Span, span))
        elif (turn := piece.span.attributes.get(semconv.TURN_ID)) is not None:
            session = str(piece.span.attributes.get(semconv.SESSION_ID) or "")
            identity = Identity(session, self._turn(str(turn)), given=True, explicit=True, opened=True)
            self.known.remember(int(piece.span.span_id, 16), identity)
        return span

    def _end(self, span: _PlayedSpan, home: _Home) -> None:
        if not span.has_state:
            home.processor._on_ending(cast(Span, span))
            home.processor.on_end(span)
            return
        # Its own process has derived it, under a policy of its own.
        summaries = {key: self._policy.summary(span.given[key]) for key in _SUMMARIES if key in span.given}
        self._journal.append(span_row(span, "end", self._policy, beside=summaries))

    def _turn(self, id: str) -> Turn:
        turn = self._turns.setdefault(id, Turn(id))
        self._turns.move_to_end(id)
        if len(self._turns) > _MOST_TURNS:
            self._turns.popitem(last=False)
        return turn

    def _home(self, root: ReceivedSpan) -> _Home:
        """What derives a whole trace: the conversations of its root's sender. Tools may run elsewhere."""
        origin = self._home_of.setdefault(root.trace_id, self._origin(root))
        self._home_of.move_to_end(root.trace_id)
        if len(self._home_of) > _MOST_TRACES:
            self._home_of.popitem(last=False)
        home = self._homes.get(origin)
        if home is None:
            home = self._homes[origin] = _Home(origin, root.resource, self._policy, self._journal, self.known)
            if len(self._homes) > _MOST_SENDERS:
                self._homes.popitem(last=False)
        self._homes.move_to_end(origin)
        return home

    def _origin(self, span: ReceivedSpan) -> str:
        held, origin = self._origins.get(id(span.resource), (None, ""))
        if held is not span.resource:
            origin = origin_of(span.resource)
            if len(self._origins) >= _MOST_SENDERS:
                self._origins.clear()
            self._origins[id(span.resource)] = span.resource, origin
        if origin not in self._senders:
            self._senders[origin] = None
            self._rows.add(process_row(origin, span.resource, span.start_ns), 1)
            if len(self._senders) > _MOST_SENDERS:
                self._senders.popitem(last=False)
        return origin

    def _scope(self, name: str) -> InstrumentationScope:
        if name not in self._scopes:
            if len(self._scopes) >= _MOST_SENDERS:
                self._scopes.clear()
            self._scopes[name] = InstrumentationScope(name)
        return self._scopes[name]


class _Rows:
    """Gathers rows, so that a trace is a few writes and not one per span. What cannot be written now is kept."""

    def __init__(self, write: Callable[[bytes, int], bool]) -> None:
        self._write = write
        self._payload: list[bytes] = []
        self._count = self._size = 0
        self._unwritten: deque[tuple[bytes, int]] = deque()

    def add(self, payload: bytes, rows: int) -> None:
        self._payload.append(payload)
        self._count += rows
        self._size += len(payload)
        if self._size > _BATCH:
            self._pass_on()

    def flush(self) -> bool:
        """Whether all that was added is written."""
        self._pass_on()
        return not self._unwritten

    def _pass_on(self) -> None:
        if self._count:
            self._unwritten.append((b"".join(self._payload), self._count))
            self._payload, self._count, self._size = [], 0, 0
        while self._unwritten and self._write(*self._unwritten[0]):
            self._unwritten.popleft()


class _Journal:
    """The journal as processors write it: every row says whose it is."""

    directory = Path()

    def __init__(self, rows: _Rows) -> None:
        self.origin = ""
        self._rows = rows

    def append(self, payload: bytes, rows: int = 1) -> bool:
        self._rows.add((b"\n" + payload).replace(b"\n{", b'\n{"origin":"' + self.origin.encode() + b'",')[1:], rows)
        return True

    def report_loss(self, reason: str) -> None:
        self.append(loss_row(reason, 1))

    def close(self) -> None:
        self._rows.flush()


class _Home:
    """One sender's sessions and conversations."""

    def __init__(
        self, origin: str, resource: Mapping[str, Any], policy: ContentPolicy, journal: _Journal, known: KnownSpans
    ) -> None:
        self._ids = Ids()
        self._sessions = SenderSessions(origin, resource, self._ids)
        self.processor = SessionProcessor(policy, self._sessions, journal, known=known, tells_starts=False)
        provider = TracerProvider(resource=_NOWHERE, shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(self.processor)
        self.processor.conversations.tracer = provider.get_tracer("turnlog", schema_url=semconv.SCHEMA_URL)

    def follow(self, span: ReceivedSpan, is_start: bool) -> None:
        self._sessions.trace = span.trace_id
        self._ids.follow(span.trace_id, span.span_id, str(span.start_ns), str(is_start))
        self.processor.elsewhere = Observed(cwd=str(span.resource.get(_WORKING_DIRECTORY) or ""))


class _Attributes(dict[str, Any]):
    """As the SDK's: without limits, because they were made elsewhere and kept there."""

    maxlen = sys.maxsize
    max_value_len = None

    @property
    def _dict(self) -> dict[str, Any]:
        return self


class _PlayedSpan(ReadableSpan):
    def __init__(self, piece: Piece, scope: InstrumentationScope) -> None:
        span = piece.span
        self.has_state = piece.has_state
        self.given = span.attributes
        attributes = _Attributes(span.attributes)
        attributes.pop(semconv.RECEIVED_CLOCK_SHIFT, None)
        if piece.aside:
            attributes.pop(semconv.GEN_AI_OPERATION_NAME, None)
        elif not piece.has_state:
            attributes.update(piece.told.attributes)
            for key in [key for key, value in piece.told.attributes.items() if value is None]:
                del attributes[key]
        if piece.shift_ns:
            attributes[semconv.RECEIVED_CLOCK_SHIFT] = piece.shift_ns
        super().__init__(
            name=span.name,
            context=_context(span.trace_id, span.span_id),
            parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=_NOWHERE,
            attributes=attributes,
            events=[Event(event.name, dict(event.attributes), event.at_ns) for event in span.events],
            links=[Link(_context(link.trace_id, link.span_id)) for link in span.links],
            kind=_KINDS[span.kind],
            status=Status(_STATUSES[span.status], span.status_message if span.status == "error" else None),
            start_time=span.start_ns + piece.shift_ns,
            end_time=span.end_ns + piece.shift_ns,
            instrumentation_scope=scope,
        )

    def add_link(self, context: SpanContext) -> None:
        self._links = [*self._links, Link(context)]


def _forget_contexts(pieces: Sequence[Piece], heard_ns: int) -> None:
    """A model call that comes after later ones of its trace were played is recorded without its context: against theirs, all
    that was said since would seem to have left it."""
    for piece in pieces:
        if piece.starts_ns < heard_ns and piece.operation in MODEL_CALLS:
            piece.told.content[semconv.GEN_AI_INPUT_MESSAGES] = []


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=_FLAGS)
