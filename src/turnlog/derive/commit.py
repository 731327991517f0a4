"""The deriver: one span's attributes and content become one commit, or none.

Everything turnlog knows about state is decided here, for every framework alike. Lineage, evictions, provenance and
retries will join as further readers of the same two inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from turnlog import semconv
from turnlog.content import Blob, ContentPolicy, as_text, dump_json, entry_key, may_be
from turnlog.derive.change import Change
from turnlog.derive.files import Observed, declared_touches, merge_touches
from turnlog.derive.messages import as_messages, read_outputs, texts
from turnlog.derive.provenance import provenance_of
from turnlog.derive.touch import DELETE, RENAME, Touch
from turnlog.semconv import (
    CommitKind,
    DeltaOp,
    EntryKind,
    FileEvidence,
    GenAiOperation,
    Outcome,
    ReasonSource,
    SourceKind,
    Tier,
)
from turnlog.settings import Capture

_SHORT_HASH = len("hmac-sha256:") + 12
_TIMEOUT_WORDS = ("timeout", "timedout", "deadline")
_CANCELLED_WORDS = ("cancelled", "canceled", "generatorexit", "keyboardinterrupt")
_TIERS = dict.fromkeys((EntryKind.TOOL, EntryKind.SOURCE, EntryKind.MESSAGE, EntryKind.RESULT), Tier.TRANSIENT)


class Decision(NamedTuple):
    id: str
    choice: str
    reason: str = ""
    reason_source: ReasonSource = ReasonSource.NONE
    about: str = ""
    alternatives: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


class Commit(NamedTuple):
    kind: CommitKind
    outcome: Outcome
    input_hash: str = ""
    input_summary: str = ""
    output_hash: str = ""
    output_summary: str = ""
    changes: tuple[Change, ...] = ()
    decision: Decision | None = None
    blobs: tuple[Blob, ...] = ()
    source_kind: SourceKind | None = None
    verified: bool | None = None

    def attributes(self) -> dict[str, Any]:
        """The commit in the words of the convention. The delta is JSON text: every back end can carry and show it."""
        # `value` is a property in Python's own words, three times as slow.
        found: dict[str, Any] = {
            semconv.COMMIT_KIND: self.kind._value_,
            semconv.COMMIT_OUTCOME: self.outcome._value_,
            semconv.COMMIT_INPUT_HASH: self.input_hash,
            semconv.COMMIT_INPUT_SUMMARY: self.input_summary,
            semconv.COMMIT_OUTPUT_HASH: self.output_hash,
            semconv.COMMIT_OUTPUT_SUMMARY: self.output_summary,
        }
        if self.source_kind is not None:
            found[semconv.PROVENANCE_SOURCE_KIND] = self.source_kind._value_
        if self.changes:
            found[semconv.COMMIT_DELTA] = dump_json([change.as_json() for change in self.changes]).decode()
            found[semconv.STATE_CHANGED_KEYS] = tuple([change.entry for change in self.changes])
            found[semconv.STATE_CHANGED_KEY_COUNT] = len(self.changes)
            files = [f"{change.action} {change.key}" for change in self.changes if change.kind == EntryKind.FILE]
            if files:
                found[semconv.FILE_ACTIONS] = tuple(files)
                kinds = {change.evidence for change in self.changes if change.kind == EntryKind.FILE and change.evidence}
                found[semconv.FILE_EVIDENCE] = (kinds.pop() if len(kinds) == 1 else FileEvidence.BOTH).value
        if self.decision:
            found |= {
                semconv.DECISION_ID: self.decision.id,
                semconv.DECISION_ABOUT: self.decision.about,
                semconv.DECISION_CHOICE: self.decision.choice,
                semconv.DECISION_REASON_TEXT: self.decision.reason,
                semconv.DECISION_REASON_SOURCE: self.decision.reason_source._value_,
                semconv.DECISION_ALTERNATIVES: self.decision.alternatives,
                semconv.DECISION_CALLS: self.decision.calls,
            }
        found = {key: value for key, value in found.items() if value}
        if self.verified is not None:
            found[semconv.PROVENANCE_VERIFIED] = self.verified
        return found


def derive(
    span_id: str,
    attributes: Mapping[str, Any],
    content: Mapping[str, Any],
    failed: bool,
    policy: ContentPolicy,
    observed: Observed | None = None,
) -> Commit | None:
    """The commit that a span stands for. `content` wins over an attribute of the same name."""
    facts = _Facts(attributes, content)
    outcome = _outcome(facts, failed)
    if facts.get(semconv.COMMIT_KIND):
        return _by_hand(span_id, facts, outcome, policy)
    operation = facts.get(semconv.GEN_AI_OPERATION_NAME)
    if facts.get(semconv.COMMIT_OUTCOME) == Outcome.IN_FLIGHT:
        # It gave way, as to a question to somebody, and will run again.
        return None
    if operation == GenAiOperation.EXECUTE_TOOL:
        return _tool(facts, outcome, policy, observed or Observed())
    if operation in (GenAiOperation.CHAT, GenAiOperation.GENERATE_CONTENT, GenAiOperation.TEXT_COMPLETION):
        return _model_call(span_id, facts, outcome, policy)
    if operation in (GenAiOperation.INVOKE_AGENT, GenAiOperation.INVOKE_WORKFLOW) and outcome is not Outcome.OK:
        # A run that ended well changes nothing by itself; one that broke off is how the turn ended.
        return Commit(CommitKind.LIFECYCLE, outcome, output_summary=policy.summary(_error(facts)))
    return None


def input_of_tool(attributes: Mapping[str, Any], content: Mapping[str, Any], policy: ContentPolicy) -> dict[str, Any]:
    """What a tool call was given, known when it starts: all that remains of it if its process dies."""
    arguments = _arguments(_Facts(attributes, content).get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS))
    if arguments is None:
        return {}
    found = {semconv.COMMIT_INPUT_HASH: policy.hash(arguments), semconv.COMMIT_INPUT_SUMMARY: policy.summary(arguments)}
    return {key: value for key, value in found.items() if value}


class _Facts:
    __slots__ = ("_content", "attributes")

    def __init__(self, attributes: Mapping[str, Any], content: Mapping[str, Any]) -> None:
        self.attributes = attributes
        self._content = content

    def get(self, key: str) -> Any:
        return self._content[key] if key in self._content else self.attributes.get(key)

    def text(self, key: str) -> str:
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def recorded_changes(self) -> list[Change] | None:
        """What a call changed that is given back from a recording: nothing of it happens again."""
        recorded = self._content.get(semconv.COMMIT_DELTA)
        return None if recorded is None else [Change.from_json(change) for change in recorded]


def _tool(facts: _Facts, outcome: Outcome, policy: ContentPolicy, observed: Observed) -> Commit:
    tool = facts.text(semconv.GEN_AI_TOOL_NAME) or "unknown"
    arguments = _arguments(facts.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS))
    result = facts.get(semconv.GEN_AI_TOOL_CALL_RESULT)
    error = _error(facts)
    changes = [_change(EntryKind.TOOL, tool, outcome.value)]
    declared = declared_touches(tool, arguments) if observed.declared is None else observed.declared
    for touch in merge_touches(declared, observed):
        # Of a call that failed, only what was seen is known to have happened.
        if outcome is Outcome.OK or touch.evidence is not FileEvidence.DECLARED:
            changes += _touched(touch, policy)
    if (recorded := facts.recorded_changes()) is not None:
        changes = recorded
    input_hash = facts.text(semconv.COMMIT_INPUT_HASH) or ("" if arguments is None else policy.hash(arguments))
    input_summary = facts.text(semconv.COMMIT_INPUT_SUMMARY) or ("" if arguments is None else policy.summary(arguments))
    # A tool can change what it was given, and a sender say any hash: neither is content under that hash.
    kept = arguments if policy.capture is Capture.FULL and may_be(as_text(arguments), input_hash) else None
    output_hash = "" if result is None else policy.hash(result)
    source_kind, verified = provenance_of(tool, facts.attributes, arguments, policy.trust)
    return Commit(
        CommitKind.TOOL,
        outcome,
        input_hash=input_hash,
        input_summary=input_summary,
        output_hash=output_hash,
        output_summary=policy.summary(error if outcome is not Outcome.OK else "" if result is None else result),
        changes=tuple(changes),
        blobs=_blobs(policy, (kept, input_hash), (result, output_hash)),
        source_kind=source_kind,
        # A call that failed and gave nothing put nothing into anybody's context.
        verified=verified if outcome is Outcome.OK or result is not None else None,
    )


def _touched(touch: Touch, policy: ContentPolicy) -> list[Change]:
    kind = EntryKind.FILE if touch.is_file else EntryKind.SOURCE
    op = DeltaOp.DROP if touch.action == DELETE else DeltaOp.SET
    value = touch.value or ("" if touch.content is None else policy.hash(touch.content))
    change = _change(kind, touch.key, value, op=op, action=touch.action, evidence=touch.evidence)
    if touch.action != RENAME:
        return [change]
    gone = _change(kind, touch.renamed_from, "", op=DeltaOp.DROP, action=DELETE, evidence=touch.evidence)
    return [gone, change._replace(renamed_from=gone.key)]


def _model_call(span_id: str, facts: _Facts, outcome: Outcome, policy: ContentPolicy) -> Commit:
    """What the model chose: to call tools, for the reason it stated, or to answer."""
    inputs = as_messages(facts.get(semconv.GEN_AI_INPUT_MESSAGES))
    outputs = as_messages(facts.get(semconv.GEN_AI_OUTPUT_MESSAGES))
    said, thought, calls = read_outputs(outputs)
    names = list(dict.fromkeys([str(call.get("name", "")) for call in calls]))
    choice = entry_key("call " + ", ".join(names)) if names else "answer"
    because = (said if calls else "") or thought
    reason = policy.summary(because) if because else ""
    last = inputs[len(inputs) - 1] if inputs else None
    output_hash = policy.hash(list(outputs)) if outputs else ""
    input_hash = policy.hash(last) if last else ""
    return Commit(
        CommitKind.DECISION,
        outcome,
        input_hash=input_hash,
        input_summary=policy.summary(texts(last)) if last else "",
        output_hash=output_hash,
        output_summary=policy.summary(said if outcome is Outcome.OK or said else _error(facts)),
        changes=(_change(EntryKind.DECISION, span_id, choice),) if calls and outcome is Outcome.OK else (),
        decision=Decision(
            span_id,
            choice,
            reason,
            ReasonSource.STATED if reason else ReasonSource.NONE,
            calls=tuple([entry_key(f"{call.get('name') or 'unknown'} {call['id']}") for call in calls if call.get("id")]),
        )
        if outcome is Outcome.OK
        else None,
        blobs=_blobs(policy, (last, input_hash), (list(outputs), output_hash)),
    )


def _by_hand(span_id: str, facts: _Facts, outcome: Outcome, policy: ContentPolicy) -> Commit:
    """A commit whose kind and changes the application stated itself; only its texts pass through the policy."""
    delta = _stated_delta(facts.get(semconv.COMMIT_DELTA))
    changes = [_stated_change(stated, _stated_value(stated, policy)) for stated in delta]
    choice = facts.text(semconv.DECISION_CHOICE)
    decision = None
    if choice:
        reason = policy.summary(facts.text(semconv.DECISION_REASON_TEXT))
        decision = Decision(
            span_id,
            policy.summary(choice),
            reason,
            ReasonSource.STATED if reason else ReasonSource.NONE,
            entry_key(facts.text(semconv.DECISION_ABOUT)),
            tuple(filter(None, map(policy.summary, facts.get(semconv.DECISION_ALTERNATIVES) or ()))),
        )
        changes.append(_change(EntryKind.DECISION, decision.about or span_id, decision.choice))
    said = choice or facts.text(semconv.COMMIT_INPUT_SUMMARY)
    text = said or "; ".join(str(stated["value"]) for stated in delta if stated.get("value")) or _count(changes)
    input_hash = policy.hash(text) if text else ""
    return Commit(
        CommitKind(facts.get(semconv.COMMIT_KIND)),
        outcome,
        input_hash=input_hash,
        input_summary=policy.summary(text),
        changes=tuple(changes),
        decision=decision,
        blobs=_blobs(policy, (text or None, input_hash)),
    )


def _stated_value(stated: Mapping[str, Any], policy: ContentPolicy) -> str:
    """In words; a part of a framework's state also by its digest, where the words do not say all of it."""
    value = stated.get("value", "")
    if stated["kind"] != EntryKind.STATE or stated["op"] != DeltaOp.SET:
        return policy.summary(value)
    text = as_text(value)
    summary = policy.summary(text)
    return summary if summary == text else f"{policy.hash(value)[:_SHORT_HASH]} {summary}".rstrip()


def _stated_change(stated: Mapping[str, Any], value: str) -> Change:
    action = entry_key(str(stated.get("action", "")))
    change = _change(EntryKind(stated["kind"]), stated["key"], value, op=DeltaOp(stated["op"]), action=action)
    tier = stated.get("tier")
    return change._replace(tier=Tier(tier)) if isinstance(tier, str) and tier in set(Tier) else change


def _count(changes: Sequence[Change]) -> str:
    """`2 files, 1 message`: all that can be said of changes that have no values."""
    kinds = Counter(change.kind.value for change in changes)
    return ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items())


def _change(
    kind: EntryKind,
    key: str,
    value: str,
    *,
    op: DeltaOp = DeltaOp.SET,
    action: str = "",
    evidence: FileEvidence | None = None,
) -> Change:
    return Change(op, kind, entry_key(key), value, _TIERS.get(kind, Tier.DURABLE), action, evidence)


def _outcome(facts: _Facts, failed: bool) -> Outcome:
    error = facts.text(semconv.ERROR_TYPE)
    if not error and not failed:
        return Outcome.OK
    word = error.lower().replace("_", "").rsplit(".", 1)[-1]
    if any(mark in word for mark in _TIMEOUT_WORDS):
        return Outcome.TIMEOUT
    return Outcome.CANCELLED if any(mark in word for mark in _CANCELLED_WORDS) else Outcome.ERROR


def _error(facts: _Facts) -> str:
    return facts.text(semconv.EXCEPTION_MESSAGE) or facts.text(semconv.ERROR_TYPE)


def _arguments(value: Any) -> Any:
    """Arguments as a value: one framework hands over a mapping, another the model's JSON text of the same."""
    if isinstance(value, str):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def _stated_delta(value: Any) -> list[Mapping[str, Any]]:
    """The operations that an application stated: those that name a known operation, a known kind and a key."""
    stated = _arguments(value)
    return [
        change
        for change in (stated if isinstance(stated, list | tuple) else ())
        if isinstance(change, Mapping)
        and isinstance(change.get("key"), str)
        and str(change.get("op")) in set(DeltaOp)
        and str(change.get("kind")) in set(EntryKind)
    ]


def _blobs(policy: ContentPolicy, *values: tuple[Any, str]) -> tuple[Blob, ...]:
    if policy.capture is not Capture.FULL:
        return ()
    return tuple(blob for value, digest in values if value is not None and digest and (blob := policy.blob(value, digest)))
