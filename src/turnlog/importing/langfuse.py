"""Langfuse's traces and observations: of its public API, its page's export and its blob storage export, in GenAI words.

Names come in camelCase from the API and in snake_case from the blob storage. A trace gives its session to its observations
wherever both are in one file; a trace that comes after them only has what it holds itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from turnlog import semconv
from turnlog.importing.source import Source
from turnlog.importing.values import cause, made_id, nanoseconds, span_id, trace_id
from turnlog.instrument.openai_messages import chat_message
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.words import parsed

Json = Mapping[str, Any]
_OPERATIONS = {
    "GENERATION": GenAiOperation.CHAT,
    "TOOL": GenAiOperation.EXECUTE_TOOL,
    "AGENT": GenAiOperation.INVOKE_AGENT,
    "EMBEDDING": GenAiOperation.EMBEDDINGS,
}
_TYPES = {*_OPERATIONS, "SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "GUARDRAIL"}
_MOST_TRACES = 100_000
# What the API, the page and its older versions call the same count.
_INPUT = ("input", "promptTokens", "prompt_tokens", "input_tokens")
_OUTPUT = ("output", "completionTokens", "completion_tokens", "output_tokens")
_CACHED = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")


def is_langfuse(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return False
    is_observation = str(value.get("type")) in _TYPES and _get(value, "traceId") is not None
    return is_observation or _is_trace(value)


def read(source: Source) -> Iterator[ReceivedSpan]:
    sessions: OrderedDict[str, str] = OrderedDict()
    for place, value in source.records():
        if not is_langfuse(value):
            source.reject(place, "no trace or observation of Langfuse")
            continue
        try:
            if _is_trace(value):
                yield from _trace(value, sessions)
            else:
                yield _observation(value, str(_get(value, "sessionId") or sessions.get(_get(value, "traceId"), "")))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            source.reject(place, f"no observation of Langfuse: {cause(error)}")


def _is_trace(value: Json) -> bool:
    return "timestamp" in value and "type" not in value and _get(value, "traceId") is None


def _trace(trace: Json, sessions: OrderedDict[str, str]) -> Iterator[ReceivedSpan]:
    session = str(_get(trace, "sessionId") or "")
    sessions[trace["id"]] = session
    if len(sessions) > _MOST_TRACES:
        sessions.popitem(last=False)
    observations = trace.get("observations")
    for each in observations if isinstance(observations, list) else ():
        # The list of traces only names its observations.
        if isinstance(each, Mapping):
            yield _observation({"traceId": trace["id"], **each}, session)


def _observation(seen: Json, session: str) -> ReceivedSpan:
    operation = _OPERATIONS.get(str(seen["type"]))
    trace = str(_get(seen, "traceId"))
    start_ns = nanoseconds(_get(seen, "startTime"))
    ended = _get(seen, "endTime")
    parent = _get(seen, "parentObservationId")
    failed = seen.get("level") == "ERROR"
    name = str(seen.get("name") or "")
    said = str(_get(seen, "statusMessage") or "")
    attributes: dict[str, Any] = {semconv.SESSION_ID: session}
    if operation is not None:
        attributes |= {semconv.GEN_AI_OPERATION_NAME: operation.value, **_words(operation, name, seen)}
    if failed:
        attributes[semconv.ERROR_TYPE] = "error"
    return ReceivedSpan(
        trace_id(trace),
        # The root of an older trace has the trace's own id.
        span_id(seen["id"]) if seen["id"] != trace else made_id(16, trace),
        span_id(str(parent)) if parent and parent != trace else "",
        name,
        start_ns,
        max(start_ns, nanoseconds(ended)) if ended else start_ns,
        status="error" if failed else "unset",
        status_message=said if failed else "",
        scope="langfuse",
        attributes={key: value for key, value in attributes.items() if value not in (None, "")},
    )


def _words(operation: GenAiOperation, name: str, seen: Json) -> dict[str, Any]:
    given, answer = parsed(seen.get("input")), parsed(seen.get("output"))
    if operation is GenAiOperation.EXECUTE_TOOL:
        return {
            semconv.GEN_AI_TOOL_NAME: name,
            semconv.GEN_AI_TOOL_CALL_ARGUMENTS: given,
            semconv.GEN_AI_TOOL_CALL_RESULT: answer,
        }
    words = {
        semconv.GEN_AI_INPUT_MESSAGES: _messages(given, "user"),
        semconv.GEN_AI_OUTPUT_MESSAGES: _messages(answer, "assistant"),
    }
    if operation is GenAiOperation.INVOKE_AGENT:
        return {semconv.GEN_AI_AGENT_NAME: name, **words}
    model = seen.get("model") or _get(seen, "providedModelName")
    usage = parsed(_get(seen, "usageDetails")) or parsed(seen.get("usage")) or {}
    return {
        semconv.GEN_AI_REQUEST_MODEL: model,
        semconv.GEN_AI_RESPONSE_MODEL: model,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: _count(usage, _INPUT),
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: _count(usage, _OUTPUT),
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: _count(usage, _CACHED),
        **words,
    }


def _messages(value: Any, role: str) -> list[Any] | None:
    """In the GenAI form: what integrations log is OpenAI's messages, one of them, or anything at all."""
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, Mapping) and "role" in value:
        value = [value]
    if isinstance(value, Sequence) and not isinstance(value, str) and value and all(_is_message(each) for each in value):
        return [each if "parts" in each else chat_message(each) for each in value]
    if value in (None, "", [], {}):
        return None
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return [{"role": role, "parts": [{"type": "text", "content": text}]}]


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("role"), str)


def _count(usage: Any, names: tuple[str, ...]) -> int | None:
    counts = (usage.get(name) for name in names) if isinstance(usage, Mapping) else ()
    return next((int(count) for count in counts if count is not None), None)


def _get(value: Json, camel: str) -> Any:
    if camel in value:
        return value[camel]
    return value.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in camel))
