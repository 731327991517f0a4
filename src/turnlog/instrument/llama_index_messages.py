"""LlamaIndex's messages and answers in the GenAI form. Read by their shape: nothing of LlamaIndex is imported here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.calls import Facts

Part = dict[str, Any]

_ROLES = {"developer": "system", "function": "tool", "chatbot": "assistant", "model": "assistant"}


def message(raw: Any) -> Mapping[str, Any]:
    """A ChatMessage, or the text that stands for the user's."""
    if isinstance(raw, str):
        return {"role": "user", "parts": [{"type": "text", "content": raw}]}
    fields = vars(raw)
    role = str(getattr(fields["role"], "value", fields["role"]))
    role = _ROLES.get(role, role)
    parts = [part for block in fields["blocks"] if (part := _part(block)) is not None]
    extra = fields.get("additional_kwargs") or {}
    if role == "tool":
        texts = [part["content"] for part in parts if part["type"] == "text"]
        response = "\n".join(texts) if len(texts) == len(parts) else parts
        return {"role": role, "parts": [{"type": "tool_call_response", "id": extra.get("tool_call_id"), "response": response}]}
    if not any(part["type"] == "tool_call" for part in parts):
        parts += [_call(call) for call in extra.get("tool_calls") or ()]
    return {"role": role, "parts": parts}


def mark(raw: Any) -> Any:
    """What tells a message from another: memories give new objects each time, and comparing those is slow."""
    if isinstance(raw, str):
        return raw
    fields = vars(raw)
    blocks = [vars(block).get("text") or str(vars(block)) for block in fields["blocks"]]
    extra = fields.get("additional_kwargs") or {}
    return str(fields["role"]), blocks, str(extra.get("tool_call_id") or extra.get("tool_calls") or "")


def answer_facts(response: Any) -> Facts:
    """A ChatResponse or CompletionResponse; of a stream the last one, which holds all that was said."""
    if response is None:
        return Facts({}, {})
    raw, extra = getattr(response, "raw", None), getattr(response, "additional_kwargs", None) or {}
    said = getattr(response, "message", None)
    answer = dict(message(said)) if said is not None else {"role": "assistant", "parts": _texts(response.text)}
    choices = _field(raw, "choices")
    reason = _field(choices[0] if choices else raw, "finish_reason") or _field(raw, "stop_reason")
    if reason:
        answer["finish_reason"] = str(reason)
    usage = _field(raw, "usage") or extra
    attributes = {
        semconv.GEN_AI_RESPONSE_ID: _text(_field(raw, "id")),
        semconv.GEN_AI_RESPONSE_MODEL: _text(_field(raw, "model")),
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: [str(reason)] if reason else None,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: _number(usage, "prompt_tokens", "input_tokens"),
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: _number(usage, "completion_tokens", "output_tokens"),
    }
    return Facts(attributes, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]})


class Answers:
    """The answers that a stream gives, each with all that was said so far."""

    def __init__(self) -> None:
        self._last: Any = None

    def add(self, response: Any) -> None:
        self._last = response

    def facts(self) -> Facts:
        return answer_facts(self._last)


def result_facts(result: Any) -> Facts:
    """What a run stopped with: an agent's output, or anything."""
    response = getattr(result, "response", result)
    if response is None:
        return Facts({}, {})
    said = message(response) if hasattr(response, "blocks") else {"role": "assistant", "parts": _texts(as_text(response))}
    return Facts({}, {semconv.GEN_AI_OUTPUT_MESSAGES: [said]})


def _part(block: Any) -> Part | None:
    fields = vars(block)
    match fields.get("block_type"):
        case "text":
            return {"type": "text", "content": fields["text"]} if fields["text"] else None
        case "thinking":
            return {"type": "reasoning", "content": fields["content"]} if fields.get("content") else None
        case "tool_call":
            arguments = _parsed(fields.get("tool_kwargs"))
            return {"type": "tool_call", "id": fields.get("tool_call_id"), "name": fields["tool_name"], "arguments": arguments}
        case kind:
            # The bytes of an image or document are no part of what was said.
            return {"type": str(kind), **{key: value for key, value in fields.items() if isinstance(value, str)}}


def _call(call: Any) -> Part:
    """A call as the provider's SDK has it, which older integrations keep beside the blocks."""
    called = _field(call, "function") or call
    arguments = _parsed(_field(called, "arguments") or _field(called, "input"))
    return {"type": "tool_call", "id": _field(call, "id"), "name": _field(called, "name"), "arguments": arguments}


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _number(usage: Any, *names: str) -> int | None:
    return next((value for name in names if isinstance(value := _field(usage, name), int)), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _texts(text: str) -> list[Part]:
    return [{"type": "text", "content": text}] if text else []


def _parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments
