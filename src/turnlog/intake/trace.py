"""One trace's finished spans, put into the order in which they began and ended.

A parent begins before its children, whatever their clocks say; a model call that brings a tool's result comes after that tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnlog import semconv
from turnlog.derive.messages import as_messages, calls_of, split_results
from turnlog.foreign import MODEL_CALLS
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary import Told
from turnlog.vocabulary.together import complete

_TOOL = GenAiOperation.EXECUTE_TOOL.value
# Of a history that every call repeats, what came last is what it waited for.
_LATEST = 16
_NEVER = 2**63


@dataclass(slots=True)
class Piece:
    """A span of a trace with what it says in GenAI words. `sender` numbers the processes of the trace; `outer` is the operation
    around it; `shift_ns` is how far its clock is behind the trace's."""

    span: ReceivedSpan
    told: Told
    sender: int = 0
    parent: Piece | None = None
    outer: Piece | None = None
    depth: int = 0
    shift_ns: int = 0
    starts_ns: int = 0
    until_ns: int = _NEVER
    aside: bool = False
    inner: list[Piece] = field(default_factory=list)

    @property
    def has_state(self) -> bool:
        return has_state(self.span)

    @property
    def operation(self) -> str:
        return "" if self.aside else str(self.get(semconv.GEN_AI_OPERATION_NAME) or "")

    @property
    def ends_ns(self) -> int:
        return max(self.starts_ns, min(self.until_ns, self.span.end_ns + self.shift_ns))

    def get(self, key: str) -> Any:
        told = self.told.attributes
        return told[key] if key in told else self.span.attributes.get(key)

    def content(self, key: str) -> Any:
        found = self.told.content.get(key)
        return self.get(key) if found is None else found


def has_state(span: ReceivedSpan) -> bool:
    """Whether its own process has derived it already."""
    attributes = span.attributes
    return semconv.TURN_ID in attributes or (semconv.COMMIT_KIND in attributes and semconv.SESSION_ID in attributes)


def is_agents(pieces: Iterable[Piece]) -> bool:
    """Whether any of the spans is about an agent: what else a collector sends along is nobody's session."""
    return any(piece.operation or piece.has_state for piece in pieces)


def pieces_of(spans: Sequence[ReceivedSpan], told: Callable[[ReceivedSpan, bool], Told]) -> list[Piece]:
    """The spans as a forest, parents first, each call once, on one clock."""
    by_id: dict[str, ReceivedSpan] = {}
    for span in spans:
        by_id.setdefault(span.span_id, span)
    pieces = [Piece(span, told(span, span.parent_id not in by_id)) for span in spans]
    complete([(piece.span, piece.told) for piece in pieces if not piece.has_state])
    first = {piece.span.span_id: piece for piece in reversed(pieces)}
    for piece in pieces:
        parent = first.get(piece.span.parent_id)
        if parent is not None and parent is not piece:
            piece.parent = parent
            parent.inner.append(piece)
    pieces = list(_downwards(pieces))
    _say_each_call_once(pieces)
    if _number_senders(pieces) > 1:
        _set_clocks(pieces)
    for piece in pieces:
        own = piece.span.start_ns + piece.shift_ns
        piece.starts_ns = own if piece.parent is None else max(own, piece.parent.starts_ns)
    _follow_calls(pieces)
    return pieces


def steps(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, bool]]:
    """Each piece twice: when it starts (true) and when it ends. At one instant, what ends makes way for what starts."""
    events = []
    for place, piece in enumerate(pieces):
        lasts = piece.ends_ns > piece.starts_ns
        events.append((piece.starts_ns, 1, piece.depth, place, piece, True))
        events.append((piece.ends_ns, 0 if lasts else 2, -piece.depth, place, piece, False))
    events.sort(key=lambda event: event[:4])
    for *_, piece, is_start in events:
        yield piece, is_start


def _follow_calls(pieces: Sequence[Piece]) -> None:
    """A tool begins when a model has asked for it, and the model hears of it when it is over. Clocks can be too coarse to say
    so, and a streamed answer still comes in while the tools run that it has asked for."""
    tools = {str(piece.get(semconv.GEN_AI_TOOL_CALL_ID)): piece for piece in pieces if piece.operation == _TOOL}
    if not tools:
        return
    calls = [piece for piece in pieces if piece.operation in MODEL_CALLS]
    for piece in calls:
        for call in _calls_in(piece.content(semconv.GEN_AI_OUTPUT_MESSAGES)):
            if (tool := tools.get(call)) is not None and tool.parent is not piece:
                tool.starts_ns = max(tool.starts_ns, piece.starts_ns + 1)
                piece.until_ns = min(piece.until_ns, tool.starts_ns)
    for piece in calls:
        for call in _results_in(piece.content(semconv.GEN_AI_INPUT_MESSAGES)):
            if (tool := tools.get(call)) is not None and piece.parent is not tool:
                piece.starts_ns = max(piece.starts_ns, tool.ends_ns + 1)
    for piece in pieces:
        if piece.parent is not None:
            piece.starts_ns = max(piece.starts_ns, piece.parent.starts_ns)


def _downwards(pieces: list[Piece]) -> Iterator[Piece]:
    waiting = sorted((piece for piece in pieces if piece.parent is None), key=_when, reverse=True)
    met = set()
    while waiting:
        piece = waiting.pop()
        met.add(id(piece))
        yield piece
        for inner in sorted(piece.inner, key=_when, reverse=True):
            inner.depth = piece.depth + 1
            waiting.append(inner)
    # Parents in a circle: nobody's children.
    circle = [piece for piece in pieces if id(piece) not in met]
    for piece in circle:
        piece.parent, piece.inner, piece.depth = None, [], 0
    yield from sorted(circle, key=_when)


def _when(piece: Piece) -> tuple[int, int, str]:
    return piece.span.start_ns, -piece.span.end_ns, piece.span.span_id


def _call_of(piece: Piece) -> str:
    operation = piece.operation
    if operation == _TOOL:
        return f"{operation} {piece.get(semconv.GEN_AI_TOOL_NAME)}"
    return "model" if operation in MODEL_CALLS else ""


def _say_each_call_once(pieces: Sequence[Piece]) -> None:
    """Where several instrumentations tell of one call, the one that says most stands for it, with what the others add."""
    by_response: dict[str, Piece] = {}
    for piece in pieces:
        if piece.parent is not None:
            piece.outer = piece.parent if piece.parent.operation else piece.parent.outer
        call = _call_of(piece)
        if not call:
            continue
        outer = piece.outer
        same = outer if outer is not None and _call_of(outer) == call else None
        response = str(piece.get(semconv.GEN_AI_RESPONSE_ID) or "") if call == "model" else ""
        if same is None and response:
            known = by_response.get(response)
            same = known if known is not None and known.span.scope != piece.span.scope and not known.aside else None
        if same is not None and not (piece.has_state and same.has_state):
            stands, other = (piece, same) if _says(piece) > _says(same) else (same, piece)
            other.aside = True
            for key, value in {**other.span.attributes, **other.told.attributes}.items():
                if key.startswith("gen_ai.") and stands.get(key) is None:
                    stands.told.attributes[key] = value
            for key, value in other.told.content.items():
                stands.told.content.setdefault(key, value)
            piece = stands
        if response:
            by_response[response] = piece


def _says(piece: Piece) -> tuple[bool, int]:
    keys = (
        semconv.GEN_AI_INPUT_MESSAGES,
        semconv.GEN_AI_OUTPUT_MESSAGES,
        semconv.GEN_AI_TOOL_CALL_ARGUMENTS,
        semconv.GEN_AI_TOOL_CALL_RESULT,
        semconv.GEN_AI_TOOL_CALL_ID,
    )
    return piece.has_state, sum(piece.content(key) is not None for key in keys)


def _number_senders(pieces: Sequence[Piece]) -> int:
    """How many there are. Each request has resources of its own, which say the same for the same sender."""
    resources: list[Mapping[str, Any]] = []
    numbers: dict[int, int] = {}
    for piece in pieces:
        resource = piece.span.resource
        if id(resource) not in numbers:
            if resource not in resources:
                resources.append(resource)
            numbers[id(resource)] = resources.index(resource)
        piece.sender = numbers[id(resource)]
    return len(resources)


def _set_clocks(pieces: Sequence[Piece]) -> None:
    """Processes whose clocks disagree: each is moved as little as lets it begin within its parent in another process, after the
    model has asked for its tool calls and before the model hears of them."""
    shifts: dict[int, int] = {}
    root = pieces[0].sender
    asked: dict[str, Piece] = {}
    heard: dict[str, Piece] = {}
    for piece in pieces:
        if piece.operation in MODEL_CALLS:
            for call in _calls_in(piece.content(semconv.GEN_AI_OUTPUT_MESSAGES)):
                asked.setdefault(call, piece)
            for call in _results_in(piece.content(semconv.GEN_AI_INPUT_MESSAGES)):
                heard.setdefault(call, piece)
    for piece in pieces:
        here = piece.sender
        if here == root or here in shifts or piece.has_state:
            continue
        least, most = _bounds(piece, asked, heard)
        if least is not None and piece.span.start_ns < least:
            shifts[here] = least - piece.span.start_ns
        elif most is not None and piece.span.end_ns > most:
            shifts[here] = max(most - piece.span.end_ns, (least or 0) - piece.span.start_ns)
    for piece in pieces:
        piece.shift_ns = shifts.get(piece.sender, 0)


def _bounds(piece: Piece, asked: Mapping[str, Piece], heard: Mapping[str, Piece]) -> tuple[int | None, int | None]:
    """When a span can have started at the earliest and ended at the latest, as other processes' spans tell."""
    least: list[int] = []
    most: list[int] = []
    parent = piece.parent
    if parent is not None and parent.sender != piece.sender:
        least.append(parent.span.start_ns)
        if piece.span.start_ns > parent.span.end_ns:
            most.append(parent.span.end_ns)
    call = str(piece.get(semconv.GEN_AI_TOOL_CALL_ID) or "") if piece.operation == _TOOL else ""
    if call in asked and asked[call].sender != piece.sender:
        least.append(asked[call].span.end_ns)
    if call in heard and heard[call].sender != piece.sender:
        most.append(heard[call].span.start_ns)
    return max(least, default=None), min(most, default=None)


def _calls_in(messages: Any) -> Iterator[str]:
    for message in as_messages(messages):
        yield from (str(call["id"]) for call in calls_of(message) if call.get("id"))


def _results_in(messages: Any) -> Iterator[str]:
    given = as_messages(messages)
    for index in range(max(0, len(given) - _LATEST), len(given)):
        yield from (part.call for part in split_results(given[index]) if part.call)
