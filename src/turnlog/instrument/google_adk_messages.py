"""Google ADK's contents and responses in the GenAI form. Read by their shape: nothing of ADK is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog import semconv
from turnlog.instrument.calls import Facts
from turnlog.operation import Messages
from turnlog.vocabulary.messages import joined

Part = dict[str, Any]


def request_content(request: Any) -> dict[str, Any]:
    """What a model is sent."""
    content: dict[str, Any] = {semconv.GEN_AI_INPUT_MESSAGES: Messages(request.contents, message, mark=mark)}
    if instructions := _instructions(getattr(request.config, "system_instruction", None)):
        content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = instructions
    return content


def message(raw: Any) -> Mapping[str, Any]:
    parts = [part for each in raw.parts or () for part in _part(each)]
    if parts and all(part["type"] == "tool_call_response" for part in parts):
        return {"role": "tool", "parts": parts}
    return {"role": "assistant" if raw.role == "model" else raw.role or "user", "parts": parts}


def mark(raw: Any) -> Any:
    return raw.role, [part for each in raw.parts or () for part in _part(each)]


def response_facts(responses: Sequence[Any]) -> Facts:
    """One model call's responses: the whole one, or the pieces of a stream, which ends before ADK puts them together."""
    if not responses:
        return Facts({}, {})
    last = responses[-1]
    whole = [each for each in responses if not each.partial] or responses
    usage = last.usage_metadata
    attributes = {
        semconv.GEN_AI_RESPONSE_MODEL: getattr(last, "model_version", None),
        semconv.GEN_AI_USAGE_INPUT_TOKENS: getattr(usage, "prompt_token_count", None),
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: getattr(usage, "cached_content_token_count", None),
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: getattr(usage, "thoughts_token_count", None),
    }
    parts = joined([part for each in whole for raw in _parts_of(each) for part in _part(raw)])
    content = {semconv.GEN_AI_OUTPUT_MESSAGES: [{"role": "assistant", "parts": parts}]} if parts else {}
    if last.error_message:
        content[semconv.EXCEPTION_MESSAGE] = last.error_message
    return Facts(attributes, content, error=str(last.error_code or ""))


def calls_of(event: Any) -> list[Any]:
    return [part.function_call for part in _parts_of(event) if part.function_call is not None]


def results_of(content: Any) -> list[Any]:
    found = (part.function_response for part in getattr(content, "parts", None) or ())
    return [each for each in found if each is not None]


def _parts_of(response: Any) -> Sequence[Any]:
    return getattr(response.content, "parts", None) or ()


def _part(raw: Any) -> list[Part]:
    if raw.text:
        return [{"type": "reasoning" if raw.thought else "text", "content": raw.text}]
    if (call := raw.function_call) is not None:
        return [{"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.args or {}}]
    if (result := raw.function_response) is not None:
        said: Part = {"type": "tool_call_response", "id": result.id, "response": result.response}
        # By the API's convention the other key is "output" or "result".
        return [{**said, "is_error": True} if "error" in (result.response or {}) else said]
    if (data := raw.inline_data) is not None:
        return [{"type": "blob", "mime_type": data.mime_type, "content": data.data}]
    if (file := raw.file_data) is not None:
        return [{"type": "uri", "mime_type": file.mime_type, "uri": file.file_uri}]
    if (code := raw.executable_code) is not None:
        return [{"type": "executable_code", "content": code.code}]
    if (ran := raw.code_execution_result) is not None:
        return [{"type": "code_execution_result", "content": ran.output}]
    return []


def _instructions(given: Any) -> list[Part]:
    if isinstance(given, str):
        return [{"type": "text", "content": given}] if given else []
    return [part for each in getattr(given, "parts", None) or () for part in _part(each)]
