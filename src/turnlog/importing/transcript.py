"""A coding agent's transcript on its way to spans: turns, and in each the model's answers and the tool calls.

Ids are made from the session and the line's own ids, so that the same line is the same span whenever it is read. A turn is told
when it is over; each answer has the whole context that it was given, in messages that all answers share.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from turnlog import semconv
from turnlog.importing.values import made_id
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation

Message = Mapping[str, Any]
SCOPE = "turnlog.import"
CANCELLED = "cancelled"
_LONGEST_SILENCE = 3600 * 10**9


class Context(Sequence[Message]):
    """The first messages of a history, without a copy: a session of a thousand answers would have half a million messages.

    The history may grow; whoever shortens it makes another. It is in the GenAI form, which readers of spans leave as it is.
    """

    __slots__ = ("_history", "_length")

    def __init__(self, history: list[Message]) -> None:
        self._history = history
        self._length = len(history)

    def marks(self) -> list[Message]:
        return self._history[: self._length]

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self._history[place] for place in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._history[index % self._length]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.marks() == list(other)

    def __hash__(self) -> int:
        return hash(self._length)


@dataclass(slots=True)
class Answer:
    """A model call, as far as its answer has been read. `attributes` may still grow."""

    key: str
    start_ns: int
    end_ns: int
    given: Context
    attributes: dict[str, Any]
    said: Message | None = None
    error: str = ""
    error_text: str = ""


@dataclass(slots=True)
class Call:
    """A tool call. `end_ns` is 0 until its result came."""

    id: str
    name: str
    arguments: Any
    start_ns: int
    end_ns: int = 0
    result: Any = None
    error: str = ""
    error_text: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Turn:
    """`inner` holds the spans of sub-agents, which are told with it."""

    key: str
    asked: Message
    start_ns: int
    end_ns: int
    answers: list[Answer] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    inner: list[ReceivedSpan] = field(default_factory=list)
    error: str = ""
    error_text: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def may_go_on(self) -> bool:
        """Whether the result of a tool, or the answer to one, is still to come, and its agent may yet be at work on it."""
        if self.error or time.time_ns() - self.end_ns > _LONGEST_SILENCE:
            return False
        results = [call.end_ns for call in self.calls.values()]
        answered = max((answer.end_ns for answer in self.answers), default=0)
        return not answered or 0 in results or max(results, default=0) > answered


def _put_before_its_calls(answer: Answer, calls: Mapping[str, Call]) -> None:
    """A tool may have run while the rest of the message that asks for it was still on its way: it was asked for before."""
    parts = answer.said["parts"] if answer.said is not None else ()
    asked = [calls[part["id"]] for part in parts if part.get("type") == "tool_call" and part["id"] in calls]
    answer.end_ns = max(answer.start_ns + 1, min([answer.end_ns, *(call.end_ns for call in asked)]))
    for call in asked:
        call.start_ns = max(call.start_ns, answer.end_ns)
        call.end_ns = max(call.end_ns, call.start_ns)


class Agent:
    """Whose turns they are: the coding agent itself, or a sub-agent that runs inside one of its calls.

    `above` is the trace and the span that it runs in.
    """

    def __init__(
        self,
        name: str,
        session: str,
        provider: str,
        resource: Mapping[str, Any],
        *,
        key: str = "",
        above: tuple[str, str] | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.session = session
        self._provider = provider
        self.resource = resource
        self._key = key
        self._above = above
        self._known = dict(known or {})

    def trace_id(self, turn: str) -> str:
        return self._above[0] if self._above is not None else made_id(32, self.session, turn)

    def span_id(self, kind: str, key: str) -> str:
        return made_id(16, self.session, self._key, kind, key)

    def tell(self, turn: Turn) -> Iterator[ReceivedSpan]:
        """The turn's spans, the outermost first."""
        last = next((answer.said for answer in reversed(turn.answers) if answer.said is not None), None)
        attributes = {
            **self._who(GenAiOperation.INVOKE_AGENT),
            **self._known,
            **turn.attributes,
            semconv.GEN_AI_INPUT_MESSAGES: [turn.asked],
            semconv.GEN_AI_OUTPUT_MESSAGES: [last] if last is not None else None,
        }
        for call in turn.calls.values():
            if not call.end_ns:
                call.end_ns, call.error = max(turn.end_ns, call.start_ns), CANCELLED
        for answer in turn.answers:
            _put_before_its_calls(answer, turn.calls)
        yield self._span(turn, f"invoke_agent {self.name}", "turn", turn.key, attributes, turn.error, turn.error_text)
        for answer in turn.answers:
            yield self._answer(turn, answer)
        for call in turn.calls.values():
            yield self._call(turn, call)
        yield from turn.inner

    def _answer(self, turn: Turn, answer: Answer) -> ReceivedSpan:
        model = answer.attributes.get(semconv.GEN_AI_RESPONSE_MODEL)
        attributes = {
            **self._who(GenAiOperation.CHAT),
            semconv.GEN_AI_REQUEST_MODEL: model,
            **answer.attributes,
            semconv.GEN_AI_INPUT_MESSAGES: answer.given,
            semconv.GEN_AI_OUTPUT_MESSAGES: [answer.said] if answer.said is not None else None,
        }
        name = f"chat {model}" if model else "chat"
        return self._span(answer, name, "answer", answer.key, attributes, answer.error, answer.error_text, turn)

    def _call(self, turn: Turn, call: Call) -> ReceivedSpan:
        attributes = {
            **self._who(GenAiOperation.EXECUTE_TOOL),
            semconv.GEN_AI_TOOL_NAME: call.name,
            semconv.GEN_AI_TOOL_TYPE: "function",
            semconv.GEN_AI_TOOL_CALL_ID: call.id,
            semconv.GEN_AI_TOOL_CALL_ARGUMENTS: call.arguments,
            semconv.GEN_AI_TOOL_CALL_RESULT: call.result,
            **call.attributes,
        }
        return self._span(call, f"execute_tool {call.name}", "call", call.id, attributes, call.error, call.error_text, turn)

    def _who(self, operation: GenAiOperation) -> dict[str, Any]:
        return {
            semconv.GEN_AI_OPERATION_NAME: operation.value,
            semconv.SESSION_ID: self.session,
            semconv.GEN_AI_CONVERSATION_ID: self.session,
            semconv.GEN_AI_PROVIDER_NAME: self._provider,
            semconv.GEN_AI_AGENT_NAME: self.name,
        }

    def _span(
        self,
        timed: Turn | Answer | Call,
        name: str,
        kind: str,
        key: str,
        attributes: Mapping[str, Any],
        error: str,
        error_text: str,
        turn: Turn | None = None,
    ) -> ReceivedSpan:
        failed = {semconv.ERROR_TYPE: error} if error else {}
        above = self._above[1] if self._above is not None else ""
        return ReceivedSpan(
            self.trace_id(turn.key if turn is not None else key),
            self.span_id(kind, key),
            self.span_id("turn", turn.key) if turn is not None else above,
            name,
            timed.start_ns,
            max(timed.start_ns, timed.end_ns),
            "client" if kind == "answer" else "internal",
            "error" if error else "unset",
            error_text,
            SCOPE,
            {key: value for key, value in {**attributes, **failed}.items() if value is not None},
            resource=self.resource,
        )
