"""Agent Framework's messages and updates in the GenAI form. Read by their shape: nothing of the framework is imported here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnlog import semconv
from turnlog.instrument.calls import Facts
from turnlog.operation import Messages

Part = dict[str, Any]

# What the framework takes out of the messages before a model sees them, or what is about the call and not said in it.
_ASIDE = {"function_approval_request", "usage"}


def message(raw: Any) -> Mapping[str, Any]:
    parts = [part for content in raw.contents if (part := _part(content)) is not None]
    results = bool(parts) and all(part["type"] == "tool_call_response" for part in parts)
    return {"role": "tool" if results else str(raw.role), "parts": parts}


def run_input(given: Any) -> Sequence[Mapping[str, Any]]:
    """What an agent is given: a text, a message, contents, or a list of those."""
    items = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    if len(items) > 1 and all(hasattr(item, "contents") for item in items):
        return Messages(items, message)
    return [_said_by_user(item) for item in items]


def contents_of(given: Any) -> Iterable[Any]:
    for item in given if isinstance(given, list | tuple) else [given]:
        yield from getattr(item, "contents", None) or [item]


def chat_facts(response: Any) -> Facts:
    answers = [message(each) for each in response.messages]
    return _facts(response, answers, getattr(response, "usage_details", None))


def agent_facts(response: Any) -> Facts:
    """An agent's response holds every message of its run; the answer is the last."""
    messages = getattr(response, "messages", None) or ()
    return Facts({}, {semconv.GEN_AI_OUTPUT_MESSAGES: [message(messages[-1])]} if messages else {})


class UpdateStream:
    """Updates of a model's answer, added up: a stream may be left at any of them."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {"reasoning": [], "text": []}
        self._calls: dict[str, Part] = {}
        self._usage: Mapping[str, int] = {}
        self._last: dict[str, Any] = {}

    def add(self, update: Any) -> None:
        for content in getattr(update, "contents", None) or ():
            match content.type:
                case "text" | "text_reasoning":
                    self._texts["text" if content.type == "text" else "reasoning"].append(content.text or "")
                case "function_call":
                    self._add_call(content)
                case "usage":
                    self._usage = content.usage_details or {}
        for name in ("response_id", "model", "finish_reason"):
            if (value := getattr(update, name, None)) is not None:
                self._last[name] = value

    def facts(self) -> Facts:
        said = [{"type": kind, "content": "".join(texts)} for kind, texts in self._texts.items() if any(texts)]
        calls = [{**call, "arguments": _parsed(call["arguments"])} for call in self._calls.values()]
        return _facts(self._last, [{"role": "assistant", "parts": [*said, *calls]}], self._usage)

    def _add_call(self, content: Any) -> None:
        call = self._calls.setdefault(
            content.call_id or "", {"type": "tool_call", "id": content.call_id, "name": "", "arguments": ""}
        )
        call["name"] = call["name"] or content.name or ""
        pieces = call["arguments"], content.arguments
        call["arguments"] = (
            "".join(pieces) if all(isinstance(piece, str) for piece in pieces) else content.arguments or pieces[0]
        )


class RunStream:
    """Updates of an agent's run, which has model calls and tool calls in it: what it said last."""

    def __init__(self) -> None:
        self._message: Any = None
        self._texts: list[str] = []

    def add(self, update: Any) -> None:
        current = getattr(update, "message_id", None)
        if current != self._message:
            self._message, self._texts = current, []
        self._texts.append(getattr(update, "text", None) or "")

    def facts(self) -> Facts:
        said = [{"type": "text", "content": "".join(self._texts)}] if any(self._texts) else []
        return Facts({}, {semconv.GEN_AI_OUTPUT_MESSAGES: [{"role": "assistant", "parts": said}]})


def _facts(response: Any, answers: list[Any], usage: Mapping[str, int] | None) -> Facts:
    fields = response if isinstance(response, Mapping) else vars(response)
    usage = usage or {}
    reason = fields.get("finish_reason")
    attributes = {
        semconv.GEN_AI_RESPONSE_ID: fields.get("response_id"),
        semconv.GEN_AI_RESPONSE_MODEL: fields.get("model"),
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: [str(reason)] if reason else None,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: usage.get("input_token_count"),
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: usage.get("output_token_count"),
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: usage.get("cache_read_input_token_count"),
        semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: usage.get("cache_creation_input_token_count"),
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: usage.get("reasoning_output_token_count"),
    }
    outputs = [{**answer, "finish_reason": str(reason)} if reason else answer for answer in answers]
    return Facts(attributes, {semconv.GEN_AI_OUTPUT_MESSAGES: outputs})


def _part(content: Any) -> Part | None:
    match content.type:
        case "text":
            return {"type": "text", "content": content.text} if content.text else None
        case "text_reasoning":
            return {"type": "reasoning", "content": content.text} if content.text else None
        case "function_call":
            return {
                "type": "tool_call",
                "id": content.call_id,
                "name": content.name,
                "arguments": _parsed(content.arguments),
            }
        case "function_result":
            response = content.result if content.result is not None else content.exception
            part = {"type": "tool_call_response", "id": content.call_id, "response": response}
            return {**part, "is_error": True} if content.exception else part
        case "function_approval_response":
            verdict = "approved" if content.approved else "rejected"
            return {"type": "text", "content": f"{verdict}: {getattr(content.function_call, 'name', None)}"}
        case kind if kind in _ASIDE:
            return None
        case _:
            return {**content.to_dict(), "type": "unknown", "kind": content.type}


def _said_by_user(item: Any) -> Mapping[str, Any]:
    if hasattr(item, "contents"):
        return message(item)
    part = _part(item) if hasattr(item, "type") else {"type": "text", "content": str(item)}
    return {"role": "user", "parts": [part] if part else []}


def _parsed(arguments: Any) -> Any:
    """Arguments come as text or as a mapping, and a stream that breaks off brings a piece of the text."""
    try:
        return json.loads(arguments or "{}") if isinstance(arguments, str) else arguments or {}
    except ValueError:
        return arguments
