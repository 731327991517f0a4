"""The OpenAI SDK: every call form ends in one method per client, `(Sync|Async)APIClient.request`.

Read here: chat completions, responses, their compaction, and embeddings, whole, streamed or raw. Websockets do not pass
this way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.instrument.calls import Call, Facts, Hook, Start
from turnlog.instrument.core import Framework
from turnlog.instrument.openai_messages import (
    ChatStream,
    ResponseStream,
    chat_facts,
    chat_message,
    compaction_facts,
    item_message,
    response_facts,
)
from turnlog.instrument.stainless import follow
from turnlog.operation import Messages
from turnlog.semconv import GenAiOperation

_ROUTES = {
    "/chat/completions": GenAiOperation.CHAT,
    "/responses": GenAiOperation.CHAT,
    "/responses/compact": GenAiOperation.CHAT,
    "/embeddings": GenAiOperation.EMBEDDINGS,
}
_REQUEST: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "temperature": (semconv.GEN_AI_REQUEST_TEMPERATURE, float),
    "top_p": (semconv.GEN_AI_REQUEST_TOP_P, float),
    "max_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    "max_completion_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    "max_output_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    "n": (semconv.GEN_AI_REQUEST_CHOICE_COUNT, int),
    "seed": (semconv.GEN_AI_REQUEST_SEED, int),
    "stream": (semconv.GEN_AI_REQUEST_STREAM, bool),
    "previous_response_id": (semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID, str),
}


def _start(call: Call) -> Start | None:
    options = call.argument(1, "options")
    operation = _ROUTES.get(options.url)
    if operation is None or options.method.lower() != "post" or not isinstance(options.json_data, dict):
        return None
    body: dict[str, Any] = options.json_data
    model = str(body.get("model", ""))
    attributes: dict[str, Any] = {
        semconv.GEN_AI_OPERATION_NAME: operation.value,
        semconv.GEN_AI_PROVIDER_NAME: "azure.ai.openai" if _is_azure(type(call.instance).__mro__) else "openai",
        semconv.GEN_AI_REQUEST_MODEL: model,
    }
    for name, value in body.items():
        # The SDK's "not given" sentinels are objects: they must neither be cast nor become text.
        if name in _REQUEST and isinstance(value, (str, int, float)):
            key, cast = _REQUEST[name]
            attributes[key] = cast(value)
    conversation = body.get("conversation")
    conversation = conversation.get("id") if isinstance(conversation, dict) else conversation
    if isinstance(conversation, str):
        attributes[semconv.GEN_AI_CONVERSATION_ID] = conversation
    if options.url == "/responses/compact":
        attributes[semconv.GEN_AI_CONVERSATION_COMPACTED] = True
    url = call.instance.base_url
    attributes[semconv.SERVER_ADDRESS] = url.host
    attributes[semconv.SERVER_PORT] = url.port or (443 if url.scheme == "https" else 80)
    return Start(f"{operation} {model}".rstrip(), attributes, _content(options.url, body), SpanKind.CLIENT)


@functools.cache
def _is_azure(kinds: tuple[type, ...]) -> bool:
    return any("Azure" in kind.__name__ for kind in kinds)


def _content(url: str, body: dict[str, Any]) -> dict[str, Any]:
    if url == "/chat/completions":
        return {semconv.GEN_AI_INPUT_MESSAGES: Messages(body.get("messages") or [], chat_message)}
    content: dict[str, Any] = {}
    if url.startswith("/responses"):
        given = body.get("input") or []
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        follows = isinstance(body.get("previous_response_id"), str) or isinstance(body.get("conversation"), str | dict)
        content[semconv.GEN_AI_INPUT_MESSAGES] = Messages(items, item_message, follows=follows)
        if isinstance(instructions := body.get("instructions"), str):
            content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = [{"type": "text", "content": instructions}]
    return content


def _end(call: Call, result: Any) -> Facts:
    if hasattr(result, "choices"):
        return chat_facts(result)
    if getattr(result, "object", "") == "response.compaction":
        return compaction_facts(result)
    return response_facts(result) if hasattr(result, "output") else _embeddings(result)


def _embeddings(result: Any) -> Facts:
    attributes = {
        semconv.GEN_AI_RESPONSE_MODEL: getattr(result, "model", None),
        semconv.GEN_AI_USAGE_INPUT_TOKENS: getattr(getattr(result, "usage", None), "prompt_tokens", None),
    }
    return Facts(attributes, {})


def _collect(call: Call) -> ChatStream | ResponseStream:
    return ChatStream() if call.argument(1, "options").url == "/chat/completions" else ResponseStream()


OPENAI = Framework(
    "openai",
    title="OpenAI",
    requires="openai >= 2.26, < 4",
    records="chat completions, responses and their compaction; sync, async, streaming, raw and parsed forms",
    scopes=(
        "openinference.instrumentation.openai",
        "opentelemetry.instrumentation.openai.v1",
        "opentelemetry.instrumentation.genai.openai",
    ),
    hooks=tuple(
        Hook(
            f"openai._base_client:{client}.request",
            GenAiOperation.CHAT,
            at_start=_start,
            at_end=_end,
            collect=_collect,
            follow=follow,
        )
        for client in ("SyncAPIClient", "AsyncAPIClient")
    ),
)
