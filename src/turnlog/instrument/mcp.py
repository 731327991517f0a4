"""MCP: a call of a tool, resource or prompt is one commit, whoever of client and server is recorded, and however many spans
the SDK makes of it.

Inside a framework's own call of the same tool it is that call's hop, and no second commit. A client whose call is recorded
tells the server into which store, so that a server that writes to the same one leaves the call to it.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Span, SpanKind, get_current_span

from turnlog import semconv
from turnlog.instrument.adopted import Adopted, adopted
from turnlog.instrument.calls import Account, Call, Facts, Hook, Start, begin, running_tool
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.drivers import complete_async
from turnlog.operation import Operation, processors
from turnlog.semconv import GenAiOperation, Outcome
from turnlog.span_attributes import attributes_of

# As keys of `_meta` are to be named.
RECORDED = "dev.turnlog/recorded"
TOOL, RESOURCE, PROMPT = "tools/call", "resources/read", "prompts/get"
_READ, _PROMPTED = "read_resource", "get_prompt"
_TIMED_OUT = -32001
_APART = re.compile(r"[^a-z0-9]+")


def request(
    method: str, subject: str, arguments: Any, server: Any, kind: SpanKind, meta: Mapping[str, Any] | None = None
) -> Start | None:
    """The operation that a request is; None when it is recorded already, here or by the client that sent `meta`."""
    tool = {TOOL: subject, RESOURCE: _READ, PROMPT: _PROMPTED}[method]
    said = {semconv.MCP_METHOD_NAME: method, semconv.TOOL_SERVER: server if isinstance(server, str) and server else None}
    span = _native(method)
    # The same once more: the call goes on after the server's question was answered.
    again = adopted(span) if span is not None else None
    outer = running_tool() if again is None else None
    if outer is not None and _is_hop(outer, tool, subject if method == RESOURCE else ""):
        outer.set({key: value for key, value in said.items() if key not in _known(outer)})
        return None
    if meta and RECORDED in meta and not _stores().isdisjoint(str(meta[RECORDED]).split()):
        return None
    given = {TOOL: arguments or {}, RESOURCE: {"uri": subject}, PROMPT: {"name": subject, "arguments": arguments or {}}}
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
        semconv.GEN_AI_TOOL_NAME: tool,
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.MCP_RESOURCE_URI: subject if method == RESOURCE else None,
        **said,
    }
    attributes = {key: value for key, value in attributes.items() if value is not None}
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: given[method]}
    native = again or (Adopted.take(span, attributes, content) if span is not None else None)
    return Start(f"{GenAiOperation.EXECUTE_TOOL} {tool}", attributes, content, kind, native)


def answer(call: Call, result: Any) -> Facts:
    """What a result says, in the form that it has on the wire."""
    wire = result if isinstance(result, Mapping) else result.model_dump(by_alias=True)
    if wire.get("resultType") == "input_required" or type(result).__name__.startswith("InputRequired"):
        # The server asks something first; the call comes again with the answer.
        return Facts({}, {semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value})
    parts = wire.get("content") or wire.get("contents") or [each.get("content") for each in wire.get("messages") or ()]
    # A resource of FastMCP has its text in `content`.
    texts = [part.get("text", part.get("content")) for part in parts if isinstance(part, Mapping)]
    is_text = bool(parts) and len(texts) == len(parts) and all(isinstance(text, str) for text in texts)
    said = "\n".join(map(str, texts)) if is_text else wire.get("structuredContent") or wire.get("structured_content") or parts
    content = {semconv.GEN_AI_TOOL_CALL_RESULT: said, semconv.COMMIT_OUTCOME: ""}
    if not (wire.get("isError") or wire.get("is_error")):
        return Facts({}, content)
    return Facts({}, {**content, semconv.EXCEPTION_MESSAGE: said if is_text else ""}, "tool_error")


def failure(call: Call, error: BaseException) -> Facts | None:
    """A time limit is an error among others to the SDK. Also as content, because FastMCP's own spans say `MCPError`."""
    if getattr(error, "code", None) == _TIMED_OUT or isinstance(error.__cause__, TimeoutError):
        return Facts({}, {semconv.ERROR_TYPE: "timeout", semconv.EXCEPTION_MESSAGE: str(error)}, "timeout")
    return None


def _native(method: str) -> Span | None:
    """The span that the SDK or FastMCP has started for the request, when it is current."""
    span = get_current_span()
    if not isinstance(span, ReadableSpan) or span.instrumentation_scope is None:
        return None
    is_native = span.instrumentation_scope.name in _SCOPES and attributes_of(span).get(semconv.MCP_METHOD_NAME) == method
    return span if is_native and isinstance(span, Span) else None


def _is_hop(outer: Operation, tool: str, uri: str) -> bool:
    """Whether the enclosing tool call is this very call: frameworks put the server's name before the tool's."""
    known = _known(outer)
    if uri and known.get(semconv.MCP_RESOURCE_URI, uri) != uri:
        return False
    name, own = (_APART.sub("_", str(each).lower()) for each in (known.get(semconv.GEN_AI_TOOL_NAME, ""), tool))
    return name == own or name.endswith(f"_{own}")


def _known(operation: Operation) -> Mapping[str, Any]:
    return attributes_of(operation.span) if isinstance(operation.span, ReadableSpan) else {}


def _stores() -> set[str]:
    return {_fingerprint(store) for processor in list(processors) if (store := processor.store)}


@functools.lru_cache(8)
def _fingerprint(directory: str) -> str:
    """Tells a server that writes to the same store, and nobody else anything."""
    return hashlib.sha256(f"{platform.node()}:{Path(directory).absolute()}".encode()).hexdigest()[:32]


def _sent(method: str) -> Callable[[Call], Start | None]:
    subject = "uri" if method == RESOURCE else "name"

    def at_start(call: Call) -> Start | None:
        server = getattr(getattr(call.instance, "server_info", None), "name", None)
        arguments = None if method == RESOURCE else call.argument(1, "arguments")
        return request(method, str(call.argument(0, subject)), arguments, server, SpanKind.CLIENT)

    return at_start


def _served(call: Call) -> Start | None:
    context = call.args[0]
    params = context.params or {}
    if context.method not in (TOOL, RESOURCE, PROMPT) or context.request_id is None:
        return None
    subject = str(params.get("uri" if context.method == RESOURCE else "name", ""))
    return request(context.method, subject, params.get("arguments"), None, SpanKind.SERVER, context.meta)


_SERVED = Hook("mcp.server", GenAiOperation.EXECUTE_TOOL, at_start=_served, at_end=answer, at_error=failure)


def _serve(otel: ModuleType, account: Account) -> Undo:
    """Inside the server's own tracing, which every server has and FastMCP replaces."""

    async def handle(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        context, call_next, *rest = args

        async def call(context: Any) -> Any:
            frame = begin(_SERVED, account, Call(instance, (context,), {}))
            return await (call_next(context) if frame is None else complete_async(frame, call_next, context))

        return await wrapped(context, call, *rest, **kwargs)

    return patch(otel.OpenTelemetryMiddleware, "__call__", handle)


def _tell_server(dispatcher: ModuleType, account: Account) -> Undo:
    def tell(meta: dict[str, Any]) -> None:
        if running_tool() is not None and (stores := _stores()):
            meta[RECORDED] = " ".join(sorted(stores))

    def inject(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = wrapped(*args, **kwargs)
        account.ask("telling the server", tell, *args, *kwargs.values())
        return result

    return patch(dispatcher, "inject_trace_context", inject)


def _say_address(transport: ModuleType, account: Account) -> Undo:
    """The sender's context comes along to where the URL is known."""

    def say(url: str) -> None:
        if (tool := running_tool()) is not None:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            tool.set({semconv.SERVER_ADDRESS: parts.hostname, semconv.SERVER_PORT: port})

    def post(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        account.ask("reading the server's address", lambda: say(instance.url))
        return wrapped(*args, **kwargs)

    return patch(transport.StreamableHTTPTransport, "_handle_post_request", post)


_SCOPES = ("mcp-python-sdk", "fastmcp")

MCP = Framework(
    "mcp",
    title="MCP",
    requires="mcp >= 2.0, < 3",
    records="calls of tools, resources and prompts, by the client or else by the server; one commit for both sides",
    hooks=tuple(
        Hook(
            f"mcp.client.session:ClientSession.{name}",
            GenAiOperation.EXECUTE_TOOL,
            at_start=_sent(method),
            at_end=answer,
            at_error=failure,
        )
        for name, method in (("call_tool", TOOL), (_READ, RESOURCE), (_PROMPTED, PROMPT))
    ),
    extensions=(
        Extension("mcp.server._otel", _serve),
        Extension("mcp.shared.jsonrpc_dispatcher", _tell_server),
        Extension("mcp.client.streamable_http", _say_address),
    ),
    scopes=_SCOPES[:1],
)
