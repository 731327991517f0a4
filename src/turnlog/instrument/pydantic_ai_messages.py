"""Pydantic AI's messages and results in the GenAI form. Read by their shape: nothing of Pydantic AI is imported here.

One of its requests holds several parts of different roles; here each of them is a message of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog import semconv
from turnlog.instrument.calls import Facts
from turnlog.operation import Messages

Part = dict[str, Any]

_CALLS = {"tool-call", "builtin-tool-call"}
_RESULTS = {"tool-return", "builtin-tool-return"}


def history(messages: Sequence[Any]) -> Messages:
    """What a model is sent."""
    flat = [each for raw in messages for each in (raw.parts if raw.kind == "request" else (raw,)) if _speaks(each)]
    return Messages(flat, message, mark=mark)


def message(raw: Any) -> Mapping[str, Any]:
    """One part of a request, or a whole response."""
    kind = getattr(raw, "part_kind", "")
    if kind == "system-prompt":
        return {"role": "system", "parts": _contents(raw.content)}
    if kind == "tool-return" or (kind == "retry-prompt" and raw.tool_name):
        return {"role": "tool", "parts": [_result(raw, kind == "retry-prompt")]}
    if kind in {"retry-prompt", "retry-feedback"}:
        return {"role": "user", "parts": _contents(raw.content if isinstance(raw.content, str) else str(raw.content))}
    if kind:
        return user(raw.content)
    return {"role": "assistant", "parts": [part for each in raw.parts for part in _answered(each)]}


def mark(raw: Any) -> Any:
    parts = [raw] if hasattr(raw, "part_kind") else raw.parts
    return [(each.part_kind, str(_said(each)), getattr(each, "tool_call_id", "")) for each in parts]


def user(prompt: Any) -> Part:
    return {"role": "user", "parts": _contents(prompt)}


def response_facts(response: Any) -> Facts:
    usage = response.usage
    reason = response.finish_reason
    attributes = {
        semconv.GEN_AI_RESPONSE_ID: response.provider_response_id,
        semconv.GEN_AI_RESPONSE_MODEL: response.model_name,
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: [str(reason)] if reason else None,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: usage.input_tokens,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: usage.output_tokens,
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: usage.cache_read_tokens or None,
        semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: usage.cache_write_tokens or None,
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: (usage.details or {}).get("reasoning_tokens"),
    }
    answer = {**message(response), **({"finish_reason": str(reason)} if reason else {})}
    return Facts(attributes, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]} if response.parts else {})


def told(error: BaseException) -> Any:
    """What the model is told of a call that failed, if it is told."""
    part = getattr(error, "tool_retry", None) or getattr(error, "tool_failed", None)
    return getattr(part, "content", None)


def _speaks(raw: Any) -> bool:
    """Not what only records a change of settings or tools."""
    return not hasattr(raw, "part_kind") or hasattr(raw, "content")


def _said(part: Any) -> Any:
    return part.args if part.part_kind in _CALLS else getattr(part, "content", None)


def _result(raw: Any, failed: bool) -> Part:
    found: Part = {"type": "tool_call_response", "id": raw.tool_call_id, "response": raw.content}
    outcome = getattr(raw, "outcome", "success")
    return {**found, "is_error": True} if failed or outcome != "success" else found


def _answered(part: Any) -> list[Part]:
    kind = part.part_kind
    if kind in _CALLS:
        call = {"id": part.tool_call_id, "name": part.tool_name, "arguments": part.args}
        # What the provider runs by itself is no call that anybody here answers.
        return [{"type": "tool_call" if kind == "tool-call" else "server_tool_call", **call}]
    if kind in _RESULTS:
        return [{"type": "server_tool_call_response", "id": part.tool_call_id, "response": part.content}]
    said = getattr(part, "content", None)
    if kind in {"text", "thinking"}:
        return [{"type": "text" if kind == "text" else "reasoning", "content": said}] if said else []
    return [{"type": kind, "content": said}] if isinstance(said, str) else _contents(said)


def _contents(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return [part for each in content for part in _contents(each)]
    if isinstance(text := getattr(content, "content", None), str):
        return _contents(text)
    kind = getattr(content, "kind", "")
    if url := getattr(content, "url", ""):
        return [{"type": "uri", "uri": url}]
    # Files are told by what identifies them, which for data is its hash.
    return [{"type": kind, "id": content.identifier}] if hasattr(content, "identifier") else []
