"""What spans of other instrumentations stand for, in the words of GenAI spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.semconv import GenAiOperation

_OPENINFERENCE_KIND = "openinference.span.kind"
_TRACELOOP_KIND = "traceloop.span.kind"
_OPENINFERENCE = {
    "LLM": GenAiOperation.CHAT,
    "TOOL": GenAiOperation.EXECUTE_TOOL,
    "AGENT": GenAiOperation.INVOKE_AGENT,
    "EMBEDDING": GenAiOperation.EMBEDDINGS,
}
_TRACELOOP = {
    "tool": GenAiOperation.EXECUTE_TOOL,
    "agent": GenAiOperation.INVOKE_AGENT,
    "workflow": GenAiOperation.INVOKE_AGENT,
}


def operation_of(attributes: Mapping[str, Any]) -> str:
    """The GenAI operation that a span is; empty for any other span."""
    if named := attributes.get(semconv.GEN_AI_OPERATION_NAME):
        return str(named)
    if kind := attributes.get(_OPENINFERENCE_KIND):
        return _OPENINFERENCE.get(str(kind), "")
    return _TRACELOOP.get(str(attributes.get(_TRACELOOP_KIND, "")), "")
