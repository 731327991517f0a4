"""Messages as spans carry them, in the GenAI form: GenAI's own, those of the models' APIs, and LangChain's dumps.

Equal messages give equal values, as our own instrumentations make them: a hash tells whether two are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog.content import as_text
from turnlog.vocabulary.words import parsed

Message = dict[str, Any]
Part = dict[str, Any]

_ROLES = {
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "developer": "system",
    "function": "tool",
    "human": "user",
    "model": "assistant",
}
_TEXTS = {"text", "input_text", "output_text"}
_THOUGHTS = {"thinking", "reasoning"}
# What LangChain's messages list beside their content, too.
_CALL_BLOCKS = {"tool_call", "tool_call_chunk", "tool_use", "function_call", "input_json_delta"}


def messages(value: Any) -> list[Message]:
    """All messages of a list, of its JSON text, or of the one list in a list that LangChain makes of a batch; a text is one."""
    found = parsed(value)
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], list) and not _is_pair(found[0]):
        found = found[0]
    if isinstance(found, list):
        return [message(each) for each in found]
    return [message(value)] if isinstance(value, str) and value else []


def message(raw: Any, role: str = "user") -> Message:
    """One message, whatever its form; what is none is what somebody in `role` said."""
    if _is_pair(raw):
        raw = {"role": raw[0], "content": raw[1]}
    if not isinstance(raw, Mapping):
        return {"role": role, "parts": _text(raw if isinstance(raw, str) else as_text(raw))}
    fields = _unwrapped(raw)
    said = str(fields.get("role") or fields.get("type") or role)
    said = _ROLES.get(said, said)
    if isinstance(fields.get("parts"), list):
        parts = [part for each in fields["parts"] for part in _known_part(each)]
    elif said == "tool":
        parts = [_result(fields.get("tool_call_id") or fields.get("id"), _response(fields.get("content")), _failed(fields))]
    else:
        parts = _said_parts(fields)
    if parts and all(part.get("type") == "tool_call_response" for part in parts):
        said = "tool"
    found: Message = {"role": said, "parts": parts}
    reason = fields.get("finish_reason")
    return {**found, "finish_reason": str(reason)} if reason else found


def instructions(value: Any) -> list[Part]:
    """A system prompt: a text, or parts."""
    found = parsed(value)
    return [part for each in found for part in _known_part(each)] if isinstance(found, list) else _text(value)


def is_langchain(value: Any) -> bool:
    """Whether a value is a message that LangChain has dumped: `{"type": …, "data": {…}}` or `{"lc": 1, "kwargs": {…}}`."""
    return isinstance(value, Mapping) and (
        isinstance(value.get("data"), Mapping) or (value.get("lc") == 1 and isinstance(value.get("kwargs"), Mapping))
    )


def tool_message(value: Any) -> Mapping[str, Any] | None:
    """The fields of LangChain's message with a tool's result, if a value is one."""
    fields = _unwrapped(value) if is_langchain(value) else {}
    return fields if fields.get("type") == "tool" else None


def _unwrapped(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    if not is_langchain(raw):
        return raw
    data = raw.get("data")
    inner: Mapping[str, Any] = data if isinstance(data, Mapping) else raw["kwargs"]
    return {"type": raw.get("type"), **inner}


def _is_pair(raw: Any) -> bool:
    """What LangChain takes for a message, too: a role and a text."""
    return isinstance(raw, list | tuple) and len(raw) == 2 and isinstance(raw[0], str) and isinstance(raw[1], str)


def _said_parts(fields: Mapping[str, Any]) -> list[Part]:
    extra = fields.get("additional_kwargs")
    thought = fields.get("reasoning_content") or (extra.get("reasoning_content") if isinstance(extra, Mapping) else None)
    calls = parsed(fields.get("tool_calls"))
    listed = [_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    parts = [{"type": "reasoning", "content": thought}] if isinstance(thought, str) and thought else []
    content = _blocks(fields.get("content"))
    for block in content if isinstance(content, list) else [content]:
        is_call = isinstance(block, Mapping) and str(block.get("type")) in _CALL_BLOCKS
        parts += [] if listed and is_call else _part(block)
    return [*parts, *listed]


def _blocks(content: Any) -> Any:
    """Blocks that were put into one attribute are JSON text; what a user wrote may look like it."""
    found = parsed(content) if isinstance(content, str) and content.startswith("[{") else content
    if isinstance(found, list) and all(
        isinstance(block, str) or (isinstance(block, Mapping) and "type" in block) for block in found
    ):
        return found
    return content


def _part(block: Any) -> list[Part]:
    if not isinstance(block, Mapping):
        return _text(block)
    kind = str(block.get("type"))
    if kind in _TEXTS:
        return _text(block.get("text", block.get("content")))
    if kind in _THOUGHTS:
        thought = block.get("thinking") or block.get("reasoning") or block.get("content") or block.get("text")
        return [{"type": "reasoning", "content": thought}] if thought else []
    if kind in _CALL_BLOCKS:
        return [_call(block)]
    if kind == "tool_result":
        return [_result(block.get("tool_use_id"), _response(block.get("content")), bool(block.get("is_error")))]
    return [dict(block)]


def _known_part(raw: Any) -> list[Part]:
    """A part in the GenAI form, without what an emitter adds to it and without what is empty."""
    if not isinstance(raw, Mapping):
        return _text(raw)
    kind = str(raw.get("type") or "text")
    if kind == "tool_call_response":
        return [_result(raw.get("id"), raw.get("response", raw.get("result")), bool(raw.get("is_error")))]
    if kind == "tool_call":
        return [_call(raw)]
    if kind in {"text", "reasoning"}:
        content = raw.get("content", raw.get("text"))
        return [{"type": kind, "content": content}] if content else []
    return [{key: value for key, value in raw.items() if value is not None}]


def _call(call: Mapping[str, Any]) -> Part:
    function = call.get("function")
    called = function if isinstance(function, Mapping) else call
    arguments = next((called[key] for key in ("arguments", "args", "input") if called.get(key) is not None), None)
    return {
        "type": "tool_call",
        "id": call.get("id") or call.get("call_id"),
        "name": called.get("name"),
        "arguments": parsed(arguments),
    }


def _result(call_id: Any, response: Any, failed: bool) -> Part:
    found: Part = {"type": "tool_call_response", "id": call_id, "response": response}
    return {**found, "is_error": True} if failed else found


def _failed(fields: Mapping[str, Any]) -> bool:
    return fields.get("status") == "error" or bool(fields.get("is_error"))


def _response(content: Any) -> Any:
    """A tool's result: texts as one text, anything else as it is."""
    blocks = _blocks(content)
    if (
        isinstance(blocks, list)
        and blocks
        and all(isinstance(block, Mapping) and str(block.get("type")) in _TEXTS for block in blocks)
    ):
        return "".join(str(block.get("text", block.get("content", ""))) for block in blocks)
    return content


def _text(content: Any) -> list[Part]:
    return [{"type": "text", "content": content}] if isinstance(content, str) and content else []


def last(found: Sequence[Message]) -> list[Message]:
    """The answer in a list that holds everything that was said."""
    return list(found[-1:])


def joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pieces of one text as one part."""
    whole: list[dict[str, Any]] = []
    for part in parts:
        if whole and part["type"] in ("text", "reasoning") and whole[-1]["type"] == part["type"]:
            whole[-1] = {**part, "content": whole[-1]["content"] + part["content"]}
        else:
            whole.append(part)
    return whole
