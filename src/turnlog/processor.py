"""The SpanProcessor: identity when a span starts, its commit just before it ends, both written to the journal at once.

It serves spans of any instrumentation. Every failure of ours ends here: logged once per place, counted, and the
application's span goes on.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import Status, StatusCode, format_span_id

from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.derive import derive
from turnlog.derive.messages import as_messages, is_tool_result, role, texts
from turnlog.journal.record import blob_rows, span_row
from turnlog.journal.writer import JournalWriter
from turnlog.operation import Content, claim_content
from turnlog.semconv import GenAiOperation
from turnlog.identity import Identity, Sessions, Turn

_log = logging.getLogger("turnlog")
_REMEMBERED = 8192
_OPENERS = {GenAiOperation.INVOKE_AGENT.value, GenAiOperation.INVOKE_WORKFLOW.value}
_MODEL_CALLS = {GenAiOperation.CHAT.value, GenAiOperation.GENERATE_CONTENT.value, GenAiOperation.TEXT_COMPLETION.value}
_ON_SPANS = (
    semconv.GEN_AI_INPUT_MESSAGES,
    semconv.GEN_AI_OUTPUT_MESSAGES,
    semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
    semconv.GEN_AI_TOOL_CALL_ARGUMENTS,
    semconv.GEN_AI_TOOL_CALL_RESULT,
)


class _Running:
    """What the processor knows of a span between its start and its end."""

    __slots__ = ("content", "identity", "opened", "session", "turn")

    def __init__(self, identity: Identity, content: Content, opened: bool) -> None:
        self.identity = identity
        self.content = content
        self.opened = opened
        self.session = identity.session
        self.turn = identity.turn


class SessionProcessor(SpanProcessor):
    """Stamps, derives and journals. Without a journal (spans only go to a collector) it stamps and derives."""

    def __init__(self, policy: ContentPolicy, sessions: Sessions, journal: JournalWriter | None = None) -> None:
        self.journal = journal
        self.troubles: Counter[str] = Counter()
        self._retired = False
        self._policy = policy
        self._sessions = sessions
        self._running: dict[int, _Running] = {}
        self._ended: OrderedDict[int, Identity] = OrderedDict()
        self._blobs_written: OrderedDict[str, None] = OrderedDict()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if self._retired:
            return
        try:
            self._start(span, claim_content())
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._trouble("starting a span", error)

    def _on_ending(self, span: Span) -> None:
        try:
            self._ending(span)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._trouble("deriving a commit", error)

    def on_end(self, span: ReadableSpan) -> None:
        try:
            self._end(span)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._trouble("writing a span", error)

    def retire(self) -> None:
        """Leave new spans alone: a provider has no way to remove a processor."""
        self._retired = True

    def shutdown(self) -> None:
        if self.journal is not None:
            self.journal.close()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Every span is in the journal when it ends; there is nothing to flush."""
        return True

    def forget_running(self) -> None:
        """In a forked child: the spans that were running belong to the parent, which will end and write them."""
        self._running.clear()

    def _start(self, span: Span, content: Content) -> None:
        attributes: Mapping[str, Any] = span.attributes or {}
        operation = attributes.get(semconv.GEN_AI_OPERATION_NAME)
        takes_part = operation is not None or semconv.COMMIT_KIND in attributes
        fresh_input = operation in _OPENERS or (operation in _MODEL_CALLS and not _on_tool_results(attributes, content))
        identity, before = self._sessions.identify(
            self._identity_of(span),
            str(attributes.get(semconv.SESSION_ID) or attributes.get(semconv.GEN_AI_CONVERSATION_ID) or ""),
            opens=fresh_input,
            continues=takes_part and not fresh_input,
            span=span.get_span_context(),
        )
        opened = identity.turn is not None and identity.turn.opened_by == span.get_span_context()
        running = self._running[span.get_span_context().span_id] = _Running(identity, content, opened)
        stamp = _stamp(identity.session, identity.turn)
        if opened:
            stamp |= self._input_of(attributes, content)
            if before is not None and before.opened_by is not None:
                span.add_link(before.opened_by)
        span.set_attributes(stamp)
        if takes_part:
            self._append(span, "start")
        running.session, running.turn = identity.session, identity.turn

    def _identity_of(self, span: Span) -> Identity | None:
        if span.parent is None:
            return None
        running = self._running.get(span.parent.span_id)
        return running.identity if running is not None else self._ended.get(span.parent.span_id)

    def _input_of(self, attributes: Mapping[str, Any], content: Content) -> dict[str, str]:
        messages = as_messages(content.get(semconv.GEN_AI_INPUT_MESSAGES, attributes.get(semconv.GEN_AI_INPUT_MESSAGES)))
        for message in (messages[index] for index in range(len(messages) - 1, -1, -1)):
            if role(message) == "user":
                text = texts(message)
                return {
                    semconv.TURN_INPUT_HASH: self._policy.hash(text),
                    semconv.TURN_INPUT_SUMMARY: self._policy.summary(text),
                }
        return {}

    def _ending(self, span: Span) -> None:
        running = self._running.get(span.get_span_context().span_id)
        if running is None:
            return
        identity, content = running.identity, running.content
        found: dict[str, Any] = {}
        if (identity.session, identity.turn) != (running.session, running.turn):
            found |= _stamp(identity.session, identity.turn)
        attributes: Mapping[str, Any] = span.attributes or {}
        failed = span.status.status_code is StatusCode.ERROR
        message = content.get(semconv.EXCEPTION_MESSAGE)
        if failed and message:
            span._status = Status(StatusCode.ERROR, self._policy.summary(message))
        span_id = format_span_id(span.get_span_context().span_id)
        commit = derive(span_id, attributes, content, failed, self._policy)
        if commit is not None:
            found |= commit.attributes()
            if identity.turn is not None:
                found[semconv.COMMIT_SEQUENCE] = identity.turn.next_sequence()
            if self.journal is not None and commit.blobs:
                fresh = [blob for blob in commit.blobs if self._first_time(blob.hash)]
                if fresh:
                    self.journal.append(blob_rows(fresh), len(fresh))
        if self._policy.on_spans:
            found |= {key: text for key in _ON_SPANS if key in content and (text := self._policy.attribute(content[key]))}
        _write(span, found)

    def _end(self, span: ReadableSpan) -> None:
        context = span.get_span_context()
        running = self._running.pop(context.span_id, None) if context else None
        if context is None or running is None:
            return
        self._ended[context.span_id] = running.identity
        if len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)
        self._append(span, "end")

    def _append(self, span: ReadableSpan, record: str) -> None:
        if self.journal is not None:
            self.journal.append(span_row(span, record))

    def _first_time(self, digest: str) -> bool:
        if digest in self._blobs_written:
            return False
        self._blobs_written[digest] = None
        if len(self._blobs_written) > _REMEMBERED:
            self._blobs_written.popitem(last=False)
        return True

    def _trouble(self, where: str, error: Exception) -> None:
        self.troubles[where] += 1
        if self.journal is not None:
            self.journal.report_loss(f"failed at {where}")
        if self.troubles[where] == 1:
            _log.warning("turnlog failed at %s and goes on: %s: %s", where, type(error).__name__, error)


def _write(span: Span, found: Mapping[str, Any]) -> None:
    """Add attributes to a span that is ending. The SDK (1.44, 1.45) freezes it just before it calls `_on_ending`, so its setters
    only log a warning by then; the exporters still read the very mapping that is thawed here."""
    attributes = span._attributes
    attributes._immutable = False
    try:
        for key, value in found.items():
            attributes[key] = value
    finally:
        attributes._immutable = True


def _stamp(session: str, turn: Turn | None) -> dict[str, Any]:
    return {semconv.SESSION_ID: session} if turn is None else {semconv.SESSION_ID: session, semconv.TURN_ID: turn.id}


def _on_tool_results(attributes: Mapping[str, Any], content: Content) -> bool:
    """A model call whose last message is a tool's result goes on with the turn that asked for it."""
    messages = as_messages(content.get(semconv.GEN_AI_INPUT_MESSAGES, attributes.get(semconv.GEN_AI_INPUT_MESSAGES)))
    return bool(messages) and is_tool_result(messages[len(messages) - 1])
