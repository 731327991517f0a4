"""A scripted reply as Anthropic's messages API sends it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from turnlog.demo.reply import Reply, pieces

Json = dict[str, Any]

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def error(message: str, status: int) -> Json:
    return {"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}}


def message(reply: Reply, number: int, body: Json) -> Json:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": _blocks(reply),
        "stop_reason": "tool_use" if reply.tool_calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            # This API counts what comes from the cache, or goes into it, apart.
            "input_tokens": reply.input_tokens - reply.cached_tokens - reply.cache_write_tokens,
            "cache_read_input_tokens": reply.cached_tokens,
            "cache_creation_input_tokens": reply.cache_write_tokens,
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"thinking_tokens": reply.reasoning_tokens},
        },
    }


def message_events(reply: Reply, number: int, body: Json) -> list[Json | str]:
    whole = message(reply, number, body)
    usage = whole["usage"]
    started = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[Json | str] = [{"type": "message_start", "message": started}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        events += _block_events(index, block)
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": stop, "usage": usage}, {"type": "message_stop"}]


def _blocks(reply: Reply) -> list[Json]:
    blocks: list[Json] = []
    if reply.reasoning:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": "scripted"})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text, "citations": None})
    for call in reply.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)})
    return blocks


def _block_events(index: int, block: Json) -> Iterator[Json]:
    field, delta, text = {
        "thinking": ("thinking", "thinking_delta", block.get("thinking")),
        "text": ("text", "text_delta", block.get("text")),
        "tool_use": ("partial_json", "input_json_delta", json.dumps(block.get("input"))),
    }[block["type"]]
    empty: Json = {"input": {}} if block["type"] == "tool_use" else {field: ""}
    yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
    for piece in pieces(text or ""):
        yield {"type": "content_block_delta", "index": index, "delta": {"type": delta, field: piece}}
    yield {"type": "content_block_stop", "index": index}
