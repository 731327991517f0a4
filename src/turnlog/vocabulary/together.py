"""What the spans of a trace say only together, laid over what each of them says alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnlog import semconv
from turnlog.foreign import MODEL_CALLS
from turnlog.operation import Messages
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary import around, claude_code
from turnlog.vocabulary.words import Told

Spoken = tuple[ReceivedSpan, Told]

_AGENTS = {GenAiOperation.INVOKE_AGENT.value, GenAiOperation.INVOKE_WORKFLOW.value}
_NAMES = (semconv.SESSION_ID, semconv.GEN_AI_CONVERSATION_ID)


def complete(spans: Sequence[Spoken]) -> None:
    """`spans` are one trace's, with what each tells."""
    in_order = sorted(spans, key=lambda each: each[0].start_ns)
    claude_code.complete(in_order)
    around.complete(in_order)
    _tell_calls(in_order)
    _tell_inputs(in_order)


def _tell_calls(spans: Sequence[Spoken]) -> None:
    """What a model asked for, where its call does not say: the tools that begin after it and before the next call beside it."""
    latest: dict[str, Told] = {}
    for span, told in spans:
        operation = told.attributes.get(semconv.GEN_AI_OPERATION_NAME)
        if operation in MODEL_CALLS:
            latest.pop(span.parent_id, None)
            if span.parent_id and span.status != "error" and _is_silent(span, told):
                latest[span.parent_id] = told
        elif operation == GenAiOperation.EXECUTE_TOOL and span.parent_id in latest:
            asking = latest[span.parent_id].content
            said = asking.setdefault(semconv.GEN_AI_OUTPUT_MESSAGES, [{"role": "assistant", "parts": []}])
            said[-1]["parts"].append(_call(span, told))


def _is_silent(span: ReceivedSpan, told: Told) -> bool:
    return span.scope == claude_code.SCOPE or semconv.GEN_AI_OUTPUT_MESSAGES not in told.content


def _call(span: ReceivedSpan, told: Told) -> dict[str, Any]:
    attributes = {**span.attributes, **told.attributes}
    return {
        "type": "tool_call",
        "id": attributes.get(semconv.GEN_AI_TOOL_CALL_ID),
        "name": attributes.get(semconv.GEN_AI_TOOL_NAME),
        "arguments": told.content.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS),
    }


def _tell_inputs(spans: Sequence[Spoken]) -> None:
    """What an agent was asked, where only the first model call inside it says so. One that names no session is also given what
    was said before: its session is found by that."""
    by_id = {span.span_id: (span, told) for span, told in spans}
    heard: set[str] = set()
    for span, told in spans:
        given = told.content.get(semconv.GEN_AI_INPUT_MESSAGES)
        if told.attributes.get(semconv.GEN_AI_OPERATION_NAME) not in MODEL_CALLS or not given or given[-1]["role"] != "user":
            continue
        inner = span
        while inner.parent_id in by_id and inner.parent_id not in heard:
            inner, outer = by_id[inner.parent_id]
            heard.add(inner.span_id)
            if outer.attributes.get(semconv.GEN_AI_OPERATION_NAME) not in _AGENTS:
                continue
            if any(inner.attributes.get(key) or outer.attributes.get(key) for key in _NAMES):
                outer.content.setdefault(semconv.GEN_AI_INPUT_MESSAGES, given[-1:])
            else:
                outer.content[semconv.GEN_AI_INPUT_MESSAGES] = Messages(given, dict)
