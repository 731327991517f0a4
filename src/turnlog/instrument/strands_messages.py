"""Strands' messages and events in the GenAI form. Its blocks are those of Bedrock's Converse API: mappings with one key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from turnlog import semconv
from turnlog.instrument.calls import Facts
from turnlog.operation import Messages, error_type
from turnlog.semconv import Outcome

Part = dict[str, Any]


def message(raw: Any) -> Mapping[str, Any]:
    parts = content_parts(raw["content"])
    results = bool(parts) and all(part["type"] == "tool_call_response" for part in parts)
    return {"role": "tool" if results else raw["role"], "parts": parts}


def history(messages: Sequence[Any]) -> Messages:
    # A message of the same words may have been given metadata since.
    return Messages(messages, message, mark=lambda raw: (raw["role"], raw["content"]))


def content_parts(blocks: Any) -> list[Part]:
    return [part for block in blocks or () if (part := _part(block)) is not None]


class AnswerStream:
    """Events of a model call or of an agent's run: pieces of text, and at the end the message that they made."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._stop: Sequence[Any] = ()

    def add(self, event: Any) -> None:
        if "stop" in event:
            self._stop = event["stop"]
        elif isinstance(piece := event.get("data"), str):
            self._pieces.append(piece)

    @property
    def said(self) -> Part:
        if self._stop:
            return {**message(self._stop[1]), "finish_reason": str(self._stop[0])}
        return {"role": "assistant", "parts": content_parts([{"text": "".join(self._pieces)}])}

    def facts(self) -> Facts:
        return Facts({}, {semconv.GEN_AI_OUTPUT_MESSAGES: [self.said]})


class ModelStream(AnswerStream):
    def facts(self) -> Facts:
        content = super().facts().content
        if not self._stop:
            return Facts({}, content)
        usage: Mapping[str, int] = self._stop[2]
        fresh, written = usage.get("inputTokens", 0), usage.get("outputTokens", 0)
        cached, stored = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
        # Some providers count what the cache had apart; then the total is more than the sum.
        apart = fresh + written != usage.get("totalTokens", fresh + written)
        attributes = {
            semconv.GEN_AI_RESPONSE_FINISH_REASONS: [str(self._stop[0])],
            semconv.GEN_AI_USAGE_INPUT_TOKENS: fresh + (cached or 0) + (stored or 0) if apart else fresh,
            semconv.GEN_AI_USAGE_OUTPUT_TOKENS: written,
            semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: cached,
            semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: stored,
        }
        return Facts(attributes, content)


class ToolStream:
    """Events of a tool call: the last is its result, unless it stopped to ask somebody."""

    def __init__(self) -> None:
        self._last: Any = {}

    def add(self, event: Any) -> None:
        if "tool_stream_event" not in event:
            self._last = event

    def facts(self) -> Facts:
        if "tool_interrupt_event" in self._last:
            return Facts({}, {semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value})
        result = getattr(self._last, "tool_result", None)
        if result is None:
            return Facts({}, {})
        response = _response(result)
        content: dict[str, Any] = {semconv.GEN_AI_TOOL_CALL_RESULT: response}
        raised = getattr(self._last, "exception", None)
        if raised is None and result.get("status") != "error":
            return Facts({}, content)
        said = str(raised) if raised is not None else response if isinstance(response, str) else json.dumps(response)
        content[semconv.EXCEPTION_MESSAGE] = said
        return Facts({}, content, error_type(raised) if raised is not None else "tool_error")


def _part(block: Mapping[str, Any]) -> Part | None:
    match next(iter(block), ""):
        case "text":
            return {"type": "text", "content": block["text"]} if block["text"] else None
        case "reasoningContent":
            text = block["reasoningContent"].get("reasoningText", {}).get("text")
            return {"type": "reasoning", "content": text} if text else None
        case "toolUse":
            call = block["toolUse"]
            return {"type": "tool_call", "id": call["toolUseId"], "name": call["name"], "arguments": call["input"]}
        case "toolResult":
            result = block["toolResult"]
            part = {"type": "tool_call_response", "id": result["toolUseId"], "response": _response(result)}
            return {**part, "is_error": True} if result.get("status") == "error" else part
        case "cachePoint" | "":
            return None
        case _:
            return {"type": "unknown", **block}


def _response(result: Mapping[str, Any]) -> Any:
    """A tool's result: its text where it is nothing else, or the one value that it is."""
    blocks: list[Mapping[str, Any]] = result.get("content") or []
    if all("text" in block for block in blocks):
        return "".join(block["text"] for block in blocks)
    return blocks[0]["json"] if len(blocks) == 1 and "json" in blocks[0] else blocks
