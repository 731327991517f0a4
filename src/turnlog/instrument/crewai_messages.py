"""CrewAI's messages, tool calls and results in the GenAI form. Its messages are OpenAI's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.calls import Facts
from turnlog.instrument.openai_messages import chat_message
from turnlog.operation import Messages


def messages_of(given: Any) -> Messages:
    """What a model or agent is given. A copy: agents go on with the same list while the call runs."""
    raw = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
    return Messages(raw, chat_message)


def text_message(text: str, role: str = "user") -> Mapping[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def call_of(raw: Any) -> tuple[str | None, str, Any]:
    """Id, name and arguments of a call in the form of whichever provider."""
    called = _field(raw, "function") or _field(raw, "function_call") or raw
    call_id = _field(raw, "call_id") or _field(raw, "id") or _field(raw, "toolUseId")
    arguments = _field(called, "arguments") or _field(called, "args") or _field(called, "input") or {}
    return call_id, str(_field(called, "name") or "unknown"), _parsed(arguments)


def answer_facts(response: Any, usage: Any = None, finish_reason: str | None = None, response_id: str | None = None) -> Facts:
    calls = response if isinstance(response, list) else []
    parts: list[dict[str, Any]] = []
    for call_id, name, arguments in map(call_of, calls):
        parts.append({"type": "tool_call", "id": call_id, "name": name, "arguments": arguments})
    answer = {"role": "assistant", "parts": parts} if calls else dict(text_message(_text(response), "assistant"))
    if finish_reason:
        answer["finish_reason"] = finish_reason
    attributes = {
        semconv.GEN_AI_RESPONSE_ID: response_id,
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: [finish_reason] if finish_reason else None,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: _number(usage, "prompt_tokens", "input_tokens"),
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: _number(usage, "completion_tokens", "output_tokens"),
    }
    return Facts(attributes, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]})


def result_facts(result: Any) -> Facts:
    """What a crew, flow or agent gave: an output with its raw text, or anything."""
    if result is None:
        return Facts({}, {})
    return Facts({}, {semconv.GEN_AI_OUTPUT_MESSAGES: [text_message(_text(getattr(result, "raw", result)), "assistant")]})


def _text(value: Any) -> str:
    return as_text(value.model_dump() if hasattr(value, "model_dump") else value)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _number(usage: Any, *names: str) -> int | None:
    return next((value for name in names if isinstance(value := _field(usage, name), int)), None)


def _parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments
