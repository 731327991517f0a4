"""LangChain's messages and results in the GenAI form. Read by their shape: nothing of LangChain is imported here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from turnlog import semconv
from turnlog.instrument.calls import Facts
from turnlog.operation import Messages

Part = dict[str, Any]

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "developer": "system",
    "function": "tool",
}
_CALL_BLOCKS = {"tool_call", "tool_call_chunk", "tool_use", "function_call", "input_json_delta"}


def message(raw: Any) -> Mapping[str, Any]:
    """A message object, or what LangChain takes for one: a text, a (role, content) pair, a mapping."""
    if isinstance(raw, str):
        return _message("user", raw, ())
    if isinstance(raw, Mapping):
        role = raw.get("role") or raw.get("type") or "user"
        return _message(role, raw.get("content"), raw.get("tool_calls") or (), raw.get("tool_call_id"))
    if isinstance(raw, tuple):
        return _message(raw[0], raw[1], ())
    # Asked for a field that it does not have, a pydantic object takes 3 µs to say so.
    fields = vars(raw)
    extra = fields.get("additional_kwargs") or {}
    calls = fields.get("tool_calls") or ()
    call_id = fields.get("tool_call_id")
    failed = fields.get("status") == "error"
    return _message(raw.type, raw.content, calls, call_id, extra.get("reasoning_content") or "", failed=failed)


def mark(raw: Any) -> Any:
    """What tells a message from another: comparing the objects themselves takes pydantic 3 µs each. Content that can be
    edited in place is told by its text."""
    fields = getattr(raw, "__dict__", None)
    if not fields:
        return raw
    content = fields["content"]
    return fields["type"], content if isinstance(content, str) else str(content), fields.get("id"), fields.get("tool_calls")


def agent_input(inputs: Any) -> Sequence[Mapping[str, Any]]:
    """What an agent run was given: messages, or anything else as one user message."""
    if inputs is None:
        return []
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else None
    if isinstance(messages, list):
        return Messages(messages, message, mark=mark)
    if hasattr(inputs, "resume"):
        inputs = inputs.resume
    return [message(messages if messages is not None else _as_text(inputs))]


def agent_facts(outputs: Any) -> Facts:
    """A graph's output is its whole state; the answer is the last message in it."""
    messages = outputs.get("messages") if isinstance(outputs, Mapping) else outputs
    if isinstance(messages, list) and messages and hasattr(messages[-1], "content"):
        messages = messages[-1]
    answer = message(messages) if hasattr(messages, "content") else _message("ai", _as_text(outputs), ())
    return Facts({}, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]})


def chat_facts(response: Any, *, by_call: bool = False) -> Facts | None:
    """What a model answered; `by_call`: each call in it is no tool's but a form of the answer."""
    generations = [choice for choices in getattr(response, "generations", None) or () for choice in choices]
    answers = [choice.message for choice in generations if hasattr(choice, "message")]
    if not answers:
        return None
    first, metadata = answers[0], answers[0].response_metadata or {}
    reasons = [reason for answer in answers if (reason := _finish_reason(answer))]
    usage = getattr(first, "usage_metadata", None) or {}
    read, written = usage.get("input_token_details") or {}, usage.get("output_token_details") or {}
    attributes = {
        semconv.GEN_AI_RESPONSE_ID: metadata.get("id"),
        semconv.GEN_AI_RESPONSE_MODEL: metadata.get("model_name") or metadata.get("model"),
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: tuple(reasons) or None,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: usage.get("input_tokens"),
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: usage.get("output_tokens"),
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: read.get("cache_read"),
        semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: read.get("cache_creation"),
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: written.get("reasoning"),
    }
    return Facts(attributes, {semconv.GEN_AI_OUTPUT_MESSAGES: [_answer(answer, by_call) for answer in answers]})


def tool_facts(output: Any) -> Facts:
    if getattr(output, "type", None) != "tool":
        # A tool may answer by a Command that updates the graph's state.
        update = getattr(output, "update", None)
        if not isinstance(update, Mapping):
            return Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: output})
        results = [each for each in update.get("messages") or () if getattr(each, "type", "") == "tool"]
        if not results:
            return Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: dict(update)})
        output = results[-1]
    content = {semconv.GEN_AI_TOOL_CALL_RESULT: output.content}
    if output.status != "error":
        return Facts({}, content)
    return Facts({}, {**content, semconv.EXCEPTION_MESSAGE: _as_text(output.content)}, error="tool_error")


def _answer(raw: Any, by_call: bool) -> dict[str, Any]:
    answer = dict(message(raw))
    if by_call:
        answer["parts"] = [{**part, "is_answer": True} if part["type"] == "tool_call" else part for part in answer["parts"]]
    return {**answer, "finish_reason": reason} if (reason := _finish_reason(raw)) else answer


def _finish_reason(raw: Any) -> str | None:
    metadata = raw.response_metadata or {}
    reason = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("status")
    return str(reason) if reason else None


def _message(
    role: str,
    content: Any,
    calls: Sequence[Mapping[str, Any]],
    call_id: str | None = None,
    reasoning: str | None = None,
    *,
    failed: bool = False,
) -> dict[str, Any]:
    role = _ROLES.get(role, role)
    if role == "tool":
        result: Part = {"type": "tool_call_response", "id": call_id, "response": content}
        return {"role": role, "parts": [{**result, "is_error": True} if failed else result]}
    parts: list[Part] = [{"type": "reasoning", "content": reasoning}] if reasoning else []
    for block in [content] if isinstance(content, str) else content or ():
        parts += _parts(block)
    for call in calls:
        parts.append({"type": "tool_call", "id": call.get("id"), "name": call.get("name"), "arguments": call.get("args")})
    return {"role": role, "parts": parts}


def _parts(block: Any) -> list[Part]:
    if isinstance(block, str):
        return [{"type": "text", "content": block}] if block else []
    kind = block.get("type")
    # A message lists its tool calls beside its content; the blocks repeat them.
    if kind in _CALL_BLOCKS:
        return []
    if kind == "text":
        return _parts(block.get("text"))
    if kind in {"reasoning", "thinking"}:
        summary = "\n".join(part.get("text", "") for part in block.get("summary") or ())
        text = block.get("reasoning") or block.get("thinking") or summary
        return [{"type": "reasoning", "content": text}] if text else []
    return [dict(block)]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
