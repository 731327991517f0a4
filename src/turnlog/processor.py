"""The SpanProcessor: identity when a span starts, its commit just before it ends, both written to the journal at once.

It serves spans of any instrumentation. Every failure of ours ends here: logged once per place, counted, and the
application's span goes on.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import Status, StatusCode, format_span_id

from turnlog import semconv, transitions
from turnlog.carried import origin
from turnlog.content import Blob, ContentPolicy
from turnlog.conversation import Asked, Conversations
from turnlog.derive import Commit, derive, input_of_tool
from turnlog.derive.files import Observed
from turnlog.derive.lineage_index import remember
from turnlog.derive.messages import as_messages, is_tool_result, role, texts
from turnlog.derive.sight import Ask, Match, Sight
from turnlog.foreign import MODEL_CALLS
from turnlog.identity import Identity, Sessions, Turn
from turnlog.journal.record import blob_rows, span_row
from turnlog.observe import Observer
from turnlog.operation import Content, Messages, awaited, claim_content, note_started, processors
from turnlog.running import MOST_REMEMBERED, MOST_RUNNING, KnownSpans, Running, key_of
from turnlog.semconv import CommitKind, GenAiOperation, Outcome
from turnlog.settings import Capture
from turnlog.span_attributes import add_attributes, attributes_of

_log = logging.getLogger("turnlog")
_NOTHING: Mapping[str, str] = {}
# The loader takes these from whichever row has them: twice would be two messages.
_SAID_AT_START = frozenset({semconv.CONTEXT_CHANGES})
_T = TypeVar("_T")
_processors: weakref.WeakSet[SessionProcessor] = weakref.WeakSet()
_OPENERS = {GenAiOperation.INVOKE_AGENT.value, GenAiOperation.INVOKE_WORKFLOW.value}
# Said of what a turn has left, at most in it.
_AFTER_TURNS = {CommitKind.LIFECYCLE.value, CommitKind.STATE.value}
_ON_SPANS = (
    semconv.GEN_AI_INPUT_MESSAGES,
    semconv.GEN_AI_OUTPUT_MESSAGES,
    semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
    semconv.GEN_AI_TOOL_CALL_ARGUMENTS,
    semconv.GEN_AI_TOOL_CALL_RESULT,
)


class Journal(Protocol):
    """Where rows go. `append` is true once they are safe."""

    @property
    def directory(self) -> Path: ...
    def append(self, payload: bytes, rows: int = 1) -> bool: ...
    def report_loss(self, reason: str) -> None: ...
    def close(self) -> None: ...


class SessionProcessor(SpanProcessor):
    """Stamps, derives and journals. Without a journal (spans only go to a collector) it stamps and derives."""

    def __init__(
        self,
        policy: ContentPolicy,
        sessions: Sessions,
        journal: Journal | None = None,
        observer: Observer | None = None,
        known: KnownSpans | None = None,
        tells_starts: bool = True,
        replays: str = "",
    ) -> None:
        """`known` is shared by processors whose spans are each other's parents. Spans that have all ended already need not be
        told when they start. `replays` is the session that this process replays."""
        self.journal = journal
        self._tells_starts = tells_starts
        self._replays = replays
        self.on_turn: Callable[[str], None] | None = None
        # Where a call ran that did not run here.
        self.elsewhere: Observed | None = None
        self.troubles: Counter[str] = Counter()
        self.is_retired = False
        self._observer = observer
        self._policy = policy
        self._sessions = sessions
        self.conversations = Conversations(policy)
        self._known = KnownSpans() if known is None else known
        # Spans of awaited scopes, by span id, until it is known whether they are adopted.
        self._waiting: dict[int, Span] = {}
        self._blobs_written: OrderedDict[str, None] = OrderedDict()
        self._responses: OrderedDict[str, Identity] = OrderedDict()
        # The session whose work a session goes on with.
        self._previous: OrderedDict[str, str] = OrderedDict()
        self._resumed: OrderedDict[str, None] = OrderedDict()
        _processors.add(self)
        processors.add(self)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if self.is_retired:
            return
        content = claim_content()
        try:
            if content is None and span.instrumentation_scope is not None and awaited[span.instrumentation_scope.name]:
                self._waiting[span.get_span_context().span_id] = span
                note_started(span)
                if len(self._waiting) > MOST_RUNNING:
                    self._waiting.pop(next(iter(self._waiting)))
            else:
                self._start(span, content)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._trouble("starting a span", error)

    @property
    def store(self) -> str:
        """Where its commits go; empty when only spans leave this process."""
        return "" if self.journal is None or self.is_retired else str(self.journal.directory)

    def knows(self, span: ReadableSpan) -> bool:
        """Whether a span could still be adopted: it comes here, and is not an operation already."""
        running = self._known.running.get(key_of(span))
        return self._waiting.get(key_of(span)[0]) is span or (running is not None and running.aside)

    def has_seen(self, span_id: int) -> bool:
        return span_id in self._known or span_id in self._waiting

    def adopt(self, span: Any, content: Content, said: Mapping[str, Any]) -> None:
        self._waiting.pop(key_of(span)[0], None)
        try:
            self._start(span, content, said=said)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._trouble("adopting a span", error)

    def accompany(self, span: Any, adopted: ReadableSpan) -> None:
        """A span of an awaited scope belongs where an adopted one of the same call does."""
        running = self._known.running.get(key_of(adopted))
        if running is not None and self._waiting.pop(key_of(span)[0], None) is not None:
            other = self._known.add(span, Running(running.identity, aside=True))
            other.stamp, other.inside = _stamp(running.session, running.turn), running.inside

    def hear(self, span: Any) -> None:
        running = self._known.running.get(key_of(span))
        if running is None:
            return
        if (sight := running.sight) is not None:
            self._attempt("reading the answer", None, self._leave, span, running, sight)
        content, turn = running.content, running.identity.turn
        failure = content.get(semconv.EXCEPTION_MESSAGE) or content.get(semconv.ERROR_TYPE)
        if failure and turn is not None and running.call:
            turn.last_failure = self._policy.hash(failure)

    def resume(self, session: str, lineage: str, span_id: str, answer: str, calls: Sequence[tuple[str, str]]) -> None:
        """This process goes on with a session: see Conversations.resume."""
        remember(self._resumed, session, None)
        self.conversations.resume(session, lineage, span_id, answer, calls)

    def follow(self, session: str, previous: str) -> None:
        """Every turn of a session says from now on which session it goes on with."""
        remember(self._previous, session, previous)

    def stamp_of(self, span: Any) -> Mapping[str, Any]:
        running = self._known.running.get(key_of(span))
        return {} if running is None else running.stamp

    def _on_ending(self, span: Span) -> None:
        try:
            key = key_of(span)
            if self._waiting:
                self._settle(key[0])
            self._ending(span, key)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._trouble("deriving a commit", error)

    def on_end(self, span: ReadableSpan) -> None:
        try:
            self._end(span)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._trouble("writing a span", error)

    def retire(self) -> None:
        """Leave new spans alone: a provider has no way to remove a processor."""
        self.is_retired = True
        if self._observer is not None:
            self._observer.close()

    def shutdown(self) -> None:
        if self.journal is not None:
            self.journal.close()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Every span is in the journal when it ends; there is nothing to flush."""
        return True

    def forget_running(self) -> None:
        """In a forked child: the spans that were running belong to the parent, which will end and write them.

        Their identity stays known, for the spans that the child starts below them.
        """
        self._sessions.after_fork_in_child()
        self.conversations.after_fork_in_child()
        self._known.forget_running()
        self._waiting.clear()

    def _settle(self, span_id: int) -> None:
        """Nobody has adopted the span: it is a span like any other of the application."""
        if (span := self._waiting.pop(span_id, None)) is not None:
            self._start(span, None, aside=True)

    def _start(self, span: Span, given: Content | None, aside: bool = False, said: Mapping[str, Any] | None = None) -> None:
        """`given` is the content that an operation of ours has beside its span, `said` what it says of one that it adopts."""
        content: Content = {} if given is None else given
        known = attributes_of(span) if said is None else {**said, **attributes_of(span)}
        aside = aside or self._is_told_by_outer(span, known, given is not None)
        attributes: Mapping[str, Any] = {} if aside else known
        operation = attributes.get(semconv.GEN_AI_OPERATION_NAME)
        takes_part = operation is not None or semconv.COMMIT_KIND in attributes
        calls_model = operation in MODEL_CALLS
        # A call that only compacts what was said brings no input.
        fresh_input = operation in _OPENERS or (
            calls_model
            and not attributes.get(semconv.GEN_AI_CONVERSATION_COMPACTED)
            and not self._attempt("reading the messages", False, _on_tool_results, attributes, content)
        )
        conversation = str(attributes.get(semconv.SESSION_ID) or attributes.get(semconv.GEN_AI_CONVERSATION_ID) or "")
        parent = self._identity_of(span.parent.span_id if span.parent is not None else 0) or self._carried(conversation)
        named = self._sessions.named(parent, conversation)
        inside = self._inside(span)
        match: Match | None = None
        ask: Ask | None = None
        if calls_model or (operation in _OPENERS and isinstance(content.get(semconv.GEN_AI_INPUT_MESSAGES), Messages)):
            turn = parent.turn if parent is not None and parent.opened else None
            turn_input = turn.input_hash if calls_model and turn is not None and not turn.prefix_said else ""
            match = self._attempt(
                "following the messages", None, self.conversations.match, attributes, content, named, turn_input, inside
            )
            fresh_input = fresh_input and not (calls_model and match is not None and match.brings_no_input)
            answered = match.lineage.answered if match is not None and match.lineage is not None else None
            if calls_model and not fresh_input and parent is None and isinstance(answered, Asked):
                # Several conversations of one session take turns: this goes on with its own.
                parent = answered.identity
        elif operation == GenAiOperation.EXECUTE_TOOL:
            ask = self._attempt("finding who asked", None, self.conversations.claim, span, attributes, content, named)
            if ask is not None and parent is None and isinstance(ask.asked_by, Asked):
                parent = ask.asked_by.identity
            if ask is not None and 0 < (span.end_time or 0) <= ask.heard_ns:
                # Told late: it was over when its result was heard, and has its commit from there.
                aside, ask = True, None
        context = span.get_span_context()
        identity, before = self._sessions.identify(
            parent,
            conversation,
            lineage="" if named or match is None else match.session or (self._sessions.unnamed() if match.body else ""),
            opens=fresh_input,
            continues=takes_part and not fresh_input,
            begins=attributes.get(semconv.COMMIT_KIND) not in _AFTER_TURNS and not attributes.get(semconv.COMMIT_SELF_REPORTED),
            span=context,
        )
        opened = identity.turn is not None and identity.turn.opened_by == context
        running = self._known.add(span, Running(identity, given, aside, _call_of(attributes)))
        running.ask, running.inside = ask, inside if ask is None else (*inside, ask)
        if said is not None:
            running.is_foreign, running.said = True, said
        stamp = _stamp(identity.session, identity.turn)
        if operation == GenAiOperation.EXECUTE_TOOL:
            stamp |= self._attempt("reading a tool's input", _NOTHING, input_of_tool, attributes, content, self._policy)
        if ask is not None:
            stamp |= {semconv.DECISION_ID: ask.decision, semconv.GEN_AI_TOOL_CALL_ID: ask.call_id}
        if opened:
            transitions.turn_began(identity.session)
            if (on_turn := self.on_turn) is not None:
                self._attempt("looking after the lease", None, on_turn, identity.session)
            if fresh_input or identity.session not in self._resumed:
                # Else it goes on where another process stopped, and nobody has said anything again.
                stamp |= self._attempt("reading the input", _NOTHING, self._input_of, attributes, content)
            if identity.turn is not None:
                identity.turn.input_hash = stamp.get(semconv.TURN_INPUT_HASH, "")
            if before is not None and before.opened_by is not None:
                span.add_link(before.opened_by)
            if identity.session in self._previous:
                stamp[semconv.SESSION_PREVIOUS_ID] = self._previous[identity.session]
        if self._replays and takes_part:
            stamp[semconv.REPLAY_OF] = self._replays
        if match is not None and calls_model:
            stamp |= self._attempt("following the messages", _NOTHING, self._enter, span, running, match)
        running.stamp = stamp
        if running.is_foreign:
            # Whoever made the span may yet fill it: ours comes when it ends, into the room that is left.
            running.beside = {**attributes, **stamp}
        elif not add_attributes(span, stamp):
            running.beside = stamp
        # A checkpoint is over when it is told.
        if self._tells_starts and takes_part and semconv.CHECKPOINT_ID not in attributes:
            self._append(span, "start", running)
        running.session, running.turn = identity.session, identity.turn
        if self._observer is not None:
            self._observe(self._observer, span, attributes, content)
        sight = running.sight
        if sight is not None:
            self._attempt("telling what left the context", None, self._tell, span, sight)

    def _is_told_by_outer(self, span: Span, attributes: Mapping[str, Any], is_ours: bool) -> bool:
        """Whether the span directly around one is our own about the same call. A foreign one is what makes way."""
        outer = self._known.by_id(span.parent.span_id) if span.parent is not None else None
        if outer is None or not outer.call or outer.call != _call_of(attributes):
            return False
        if not outer.is_ours:
            outer.aside, outer.call = True, ""
            if self._observer is not None:
                self._observer.end(outer.key)
        return outer.is_ours and not is_ours

    def _enter(self, span: Span, running: Running, match: Match) -> dict[str, Any]:
        identity = running.identity
        running.sight, stamp = self.conversations.enter(span, match, identity.session)
        if identity.turn is not None and not identity.turn.prefix_said:
            identity.turn.prefix_said = True
            stamp[semconv.TURN_PREFIX_HASH] = running.sight.prefix_hash
        return stamp

    def _tell(self, span: Span, sight: Sight) -> None:
        if self._policy.capture is Capture.FULL:
            self._write_blobs(self.conversations.blobs(sight))
        self.conversations.tell(span, sight)

    def _observe(self, observer: Observer, span: Span, attributes: Mapping[str, Any], content: Content) -> None:
        parent = span.parent.span_id if span.parent else 0
        if attributes.get(semconv.GEN_AI_OPERATION_NAME) == GenAiOperation.EXECUTE_TOOL:
            arguments = content.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS, attributes.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS))
            tool = str(attributes.get(semconv.GEN_AI_TOOL_NAME) or "")
            # Operations of ours make their span current around the tool's code; a foreign span may not be.
            observer.begin(key_of(span), parent, tool, arguments, has_context=bool(content))
        elif observer.is_busy:
            observer.child(key_of(span)[0], parent)

    def _identity_of(self, span_id: int) -> Identity | None:
        if self._waiting:
            self._settle(span_id)
        return self._known.identity(span_id)

    def _inside(self, span: Span) -> tuple[Ask, ...]:
        """The requests of models that are fulfilled by the tool calls which run around a starting span."""
        outer = self._known.by_id(span.parent.span_id) if span.parent is not None else None
        outer = self._known.by_id(origin.get()) if outer is None else outer
        return () if outer is None else outer.inside

    def _carried(self, conversation: str) -> Identity | None:
        """Of the turn that handed this code to a thread. Once what did it is over, a conversation that has a name goes its own
        way: threads can outlive what starts them."""
        span_id = origin.get()
        identity = self._identity_of(span_id) if span_id else None
        if identity is None or not identity.opened or (conversation and self._known.by_id(span_id) is None):
            return None
        return identity

    def _input_of(self, attributes: Mapping[str, Any], content: Content) -> Mapping[str, str]:
        messages = as_messages(content.get(semconv.GEN_AI_INPUT_MESSAGES, attributes.get(semconv.GEN_AI_INPUT_MESSAGES)))
        for index in range(len(messages) - 1, -1, -1):
            message = messages[index]
            if role(message) == "user":
                text = texts(message)
                return {
                    semconv.TURN_INPUT_HASH: self._policy.hash(text),
                    semconv.TURN_INPUT_SUMMARY: self._policy.summary(text),
                }
        return {}

    def _output_of(self, attributes: Mapping[str, Any], content: Content) -> Mapping[str, str]:
        messages = as_messages(content.get(semconv.GEN_AI_OUTPUT_MESSAGES, attributes.get(semconv.GEN_AI_OUTPUT_MESSAGES)))
        text = texts(messages[len(messages) - 1]) if messages else ""
        if not text:
            return {}
        return {semconv.TURN_OUTPUT_HASH: self._policy.hash(text), semconv.TURN_OUTPUT_SUMMARY: self._policy.summary(text)}

    def _ending(self, span: Span, key: tuple[int, int]) -> None:
        running = self._known.running.get(key)
        if running is None:
            return
        identity, content = running.identity, running.content
        attributes = attributes_of(span)
        # A span that is full has lost what was written on it first.
        found = _without(running.stamp, attributes)
        said = _without(running.said, attributes)
        if running.is_foreign:
            attributes = {**found, **said, **attributes}
        if (identity.session, identity.turn) != (running.session, running.turn):
            found |= _stamp(identity.session, identity.turn)
        seen = self._seen(running, attributes)
        if seen is not None and identity.turn is None:
            found |= _stamp(seen.session, seen.turn)
        if running.aside:
            running.beside = None if add_attributes(span, found) else found
            return
        is_error = span.status.status_code is StatusCode.ERROR
        failed = bool(content.get(semconv.ERROR_TYPE, is_error))
        error = str(content.get(semconv.ERROR_TYPE) or attributes.get(semconv.ERROR_TYPE) or "")
        if error and semconv.ERROR_TYPE not in attributes:
            found[semconv.ERROR_TYPE] = error
        message = content.get(semconv.EXCEPTION_MESSAGE)
        if is_error and message and not span.status.description:
            span._status = Status(StatusCode.ERROR, self._policy.summary(message))
        span_id = format_span_id(key[0])
        is_tool = attributes.get(semconv.GEN_AI_OPERATION_NAME) == GenAiOperation.EXECUTE_TOOL
        observed = self._observer.end(key) if is_tool and self._observer is not None else self.elsewhere
        commit = self._attempt("deriving a commit", None, derive, span_id, attributes, content, failed, self._policy, observed)
        failure = message or error or span.status.description or ""
        if commit is not None and (self._is_told(commit, failure, identity.turn) or seen is not None):
            commit = None
        if commit is not None:
            found |= commit.attributes()
            if identity.turn is not None:
                found[semconv.COMMIT_SEQUENCE] = identity.turn.next_sequence()
            self._write_blobs(commit.blobs)
            if running.ask is not None:
                self.conversations.ran(running.ask, commit.changes, commit.output_hash)
        sight = running.sight
        if sight is not None:
            self._attempt("reading the answer", None, self._leave, span, running, sight)
        if attributes.get(semconv.GEN_AI_OPERATION_NAME) in _OPENERS:
            outputs = content.get(semconv.GEN_AI_OUTPUT_MESSAGES, attributes.get(semconv.GEN_AI_OUTPUT_MESSAGES))
            self._attempt("reading the answer", None, self.conversations.conclude, span, identity.session, outputs)
        if semconv.MEMORY_ITEMS in content:
            found |= self._attempt("keeping a framework's items", dict[str, Any](), self._items_of, content)
        if semconv.REPLAY_RECORD in content:
            found |= self._attempt("keeping what came back", _NOTHING, self._record_of, content)
        opened = identity.turn is not None and identity.turn.opened_by == span.get_span_context()
        if opened and attributes.get(semconv.GEN_AI_OPERATION_NAME) in _OPENERS:
            found |= self._attempt("reading the answer", _NOTHING, self._output_of, attributes, content)
        if self._policy.on_spans:
            found |= self._attempt("putting content on a span", _NOTHING, self._on_span, content)
        found |= _without(said, found)
        running.beside = None if add_attributes(span, found) else found

    def _items_of(self, content: Content) -> dict[str, Any]:
        """What a framework keeps of the session, by the digests under which it is found again."""
        items = [(item, self._policy.hash(item)) for item in content[semconv.MEMORY_ITEMS]]
        self._write_blobs([blob for item, digest in items if (blob := self._policy.blob(item, digest)) is not None])
        return {semconv.MEMORY_ITEMS: tuple([digest for _, digest in items])}

    def _record_of(self, content: Content) -> Mapping[str, str]:
        """What a replay gives back in place of the call."""
        record = content[semconv.REPLAY_RECORD]
        blob = self._policy.record(record() if callable(record) else record)
        if blob is None:
            return {}
        self._write_blobs((blob,))
        return {semconv.REPLAY_RECORD: blob.hash}

    def _is_told(self, commit: Commit, failure: str, turn: Turn | None) -> bool:
        """Whether an agent only passes on a failure that a tool or model call of its turn has recorded already."""
        if turn is None or commit.outcome is Outcome.OK:
            return False
        digest = self._policy.hash(failure)
        told = commit.kind is CommitKind.LIFECYCLE and digest == turn.last_failure
        turn.last_failure = digest
        return told

    def _seen(self, running: Running, attributes: Mapping[str, Any]) -> Identity | None:
        """Where the model call was recorded while it ran, of which a span tells afterwards, as from a library's log."""
        is_late = running.sight is None and attributes.get(semconv.GEN_AI_OPERATION_NAME) in MODEL_CALLS
        return self._responses.get(str(attributes.get(semconv.GEN_AI_RESPONSE_ID))) if is_late else None

    def _leave(self, span: Span, running: Running, sight: Sight) -> None:
        known, content = attributes_of(span), running.content
        attributes = {**running.said, **known} if running.said else known
        outputs = content.get(semconv.GEN_AI_OUTPUT_MESSAGES, attributes.get(semconv.GEN_AI_OUTPUT_MESSAGES))
        response_id = str(attributes.get(semconv.GEN_AI_RESPONSE_ID) or "")
        if response_id:
            self._responses[response_id] = running.identity
            if len(self._responses) > MOST_REMEMBERED:
                self._responses.popitem(last=False)
        self.conversations.leave(span, sight, running.identity, outputs, response_id)

    def _write_blobs(self, blobs: Iterable[Blob]) -> None:
        if self.journal is not None:
            fresh = [blob for blob in blobs if self._first_time(blob.hash)]
            if fresh and not self.journal.append(blob_rows(fresh), len(fresh)):
                # Whoever has the same content next tries again.
                for blob in fresh:
                    self._blobs_written.pop(blob.hash, None)

    def _on_span(self, content: Content) -> Mapping[str, str]:
        return {key: text for key in _ON_SPANS if key in content and (text := self._policy.attribute(content[key]))}

    def _end(self, span: ReadableSpan) -> None:
        running = self._known.end(span)
        if running is None:
            return
        if (state := attributes_of(span).get(semconv.LIFECYCLE_STATE)) is not None:
            transitions.entered(running.identity.session, state)
        self._append(span, "end", running)

    def _append(self, span: ReadableSpan, record: str, running: Running) -> None:
        if self.journal is not None:
            said = _SAID_AT_START if record == "end" and running.sight is not None and self._tells_starts else ()
            # Whoever else made the span has words of its own for what went wrong: a traceback, or the type once more.
            message = running.content.get(semconv.EXCEPTION_MESSAGE)
            self.journal.append(span_row(span, record, self._policy, said, running.beside, message))

    def _attempt(self, where: str, otherwise: _T, read: Callable[..., _T], *args: Any) -> _T:
        """What a framework's objects say; one that cannot be read costs what it would have said, not the span."""
        try:
            return read(*args)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self._trouble(where, error)
            return otherwise

    def _first_time(self, digest: str) -> bool:
        if digest in self._blobs_written:
            return False
        self._blobs_written[digest] = None
        if len(self._blobs_written) > MOST_REMEMBERED:
            self._blobs_written.popitem(last=False)
        return True

    def _trouble(self, where: str, error: Exception) -> None:
        self.troubles[where] += 1
        if self.journal is not None:
            self.journal.report_loss(f"failed at {where}")
        if self.troubles[where] == 1:
            _log.warning("turnlog failed at %s and goes on: %s: %s", where, type(error).__name__, error)


def _call_of(attributes: Mapping[str, Any]) -> str:
    """One word for all model calls, one for each tool: inside a call there is no other of its kind."""
    operation = attributes.get(semconv.GEN_AI_OPERATION_NAME)
    if operation == GenAiOperation.EXECUTE_TOOL:
        return f"{operation} {attributes.get(semconv.GEN_AI_TOOL_NAME)}"
    return GenAiOperation.CHAT.value if operation in MODEL_CALLS else ""


def _without(found: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    if found.keys() <= known.keys():
        return {}
    return {key: value for key, value in found.items() if key not in known}


def _stamp(session: str, turn: Turn | None) -> dict[str, Any]:
    return {semconv.SESSION_ID: session} if turn is None else {semconv.SESSION_ID: session, semconv.TURN_ID: turn.id}


def _on_tool_results(attributes: Mapping[str, Any], content: Content) -> bool:
    """A model call whose last message is a tool's result goes on with the turn that asked for it."""
    messages = as_messages(content.get(semconv.GEN_AI_INPUT_MESSAGES, attributes.get(semconv.GEN_AI_INPUT_MESSAGES)))
    return bool(messages) and is_tool_result(messages[len(messages) - 1])


def _after_fork_in_child() -> None:
    for processor in list(_processors):
        processor.forget_running()


os.register_at_fork(after_in_child=_after_fork_in_child)
