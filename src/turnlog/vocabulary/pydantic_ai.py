"""Pydantic AI's own spans: GenAI's words, with the run's messages under names of its own, and all results of a step in one."""

from __future__ import annotations

from turnlog import semconv
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.genai import GENAI
from turnlog.vocabulary.messages import Message, message, messages
from turnlog.vocabulary.words import Convention, Told, parsed

_SCOPE = "pydantic-ai"
_CANCELLED = "CancelledError"
_TIMED_OUT = "Timed out after "


def _told(span: ReceivedSpan, is_root: bool) -> Told:
    found = GENAI.told(span, is_root)
    said = span.attributes
    if (thought := said.get("gen_ai.usage.details.reasoning_tokens")) is not None:
        found.attributes.setdefault(semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS, thought)
    match said.get(semconv.GEN_AI_OPERATION_NAME):
        case GenAiOperation.INVOKE_AGENT:
            _tell_run(span, found)
        case GenAiOperation.CHAT:
            _tell_messages(span, found)
        case GenAiOperation.EXECUTE_TOOL:
            _tell_failure(span, found)
    return found


def _tell_run(span: ReceivedSpan, found: Told) -> None:
    """A run's messages begin with those of the runs before it."""
    index = span.attributes.get("pydantic_ai.new_message_index", 0)
    fresh = messages(span.attributes.get("pydantic_ai.all_messages"))[index if isinstance(index, int) else 0 :]
    asked = [each for each in fresh[:2] if each["role"] == "user" and each["parts"]]
    if asked:
        found.content[semconv.GEN_AI_INPUT_MESSAGES] = asked
    if (answer := span.attributes.get("final_result")) is not None:
        found.content[semconv.GEN_AI_OUTPUT_MESSAGES] = [message(answer, "assistant")]


def _tell_messages(span: ReceivedSpan, found: Told) -> None:
    """Each result a message of its own, and calls with the model's text of their arguments, as ours has them."""
    given = found.content.get(semconv.GEN_AI_INPUT_MESSAGES, ())
    if given:
        found.content[semconv.GEN_AI_INPUT_MESSAGES] = [each for said in given for each in _apart(said)]
    raw = parsed(span.attributes.get(semconv.GEN_AI_OUTPUT_MESSAGES))
    for said, each in zip(found.content.get(semconv.GEN_AI_OUTPUT_MESSAGES, ()), raw or (), strict=False):
        texts = {part.get("id"): part.get("arguments") for part in each.get("parts", ())}
        for part in said["parts"]:
            if part["type"] == "tool_call":
                part["arguments"] = texts[part["id"]]
        if reason := each.get("finish_reason"):
            said["finish_reason"] = reason


def _apart(said: Message) -> list[Message]:
    results = [part for part in said["parts"] if part["type"] == "tool_call_response"]
    others = [part for part in said["parts"] if part["type"] != "tool_call_response"]
    split: list[Message] = [{"role": "tool", "parts": [part]} for part in results]
    return [*split, {**said, "parts": others}] if others or not results else split


def _tell_failure(span: ReceivedSpan, found: Told) -> None:
    """What went wrong, which its exceptions wrap to tell the model."""
    raised = next((event.attributes for event in span.events if event.name == "exception"), {})
    if str(raised.get(semconv.EXCEPTION_MESSAGE) or "").startswith(_TIMED_OUT):
        found.attributes[semconv.ERROR_TYPE] = "TimeoutError"
    elif str(raised.get("exception.type") or "").endswith(_CANCELLED):
        # It only says which task the cancellation came from.
        found.attributes[semconv.ERROR_TYPE] = _CANCELLED
        found.content[semconv.EXCEPTION_MESSAGE] = ""


PYDANTIC_AI = Convention("Pydantic AI", lambda span: span.scope == _SCOPE, _told)
