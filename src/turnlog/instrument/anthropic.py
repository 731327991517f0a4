"""The Anthropic SDK: every call form ends in one method per client, `(Sync|Async)APIClient._request` (`request` before 1.14).

Read here: messages, beta or not, whole, streamed, parsed or raw. Since 1.14 the SDK makes spans of its calls by itself,
unless it is told not to; where these come to turnlog they are the calls' spans.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.instrument.adopted import adopted
from turnlog.instrument.anthropic_messages import MessageStream, message_facts, request_content
from turnlog.instrument.anthropic_tools import record_tools
from turnlog.instrument.calls import Account, Call, Facts, Hook, Run, Start
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.native import start_native
from turnlog.instrument.stainless import follow, is_raw
from turnlog.semconv import GenAiOperation

_URL = "/v1/messages"
_PROVIDERS = {"Bedrock": "aws.bedrock", "Vertex": "gcp.vertex_ai"}
_REQUEST: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "temperature": (semconv.GEN_AI_REQUEST_TEMPERATURE, float),
    "top_p": (semconv.GEN_AI_REQUEST_TOP_P, float),
    "max_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    "stream": (semconv.GEN_AI_REQUEST_STREAM, bool),
}


def _start(call: Call) -> Start | None:
    native = adopted(getattr(call.kwargs.get("call"), "span", None))
    if native is not None:
        return Start("", adopted=native)
    names = [kind.__name__ for kind in type(call.instance).__mro__]
    provider = next((known for part, known in _PROVIDERS.items() if any(part in name for name in names)), "anthropic")
    start = _describe(call.argument(1, "options"), call.instance.base_url, provider)
    if start is not None and not hasattr(call.instance, "_request"):
        # Here the messages are the application's own objects, which it may change while the call runs.
        start.content[semconv.GEN_AI_INPUT_MESSAGES] = list(start.content[semconv.GEN_AI_INPUT_MESSAGES])
    return start


def _describe(options: Any, url: Any, provider: str) -> Start | None:
    """The model call that a request is, or None."""
    body = options.json_data
    if options.url.partition("?")[0] != _URL or options.method.lower() != "post" or not isinstance(body, dict):
        return None
    model = str(body.get("model", ""))
    attributes: dict[str, Any] = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.CHAT.value,
        semconv.GEN_AI_PROVIDER_NAME: provider,
        semconv.GEN_AI_REQUEST_MODEL: model,
        semconv.SERVER_ADDRESS: url.host,
        semconv.SERVER_PORT: url.port or (443 if url.scheme == "https" else 80),
    }
    for name, (key, cast) in _REQUEST.items():
        # The SDK's "not given" sentinels are objects: they must neither be cast nor become text.
        if isinstance(value := body.get(name), int | float):
            attributes[key] = cast(value)
    thread = body.get("thread")
    previous = thread.get("previous_message_id") if isinstance(thread, dict) else None
    if isinstance(previous, str):
        attributes[semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID] = previous
    return Start(f"{GenAiOperation.CHAT} {model}".rstrip(), attributes, request_content(body, bool(previous)), SpanKind.CLIENT)


def _end(call: Call, result: Any) -> Facts:
    return message_facts(result)


def _collect(call: Call) -> MessageStream:
    return MessageStream()


def _follow(run: Run, result: Any) -> bool:
    if is_raw(result) and result.http_response.is_closed and not run.call.kwargs.get("stream"):
        run.conclude(result.http_response.json())
        return True
    return follow(run, result)


def _adopt_calls(client: ModuleType, account: Account) -> Undo:
    if not hasattr(client, "start_api_call_span"):
        return lambda: None

    def describe(tracer: Any, url: Any, options: Any, attributes: Any, *rest: Any) -> Start | None:
        return _describe(options, url, "anthropic")

    def start(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        described: Start | None = account.ask("reading a request", describe, *args)
        if described is None:
            return wrapped(*args, **kwargs)
        tracer, url, options, attributes, *rest = args
        # With the SDK's own from the start, because where a span belongs is decided then.
        attributes = {**described.attributes, **attributes}
        return start_native(account, tracer, described, partial(wrapped, tracer, url, options, attributes, *rest, **kwargs))

    return patch(client, "start_api_call_span", start)


ANTHROPIC = Framework(
    "anthropic",
    title="Anthropic",
    requires="anthropic >= 0.84, < 3",
    records="messages; sync, async, streaming, raw and parsed forms; on the SDK's own spans where it makes them; "
    "its tool runner, since 1.14",
    scopes=(
        "openinference.instrumentation.anthropic",
        "opentelemetry.instrumentation.anthropic",
        "opentelemetry.instrumentation.genai.anthropic",
    ),
    own=("com.anthropic.sdk.python",),
    hooks=tuple(
        Hook(
            f"anthropic._base_client:{client}._request|request",
            GenAiOperation.CHAT,
            at_start=_start,
            at_end=_end,
            collect=_collect,
            follow=_follow,
        )
        for client in ("SyncAPIClient", "AsyncAPIClient")
    ),
    extensions=(
        Extension("anthropic._base_client", _adopt_calls),
        Extension("anthropic.lib.tools._beta_runner", record_tools),
    ),
)
