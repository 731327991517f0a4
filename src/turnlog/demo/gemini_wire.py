"""A scripted reply as Gemini's generateContent sends it, whole or streamed."""

from __future__ import annotations

from typing import Any

from turnlog.demo.reply import Reply, pieces

Json = dict[str, Any]

_ERRORS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


def error(message: str, status: int) -> Json:
    return {"error": {"code": status, "message": message, "status": _ERRORS.get(status, "INTERNAL")}}


def content(reply: Reply, number: int, body: Json) -> Json:
    return _response(number, _parts(reply), "STOP", usageMetadata=_usage(reply))


def content_events(reply: Reply, number: int, body: Json) -> list[Json | str]:
    """Text comes in pieces, a call whole."""
    split = [
        {**part, "text": piece} if piece else part for part in _parts(reply) for piece in pieces(part.get("text", "")) or [""]
    ]
    return [*(_response(number, [part]) for part in split), _response(number, [], "STOP", usageMetadata=_usage(reply))]


def _parts(reply: Reply) -> list[Json]:
    parts: list[Json] = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
    if reply.text:
        parts.append({"text": reply.text})
    for call in reply.tool_calls:
        parts.append({"functionCall": {"id": call.id, "name": call.name, "args": dict(call.arguments)}})
    return parts


def _response(number: int, parts: list[Json], finish_reason: str | None = None, **more: Json) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish_reason:
        candidate["finishReason"] = finish_reason
    return {"responseId": f"gemini_{number}", "modelVersion": "scripted", "candidates": [candidate], **more}


def _usage(reply: Reply) -> Json:
    return {
        "promptTokenCount": reply.input_tokens,
        "cachedContentTokenCount": reply.cached_tokens,
        # This API counts thoughts apart from the answer.
        "candidatesTokenCount": reply.output_tokens - reply.reasoning_tokens,
        "thoughtsTokenCount": reply.reasoning_tokens,
        "totalTokenCount": reply.input_tokens + reply.output_tokens,
    }
