"""Microsoft Agent Framework's own spans: GenAI's words. An agent's output is all that was said in its run, and a function call
that was given up only lacks a result.
"""

from __future__ import annotations

from turnlog import semconv
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.genai import GENAI
from turnlog.vocabulary.messages import last
from turnlog.vocabulary.words import Convention, Told, parsed

_SCOPE = "agent_framework"
_CANCELLED = "CancelledError"


def _told(span: ReceivedSpan, is_root: bool) -> Told:
    found = GENAI.told(span, is_root)
    said = span.attributes
    if isinstance(reasons := parsed(said.get(semconv.GEN_AI_RESPONSE_FINISH_REASONS)), list):
        found.attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = reasons
    operation = said.get(semconv.GEN_AI_OPERATION_NAME)
    if operation == GenAiOperation.INVOKE_AGENT and semconv.GEN_AI_OUTPUT_MESSAGES in found.content:
        found.content[semconv.GEN_AI_OUTPUT_MESSAGES] = last(found.content[semconv.GEN_AI_OUTPUT_MESSAGES])
    if operation == GenAiOperation.EXECUTE_TOOL and _was_given_up(span):
        found.attributes[semconv.ERROR_TYPE] = _CANCELLED
    if raised := [event.attributes for event in span.events if event.name == "exception"]:
        # The status has the exception's repr.
        found.content[semconv.EXCEPTION_MESSAGE] = str(raised[-1].get(semconv.EXCEPTION_MESSAGE) or "")
    return found


def _was_given_up(span: ReceivedSpan) -> bool:
    is_answered = span.status == "error" or semconv.GEN_AI_TOOL_CALL_RESULT in span.attributes
    return semconv.GEN_AI_TOOL_CALL_ARGUMENTS in span.attributes and not is_answered


AGENT_FRAMEWORK = Convention("Microsoft Agent Framework", lambda span: span.scope == _SCOPE, _told)
