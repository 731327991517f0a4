"""Anthropic's messages, content blocks and stream events in the GenAI form.

The same block comes as the application's mapping, as the SDK's model, or as JSON; all give the same part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.instrument.calls import Facts
from turnlog.operation import Messages

Part = dict[str, Any]


def message(raw: Any) -> Mapping[str, Any]:
    fields = _fields(raw)
    parts = content_parts(fields.get("content"))
    results = bool(parts) and all(part["type"] == "tool_call_response" for part in parts)
    return {"role": "tool" if results else fields.get("role", "user"), "parts": parts}


def request_content(body: Any, follows: bool = False) -> dict[str, Any]:
    given = body.get("messages")
    messages = given if isinstance(given, list | tuple) else []
    content: dict[str, Any] = {semconv.GEN_AI_INPUT_MESSAGES: Messages(messages, message, follows=follows)}
    if instructions := content_parts(body.get("system")):
        content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = instructions
    return content


def content_parts(content: Any) -> list[Part]:
    """The parts of a message's content, of instructions or of a tool's result: a text, or blocks."""
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    # An iterator is the SDK's to read.
    blocks = content if isinstance(content, list | tuple) else ()
    return [part for block in blocks if (part := _part(_fields(block))) is not None]


def message_facts(answer: Any) -> Facts:
    fields = _fields(answer)
    return _facts(fields, fields.get("content") or (), fields.get("stop_reason"), _fields(fields.get("usage")))


def tool_facts(result: Any) -> Facts:
    """What a tool runner makes of a tool's answer, and of its failure: a block to send back."""
    response = _response(_fields(result).get("content"))
    content: dict[str, Any] = {semconv.GEN_AI_TOOL_CALL_RESULT: response}
    if not _fields(result).get("is_error"):
        return Facts({}, content)
    text = response if isinstance(response, str) else json.dumps(response, default=str, ensure_ascii=False)
    return Facts({}, {**content, semconv.EXCEPTION_MESSAGE: text}, error="tool_error")


class MessageStream:
    """Events of a message, added up per block."""

    def __init__(self) -> None:
        self._start: Mapping[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._stop_reason: str | None = None
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, event: Any) -> None:
        match event.type:
            case "message_start":
                self._start = _fields(event.message)
                self._usage = dict(_fields(self._start.get("usage")))
                # At the start of a message these are placeholders.
                self._usage.pop("output_tokens", None)
                self._usage.pop("output_tokens_details", None)
            case "content_block_start":
                self._blocks[event.index] = dict(_fields(event.content_block))
            case "content_block_delta":
                _extend(self._blocks.setdefault(event.index, {}), event.delta)
            case "message_delta":
                self._stop_reason = event.delta.stop_reason
                self._usage |= {key: value for key, value in _fields(event.usage).items() if value is not None}

    def facts(self) -> Facts:
        blocks = [block for _, block in sorted(self._blocks.items())]
        return _facts(self._start, blocks, self._stop_reason, self._usage)


def _extend(block: dict[str, Any], delta: Any) -> None:
    match delta.type:
        case "text_delta":
            block["text"] = block.get("text", "") + delta.text
        case "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta.thinking
        case "input_json_delta":
            before = block.get("input")
            block["input"] = (before if isinstance(before, str) else "") + delta.partial_json
        case "compaction_delta":
            block["content"] = delta.content


def _facts(head: Mapping[str, Any], blocks: Any, stop_reason: str | None, usage: Mapping[str, Any]) -> Facts:
    answer: dict[str, Any] = {"role": "assistant", "parts": content_parts(blocks)}
    cached, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    fresh = usage.get("input_tokens")
    attributes = {
        semconv.GEN_AI_RESPONSE_ID: head.get("id"),
        semconv.GEN_AI_RESPONSE_MODEL: head.get("model"),
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: [stop_reason] if stop_reason else None,
        # Anthropic counts what the cache had apart; the convention's number has it in.
        semconv.GEN_AI_USAGE_INPUT_TOKENS: None if fresh is None else fresh + (cached or 0) + (written or 0),
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: usage.get("output_tokens"),
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: cached,
        semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: written,
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: _fields(usage.get("output_tokens_details")).get("thinking_tokens"),
        semconv.GEN_AI_CONVERSATION_COMPACTED: any(part["type"] == "compaction" for part in answer["parts"]) or None,
    }
    if stop_reason:
        answer["finish_reason"] = stop_reason
    return Facts(attributes, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]})


def _part(block: Mapping[str, Any]) -> Part | None:
    match block.get("type"):
        case "text":
            return {"type": "text", "content": block["text"]} if block.get("text") else None
        case "thinking":
            return {"type": "reasoning", "content": block["thinking"]} if block.get("thinking") else None
        case "tool_use":
            return {"type": "tool_call", "id": block["id"], "name": block["name"], "arguments": _parsed(block.get("input"))}
        case "tool_result":
            part = {"type": "tool_call_response", "id": block["tool_use_id"], "response": _response(block.get("content"))}
            return {**part, "is_error": True} if block.get("is_error") is True else part
        case _:
            # Images, documents, what the server's own tools did: the GenAI form has more kinds of them than this needs.
            return {"type": "unknown", **_plain(block)}


def _response(content: Any) -> Any:
    """A tool's result: its text where it is nothing else, so that the same result is the same whatever form it was given."""
    parts = content_parts(content)
    only_text = all(part["type"] == "text" for part in parts)
    return "".join(part["content"] for part in parts) if only_text else parts


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if not hasattr(value, "model_fields_set"):
        return {}
    # One level only: dumping a whole message copies content that the caller may not need.
    return {**vars(value), **(value.model_extra or {})}


def _plain(value: Any) -> Any:
    """A block that nothing here knows, in one form: without what is not set."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    fields = _fields(value)
    if not fields and not isinstance(value, Mapping):
        return value
    return {key: _plain(item) for key, item in fields.items() if item is not None and key != "cache_control"}


def _parsed(arguments: Any) -> Any:
    """A stream brings arguments as text, and one that breaks off brings a piece of it."""
    try:
        return json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments
