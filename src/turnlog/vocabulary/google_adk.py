"""Google ADK's own spans: GenAI's words. A streamed answer is a message for each piece, a tool's answer is always a mapping,
and a tool call that was given up only lacks one.
"""

from __future__ import annotations

from collections.abc import Mapping

from turnlog import semconv
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.genai import GENAI
from turnlog.vocabulary.messages import joined
from turnlog.vocabulary.words import Convention, Told, parsed

_SCOPE = "gcp.vertex.agent"
_CANCELLED = "CancelledError"
# Answers later, from elsewhere.
_LONG_RUNNING = "LongRunningFunctionTool"
_NO_ID = "<not specified>"
# Around calls that ran side by side, beside a span for each of them.
_MERGED = "(merged tools)"


def _told(span: ReceivedSpan, is_root: bool) -> Told:
    found = GENAI.told(span, is_root)
    if semconv.GEN_AI_OUTPUT_MESSAGES in found.content:
        parts = joined([part for said in found.content[semconv.GEN_AI_OUTPUT_MESSAGES] for part in said["parts"]])
        found.content[semconv.GEN_AI_OUTPUT_MESSAGES] = [{"role": "assistant", "parts": parts}] if parts else []
    for said in found.content.get(semconv.GEN_AI_INPUT_MESSAGES, ()):
        for part in said["parts"]:
            # By the API's convention the other key is "output" or "result".
            if part["type"] == "tool_call_response" and isinstance(part["response"], Mapping) and "error" in part["response"]:
                part["is_error"] = True
    if span.attributes.get(semconv.GEN_AI_TOOL_NAME) == _MERGED:
        return Told({semconv.GEN_AI_OPERATION_NAME: None}, {})
    if span.attributes.get(semconv.GEN_AI_OPERATION_NAME) == GenAiOperation.EXECUTE_TOOL:
        _tell_result(span, found)
    return found


def _tell_result(span: ReceivedSpan, found: Told) -> None:
    result = parsed(span.attributes.get(semconv.GEN_AI_TOOL_CALL_RESULT))
    if isinstance(result, Mapping) and list(result) == ["result"]:
        found.content[semconv.GEN_AI_TOOL_CALL_RESULT] = result["result"]
    elif isinstance(result, Mapping) and "error" in result:
        found.content[semconv.EXCEPTION_MESSAGE] = str(result["error"])
        if semconv.ERROR_TYPE not in span.attributes:
            found.attributes[semconv.ERROR_TYPE] = "tool_error"
    elif result is None and _was_given_up(span):
        found.attributes[semconv.ERROR_TYPE] = _CANCELLED
    if span.attributes.get(semconv.GEN_AI_TOOL_CALL_ID) == _NO_ID and semconv.GEN_AI_TOOL_CALL_ARGUMENTS in span.attributes:
        # Its arguments tell which of the calls it is.
        found.attributes[semconv.GEN_AI_TOOL_CALL_ID] = None


def _was_given_up(span: ReceivedSpan) -> bool:
    return (
        span.status != "error"
        and semconv.GEN_AI_TOOL_CALL_ARGUMENTS in span.attributes
        and span.attributes.get(semconv.GEN_AI_TOOL_TYPE) != _LONG_RUNNING
    )


GOOGLE_ADK = Convention("Google ADK", lambda span: span.scope == _SCOPE, _told)
