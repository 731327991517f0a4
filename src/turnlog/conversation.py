"""What messages tell about spans: the session that a model call continues, the context it sees, what left that context,
and tool calls that nobody recorded. The processor asks; whatever has to be told besides becomes spans of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import NonRecordingSpan, SpanContext, Tracer, format_span_id, set_span_in_context

from turnlog import semconv
from turnlog.content import Blob, ContentPolicy, dump_json
from turnlog.derive.change import Change
from turnlog.derive.lineage import Lineages
from turnlog.derive.lineage_index import remember
from turnlog.derive.results import error_in
from turnlog.derive.sight import Answer, Ask, Match, Sight
from turnlog.identity import Identity
from turnlog.operation import Content, Operation
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, OutcomeSource


class Asked(NamedTuple):
    """Where a tool call was asked for: enough to put the call into its turn and trace."""

    identity: Identity
    span: SpanContext
    at_ns: int


class Conversations:
    """The conversations of one process, in the words of spans."""

    def __init__(self, policy: ContentPolicy) -> None:
        self.tracer: Tracer | None = None
        self._policy = policy
        self._lineages = Lineages(policy)
        self._resumed: OrderedDict[str, str] = OrderedDict()

    def after_fork_in_child(self) -> None:
        self._lineages.after_fork_in_child()

    def resume(self, session: str, lineage: str, span_id: str, answer: str, calls: Sequence[tuple[str, str]]) -> None:
        """The next model call of a session takes the place of a conversation that another process led, and that ended with what
        the model call of that span answered and asked for."""
        remember(self._resumed, session, lineage)
        self._lineages.expect(session, span_id, answer, calls)

    def match(
        self, attributes: Mapping[str, Any], content: Content, session: str, turn_input: str, inside: Sequence[Ask]
    ) -> Match:
        """The conversation that a starting model call or agent continues; within `session` when somebody named that. `inside`:
        the requests of models whose tool calls run around it."""
        return self._lineages.match(
            content.get(semconv.GEN_AI_INPUT_MESSAGES, attributes.get(semconv.GEN_AI_INPUT_MESSAGES)),
            content.get(semconv.GEN_AI_SYSTEM_INSTRUCTIONS),
            session,
            str(attributes.get(semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID) or ""),
            turn_input=turn_input,
            caller=_caller(),
            inside=inside,
        )

    def claim(self, span: ReadableSpan, attributes: Mapping[str, Any], content: Content, session: str) -> Ask | None:
        """The request of a model that a starting tool call fulfils."""
        return self._lineages.claim(
            session,
            str(attributes.get(semconv.GEN_AI_TOOL_NAME) or ""),
            str(attributes.get(semconv.GEN_AI_TOOL_CALL_ID) or ""),
            content.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS, attributes.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS)),
            _span_id(span),
            str(attributes.get(semconv.RETRY_OF) or ""),
        )

    def enter(self, span: ReadableSpan, match: Match, session: str) -> tuple[Sight, dict[str, Any]]:
        """What a starting model call sees, and the attributes that say so."""
        sight = self._lineages.advance(match, session, _span_id(span))
        stamp: dict[str, Any] = {
            semconv.CONTEXT_LINEAGE: sight.lineage.id,
            semconv.CONTEXT_HASH: sight.hash,
            semconv.CONTEXT_MESSAGE_COUNT: sight.length,
        }
        if sight.added or sight.gone:
            stamp[semconv.CONTEXT_CHANGES] = dump_json(sight.changes(self._policy)).decode()
        resumed = self._resumed.pop(session, "")
        if resumed and match.lineage is None:
            stamp[semconv.CONTEXT_RESUMED_LINEAGE] = resumed
        if sight.repeats:
            stamp |= {semconv.RETRY_OF: sight.repeats, semconv.RETRY_ATTEMPT: sight.attempt}
        return sight, stamp

    def blobs(self, sight: Sight) -> list[Blob]:
        found = [self._policy.blob(message, item.hash) for item, message in sight.added if message is not None]
        return [blob for blob in found if blob is not None]

    def tell(self, span: ReadableSpan, sight: Sight) -> None:
        """Record what the context gives away: results of tool calls that nobody recorded, and entries that left."""
        self._recover(sight.answers, span.start_time or 0)
        if sight.evicted:
            context = span.get_span_context()
            parent = set_span_in_context(NonRecordingSpan(context)) if context else None
            delta = [_eviction(entry) for entry in sight.evicted]
            attributes = {
                semconv.COMMIT_KIND: CommitKind.EVICTION.value,
                semconv.CONTEXT_EVICTION_REASON: sight.reason,
                semconv.CONTEXT_EVICTED_KEYS: tuple(sight.evicted),
                semconv.CONTEXT_MESSAGE_COUNT: sight.length,
            }
            content = {semconv.COMMIT_DELTA: delta}
            at_ns = span.start_time
            Operation.start("evict", attributes, content, parent=parent, tracer=self.tracer, start_ns=at_ns).end(at_ns)

    def leave(self, span: ReadableSpan, sight: Sight, identity: Identity, outputs: Any, response_id: str) -> None:
        """The model call is over: what it said and asked for is expected in the next context."""
        context = span.get_span_context()
        if context is not None:
            asked = Asked(identity, context, span.end_time or 0)
            self._lineages.replied(sight, outputs, format_span_id(context.span_id), response_id, asked)

    def conclude(self, span: ReadableSpan, session: str, outputs: Any) -> None:
        """An agent's run is over: record the results that it ends with and that nobody recorded."""
        self._recover(self._lineages.conclude(session, outputs), span.end_time or 0)

    def ran(self, ask: Ask, changes: tuple[Change, ...], output: str) -> None:
        """What a tool call touched is what its result will introduce to the context; what it gave may be another text there."""
        ask.output = output
        touched = tuple(change.entry for change in changes if change.kind in (EntryKind.FILE, EntryKind.SOURCE))
        ask.entries = tuple(dict.fromkeys((*(ask.entries or ()), *touched)))

    def _recover(self, answers: Sequence[Answer], until_ns: int) -> None:
        for answer in answers:
            if isinstance(answer.ask.asked_by, Asked):
                self._record(answer, answer.ask.asked_by, until_ns)

    def _record(self, answer: Answer, asked: Asked, until_ns: int) -> None:
        ask = answer.ask
        ask.heard_ns = until_ns
        attributes = {
            semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
            semconv.GEN_AI_TOOL_NAME: ask.tool or "unknown",
            semconv.GEN_AI_TOOL_TYPE: "function",
            semconv.GEN_AI_TOOL_CALL_ID: ask.call_id,
        }
        error = "tool_error" if answer.is_error else "" if answer.is_error is False else error_in(answer.result)
        if error and not answer.is_error:
            attributes[semconv.COMMIT_OUTCOME_SOURCE] = OutcomeSource.INFERRED.value
        content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: ask.arguments, semconv.GEN_AI_TOOL_CALL_RESULT: answer.result}
        parent = set_span_in_context(NonRecordingSpan(asked.span))
        name = f"execute_tool {ask.tool or 'unknown'}"
        operation = Operation.start(name, attributes, content, parent=parent, tracer=self.tracer, start_ns=asked.at_ns)
        if error:
            operation.fail_with(error, answer.result if isinstance(answer.result, str) else "")
        operation.end(until_ns)


def _eviction(entry: str) -> dict[str, str]:
    kind, _, key = entry.partition(":")
    return {"op": DeltaOp.EVICT.value, "kind": kind, "key": key}


def _span_id(span: ReadableSpan) -> str:
    context = span.get_span_context()
    return format_span_id(context.span_id) if context else ""


def _caller() -> tuple[int, int]:
    """The thread and task: all that tells two conversations apart that say the very same."""
    loop = asyncio._get_running_loop()
    return threading.get_ident(), id(asyncio.current_task(loop)) if loop is not None else 0
