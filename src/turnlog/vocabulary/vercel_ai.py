"""The Vercel AI SDK's own spans (`experimental_telemetry`): `ai.*` names, as versions 4 to 6 have them.

It has no word for a session; applications put one into the telemetry's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.messages import Message, Part, instructions, message
from turnlog.vocabulary.words import Convention, Told, first_of, known, parsed, provider

_OPERATION = "ai.operationId"
_OPERATIONS = {
    **dict.fromkeys(("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"), GenAiOperation.INVOKE_AGENT),
    **dict.fromkeys(("ai.embed.doEmbed", "ai.embedMany.doEmbed"), GenAiOperation.EMBEDDINGS),
    "ai.toolCall": GenAiOperation.EXECUTE_TOOL,
}
_MODEL_CALL_ENDINGS = (".doGenerate", ".doStream")
_SESSIONS = tuple(
    f"ai.telemetry.metadata.{name}"
    for name in ("sessionId", "session.id", "session_id", "conversationId", "threadId", "chatId")
)
_USAGE = {
    semconv.GEN_AI_USAGE_INPUT_TOKENS: ("ai.usage.inputTokens", "ai.usage.promptTokens"),
    semconv.GEN_AI_USAGE_OUTPUT_TOKENS: ("ai.usage.outputTokens", "ai.usage.completionTokens"),
    semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: (
        "ai.usage.inputTokenDetails.cacheReadTokens",
        "ai.usage.cachedInputTokens",
    ),
    semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: ("ai.usage.inputTokenDetails.cacheWriteTokens",),
    semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: (
        "ai.usage.outputTokenDetails.reasoningTokens",
        "ai.usage.reasoningTokens",
    ),
}


def _told(span: ReceivedSpan, is_root: bool) -> Told:
    said = span.attributes
    named = str(said[_OPERATION])
    operation = GenAiOperation.CHAT if named.endswith(_MODEL_CALL_ENDINGS) else _OPERATIONS.get(named)
    if operation is None:
        return Told({}, {})
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: operation.value,
        semconv.SESSION_ID: first_of(said, *_SESSIONS),
        semconv.GEN_AI_AGENT_NAME: said.get("ai.telemetry.functionId"),
        semconv.ERROR_TYPE: "cancelled" if _was_aborted(span) else None,
    }
    match operation:
        case GenAiOperation.CHAT:
            attributes |= _model(said)
            content = {**_prompt({"messages": said.get("ai.prompt.messages")}), **_answer(said)}
        case GenAiOperation.INVOKE_AGENT:
            content = {**_prompt(parsed(said.get("ai.prompt"))), **_answer(said)}
            content[semconv.GEN_AI_INPUT_MESSAGES] = content.get(semconv.GEN_AI_INPUT_MESSAGES, [])[-1:]
        case GenAiOperation.EXECUTE_TOOL:
            attributes |= {semconv.GEN_AI_TOOL_NAME: said.get("ai.toolCall.name"), semconv.GEN_AI_TOOL_TYPE: "function"}
            attributes[semconv.GEN_AI_TOOL_CALL_ID] = said.get("ai.toolCall.id")
            content = {
                semconv.GEN_AI_TOOL_CALL_ARGUMENTS: parsed(said.get("ai.toolCall.args")),
                semconv.GEN_AI_TOOL_CALL_RESULT: parsed(said.get("ai.toolCall.result")),
            }
        case _:
            attributes |= _model(said)
            content = {}
    return Told(known(attributes), {key: value for key, value in content.items() if value is not None and value != []})


def _model(said: Mapping[str, Any]) -> dict[str, Any]:
    reason = said.get("ai.response.finishReason")
    return {
        semconv.GEN_AI_PROVIDER_NAME: provider(str(said.get("ai.model.provider") or "").split(".")[0]),
        semconv.GEN_AI_REQUEST_MODEL: said.get("ai.model.id"),
        semconv.GEN_AI_RESPONSE_MODEL: said.get("ai.response.model"),
        semconv.GEN_AI_RESPONSE_ID: said.get("ai.response.id"),
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: [reason] if reason else None,
        **{key: first_of(said, *names) for key, names in _USAGE.items()},
    }


def _prompt(prompt: Any) -> dict[str, Any]:
    """What was asked: messages, or one text; a system prompt beside them or among them."""
    if not isinstance(prompt, Mapping):
        return {}
    given = parsed(prompt.get("messages") or prompt.get("prompt"))
    raw = given if isinstance(given, list) else [{"role": "user", "content": given}] if given else []
    system = [each["content"] for each in raw if isinstance(each, Mapping) and each.get("role") == "system"]
    content: dict[str, Any] = {semconv.GEN_AI_INPUT_MESSAGES: [_message(each) for each in raw if each.get("role") != "system"]}
    if parts := [part for text in [prompt.get("system"), *system] if text for part in instructions(text)]:
        content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = parts
    return content


def _answer(said: Mapping[str, Any]) -> dict[str, Any]:
    parts: list[Part] = []
    if thought := said.get("ai.response.reasoning"):
        parts.append({"type": "reasoning", "content": thought})
    if text := first_of(said, "ai.response.text", "ai.response.object"):
        parts.append({"type": "text", "content": text})
    calls = parsed(said.get("ai.response.toolCalls"))
    parts += [_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    return {semconv.GEN_AI_OUTPUT_MESSAGES: [{"role": "assistant", "parts": parts}]} if parts else {}


def _message(raw: Mapping[str, Any]) -> Message:
    blocks = raw.get("content")
    if not isinstance(blocks, list):
        return message(raw)
    parts = [part for block in blocks if isinstance(block, Mapping) for part in _part(block)]
    return {"role": str(raw.get("role") or "user"), "parts": parts}


def _part(block: Mapping[str, Any]) -> list[Part]:
    match block.get("type"):
        case "text" | "reasoning" as kind:
            return [{"type": kind, "content": block["text"]}] if block.get("text") else []
        case "tool-call":
            return [_call(block)]
        case "tool-result":
            return [_result(block)]
        case _:
            return [dict(block)]


def _call(call: Mapping[str, Any]) -> Part:
    arguments = parsed(call.get("input", call.get("args")))
    return {"type": "tool_call", "id": call.get("toolCallId"), "name": call.get("toolName"), "arguments": arguments}


def _result(block: Mapping[str, Any]) -> Part:
    """Since version 5 a result says what it is: `{"type": "json", "value": …}`, `{"type": "error-text", …}`."""
    response = block.get("output", block.get("result"))
    failed = bool(block.get("isError"))
    if isinstance(response, Mapping) and "value" in response:
        failed = str(response.get("type")).startswith("error")
        response = response["value"]
    found: Part = {"type": "tool_call_response", "id": block.get("toolCallId"), "response": response}
    return {**found, "is_error": True} if failed else found


def _was_aborted(span: ReceivedSpan) -> bool:
    return any(event.name == "exception" and event.attributes.get("exception.type") == "AbortError" for event in span.events)


VERCEL_AI = Convention("Vercel AI SDK", lambda span: _OPERATION in span.attributes, _told)
