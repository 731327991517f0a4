"""OpenAI's messages, items and stream events in the GenAI form. Requests are plain JSON, answers the SDK's models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.instrument.calls import Facts

Part = dict[str, Any]

_ROLES = {"developer": "system", "function": "tool"}
# Tools that the model knows by itself and that the application runs: what each is called, and where its arguments are.
_LOCAL_CALLS = {
    "shell_call": ("shell", "action"),
    "local_shell_call": ("local_shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", "action"),
}


def chat_message(raw: Any) -> Mapping[str, Any]:
    role = _ROLES.get(raw["role"], raw["role"])
    if role == "tool":
        return _tool_result(raw.get("tool_call_id") or raw.get("name"), raw.get("content"))
    parts = _content_parts(raw.get("content"))
    for call in raw.get("tool_calls") or ():
        called = call.get("function") or call.get("custom") or {}
        parts.append(_call(call.get("id"), called.get("name"), called.get("arguments", called.get("input"))))
    return {"role": role, "parts": parts}


def _plain(item: Any) -> Mapping[str, Any]:
    # What `parse` has put into an item is not what its class says, of which older SDKs warn.
    found: Mapping[str, Any] = item if isinstance(item, Mapping) else item.model_dump(exclude_none=True, warnings=False)
    return found


def item_message(raw: Any) -> Mapping[str, Any]:
    """An input item of the responses API: a message, a tool call or its output, or one of the many others."""
    raw = _plain(raw)
    kind = raw.get("type", "message")
    if kind.endswith("_call_output"):
        return _tool_result(raw.get("call_id"), raw.get("output"))
    role = raw["role"] if kind == "message" else "assistant"
    return {"role": _ROLES.get(role, role), "parts": _item_parts(raw)}


def chat_facts(completion: Any) -> Facts:
    messages = []
    for choice in completion.choices:
        message = choice.message
        parts = _text_parts(message.content or message.refusal, (message.model_extra or {}).get("reasoning_content"))
        for call in message.tool_calls or ():
            called = getattr(call, "function", None) or call.custom
            parts.append(_call(call.id, called.name, getattr(called, "arguments", None) or getattr(called, "input", "")))
        messages.append(_answer(parts, choice.finish_reason))
    return _facts(completion.id, completion.model, _chat_usage(completion.usage), messages)


def items_facts(items: Any, response_id: str | None, usage: Any) -> Facts:
    """A response of which only this much is known."""
    return _facts(response_id, None, _response_usage(usage), [_answer(_output_parts(items), None)])


def compaction_facts(response: Any) -> Facts:
    """Of what it gives back only the compaction is new: it repeats what users said."""
    return items_facts([item for item in response.output if item.type == "compaction"], response.id, response.usage)


def response_facts(response: Any) -> Facts:
    parts = _output_parts(response.output)
    reason = getattr(response.incomplete_details, "reason", None) or response.status
    facts = _facts(response.id, response.model, _response_usage(response.usage), [_answer(parts, reason)])
    if response.error is None:
        return facts
    content = {**facts.content, semconv.EXCEPTION_MESSAGE: response.error.message}
    return Facts(facts.attributes, content, str(response.error.code))


def _output_parts(items: Any) -> list[Part]:
    return [part for item in items for part in _item_parts(_plain(item))]


class ChatStream:
    """Chunks of a chat completion, added up per choice."""

    def __init__(self) -> None:
        self._id = self._model = ""
        self._usage: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}

    def add(self, chunk: Any) -> None:
        self._id, self._model = chunk.id or self._id, chunk.model or self._model
        if chunk.usage is not None:
            self._usage = _chat_usage(chunk.usage)
        for choice in chunk.choices:
            self._choices.setdefault(choice.index, _Choice()).add(choice)

    def facts(self) -> Facts:
        messages = [choice.answer() for _, choice in sorted(self._choices.items())]
        return _facts(self._id, self._model, self._usage, messages)


class _Choice:
    __slots__ = ("_calls", "_finish_reason", "_reasoning", "_text")

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish_reason = ""

    def add(self, choice: Any) -> None:
        delta = choice.delta
        self._finish_reason = choice.finish_reason or self._finish_reason
        self._text.append(delta.content or delta.refusal or "")
        self._reasoning.append((delta.model_extra or {}).get("reasoning_content") or "")
        for piece in delta.tool_calls or ():
            call = self._calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
            call["id"] = piece.id or call["id"]
            if piece.function is not None:
                call["name"] += piece.function.name or ""
                call["arguments"] += piece.function.arguments or ""

    def answer(self) -> dict[str, Any]:
        parts = _text_parts("".join(self._text), "".join(self._reasoning))
        parts += [_call(call["id"], call["name"], call["arguments"]) for _, call in sorted(self._calls.items())]
        return _answer(parts, self._finish_reason)


class ResponseStream:
    """Events of a response. The last one holds everything; until it comes: finished items and the open one's text."""

    def __init__(self) -> None:
        self._started: Any = None
        self._ended: Any = None
        self._parts: list[Part] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []

    def add(self, event: Any) -> None:
        match event.type:
            case "response.created":
                self._started = event.response
            case "response.output_text.delta" | "response.refusal.delta":
                self._text.append(event.delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._reasoning.append(event.delta)
            case "response.output_item.done":
                self._parts += _item_parts(_plain(event.item))
                self._text.clear()
                self._reasoning.clear()
            case "response.completed" | "response.incomplete" | "response.failed":
                self._ended = event.response

    def facts(self) -> Facts:
        # Some servers send items, and then a last event that has none.
        if self._ended is not None and (self._ended.output or not self._parts):
            return response_facts(self._ended)
        parts = [*self._parts, *_text_parts("".join(self._text), "".join(self._reasoning))]
        known = self._ended or self._started
        usage = _response_usage(getattr(known, "usage", None))
        reason = getattr(self._ended, "status", None)
        return _facts(getattr(known, "id", None), getattr(known, "model", None), usage, [_answer(parts, reason)])


def _facts(response_id: str | None, model: str | None, usage: dict[str, Any], messages: list[dict[str, Any]]) -> Facts:
    compacted = any(part["type"] == "compaction" for message in messages for part in message["parts"])
    attributes = {
        semconv.GEN_AI_RESPONSE_ID: response_id or None,
        semconv.GEN_AI_RESPONSE_MODEL: model or None,
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: tuple([m["finish_reason"] for m in messages if "finish_reason" in m]) or None,
        semconv.GEN_AI_CONVERSATION_COMPACTED: compacted or None,
        **usage,
    }
    return Facts(attributes, {semconv.GEN_AI_OUTPUT_MESSAGES: messages})


def _chat_usage(usage: Any) -> dict[str, Any]:
    if usage is None:
        return {}
    return {
        semconv.GEN_AI_USAGE_INPUT_TOKENS: usage.prompt_tokens,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: usage.completion_tokens,
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: getattr(usage.prompt_tokens_details, "cached_tokens", None),
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: getattr(usage.completion_tokens_details, "reasoning_tokens", None),
    }


def _response_usage(usage: Any) -> dict[str, Any]:
    if usage is None:
        return {}
    return {
        semconv.GEN_AI_USAGE_INPUT_TOKENS: usage.input_tokens,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: usage.output_tokens,
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: getattr(usage.input_tokens_details, "cached_tokens", None),
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: getattr(usage.output_tokens_details, "reasoning_tokens", None),
    }


def _answer(parts: list[Part], finish_reason: str | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"role": "assistant", "parts": parts}
    return {**answer, "finish_reason": finish_reason} if finish_reason else answer


def _tool_result(call_id: str | None, content: Any) -> dict[str, Any]:
    texts = [part["content"] for part in _content_parts(content) if part["type"] == "text"]
    response = "".join(texts) if texts else content
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


def _text_parts(text: str | None, reasoning: str | None) -> list[Part]:
    parts = [{"type": "reasoning", "content": reasoning}] if reasoning else []
    return [*parts, {"type": "text", "content": text}] if text else parts


def _content_parts(content: Any) -> list[Part]:
    if isinstance(content, str) or content is None:
        return _text_parts(content, None)
    return [_content_part(part) for part in content]


def _content_part(part: Mapping[str, Any]) -> Part:
    text = part.get("text", part.get("refusal"))
    # Images and files stay as they are: the GenAI form has more kinds of them than this needs.
    return {"type": "text", "content": text} if isinstance(text, str) else dict(part)


def _item_parts(item: Mapping[str, Any]) -> list[Part]:
    match item.get("type", "message"):
        case "message":
            return _content_parts(item.get("content"))
        case "reasoning":
            texts = [part["text"] for part in (*item.get("summary", ()), *(item.get("content") or ()))]
            return _text_parts(None, "\n".join(texts))
        case "function_call" | "custom_tool_call":
            return [_call(item.get("call_id"), item.get("name"), item.get("arguments", item.get("input")))]
        case "compaction":
            # Without its id, which does not have to be sent back.
            return [{"type": "compaction", "content": item.get("encrypted_content")}]
        case kind if kind in _LOCAL_CALLS:
            name, arguments = _LOCAL_CALLS[kind]
            return [_call(item.get("call_id"), name, item.get(arguments, item.get("actions")))]
        case _:
            return [dict(item)]


def _call(call_id: str | None, name: str | None, arguments: Any) -> Part:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": _parsed(arguments)}


def _parsed(arguments: Any) -> Any:
    """Arguments as the tool will get them; a model may also have written something that is no JSON."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments
