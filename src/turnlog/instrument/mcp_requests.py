"""What an MCP request stands for: which operation, whether it is recorded already, what its answer or failure says."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from opentelemetry import context as otel
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Span, SpanKind, get_current_span

from turnlog import semconv
from turnlog.instrument.adopted import Adopted, adopted
from turnlog.instrument.calls import Call, Facts, Start, running_tool
from turnlog.operation import Operation, processors
from turnlog.semconv import GenAiOperation, Outcome
from turnlog.span_attributes import attributes_of

# As keys of `_meta` are to be named.
RECORDED = "dev.turnlog/recorded"
TOOL, RESOURCE, PROMPT = "tools/call", "resources/read", "prompts/get"
READ, PROMPTED = "read_resource", "get_prompt"
_TIMED_OUT = -32001
_MOST_CAUSES = 16
SCOPES = ("mcp-python-sdk", "fastmcp")
# Where their spans say what is asked for.
_SUBJECTS = {TOOL: semconv.GEN_AI_TOOL_NAME, RESOURCE: semconv.MCP_RESOURCE_URI, PROMPT: semconv.GEN_AI_PROMPT_NAME}
_PASSED_ON = otel.create_key("turnlog-mcp-passed-on")
_APART = re.compile(r"[^a-z0-9]+")


def request(
    method: str,
    subject: str,
    arguments: Any,
    server: Any,
    kind: SpanKind,
    meta: Mapping[str, Any] | None = None,
    is_sent: bool = True,
) -> Start | None:
    """The operation that a request is; None when it is recorded already, here or by the client that sent `meta`. That is about
    the request that was sent, and not about what its handler asks for meanwhile."""
    tool = {TOOL: subject, RESOURCE: READ, PROMPT: PROMPTED}[method]
    given = {TOOL: arguments or {}, RESOURCE: {"uri": subject}, PROMPT: {"name": subject, "arguments": arguments or {}}}[method]
    said = {semconv.MCP_METHOD_NAME: method, semconv.TOOL_SERVER: server if isinstance(server, str) and server else None}
    is_passed_on = _is_passed_on()
    span = _native(method, subject, kind)
    # The same once more: the call goes on after the server's question was answered.
    again = adopted(span) if span is not None else None
    outer = running_tool() if again is None else None
    if outer is not None and (is_passed_on or _is_hop(outer, method, tool, given, kind)):
        outer.set({key: value for key, value in said.items() if key not in outer.known()})
        return None
    is_told = isinstance(meta, Mapping) and not stores().isdisjoint(str(meta.get(RECORDED, "")).split())
    if is_told and (is_sent or is_passed_on):
        return None
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
        semconv.GEN_AI_TOOL_NAME: tool,
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.MCP_RESOURCE_URI: subject if method == RESOURCE else None,
        semconv.GEN_AI_PROMPT_NAME: subject if method == PROMPT else None,
        **said,
    }
    attributes = {key: value for key, value in attributes.items() if value is not None}
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: given}
    native = again or (Adopted.take(span, attributes, content) if span is not None else None)
    # Other spans of the SDK that have just started are those of calls that run beside this one or around it.
    return Start(f"{GenAiOperation.EXECUTE_TOOL} {tool}", attributes, content, kind, native, alone=True)


@contextlib.contextmanager
def passing_on() -> Iterator[None]:
    """The first request inside is the call that is running, under the name that it has elsewhere."""
    token = otel.attach(otel.set_value(_PASSED_ON, [True]))
    try:
        yield
    finally:
        otel.detach(token)


def _is_passed_on() -> bool:
    found = otel.get_value(_PASSED_ON)
    return isinstance(found, list) and bool(found) and bool(found.pop())


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
    if _is_time_limit(error) or _came_of_time_limit(error):
        return Facts({}, {semconv.ERROR_TYPE: "timeout", semconv.EXCEPTION_MESSAGE: str(error)}, "timeout")
    return None


def _is_time_limit(error: BaseException) -> bool:
    """Some servers use the code for sessions that they have forgotten."""
    return getattr(error, "code", None) == _TIMED_OUT and "timed out" in str(error).lower()


def _came_of_time_limit(error: BaseException) -> bool:
    """FastMCP puts its own error around that of a tool, and takes the cause off that of a tool's time limit."""
    cause = error.__cause__
    # An application may have tied a chain into a ring.
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return False
        hidden = cause.__context__ if hasattr(cause, "code") else None
        is_timeout = isinstance(cause, TimeoutError) or "timeout" in type(cause).__name__.lower()
        if is_timeout or isinstance(hidden, TimeoutError) or _is_time_limit(cause):
            return True
        cause = cause.__cause__
    return False


def _native(method: str, subject: str, kind: SpanKind) -> Span | None:
    """The span that the SDK or FastMCP has started for this very request, when it is current."""
    span = get_current_span()
    if not isinstance(span, ReadableSpan) or span.instrumentation_scope is None or span.kind is not kind:
        return None
    known = attributes_of(span)
    is_native = span.instrumentation_scope.name in SCOPES and known.get(semconv.MCP_METHOD_NAME) == method
    # A server's span has the name only when the request is routed.
    return span if is_native and known.get(_SUBJECTS[method], subject) == subject and isinstance(span, Span) else None


def _is_hop(outer: Operation, method: str, tool: str, given: Any, kind: SpanKind) -> bool:
    """Whether the enclosing tool call is this very call. Frameworks fill in arguments, and put the server's name before the
    tool's; another tool may have such a name too, and other arguments. A call that is one of MCP itself has the name, and on
    this side of the wire the very arguments."""
    known = outer.known()
    if method == RESOURCE and known.get(semconv.MCP_RESOURCE_URI, given["uri"]) != given["uri"]:
        return False
    name, own = (_APART.sub("_", str(each).lower()) for each in (known.get(semconv.GEN_AI_TOOL_NAME, ""), tool))
    asked = outer.content.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS)
    if getattr(outer.span, "kind", SpanKind.INTERNAL) is SpanKind.INTERNAL or semconv.MCP_METHOD_NAME not in known:
        wanted, passed = _stated(asked), _stated(given)
        if name == own:
            return all(passed[key] == value for key, value in wanted.items() if key in passed)
        return name.endswith(f"_{own}") and wanted == passed
    is_served_tool = method == TOOL and kind is SpanKind.SERVER
    return name == own and (is_served_tool or asked == given)


def _stated(arguments: Any) -> dict[str, Any]:
    """One framework has a mapping, another the model's JSON text of it; null is as good as nothing to both."""
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError):
            arguments = orjson.loads(arguments)
    return {key: value for key, value in arguments.items() if value is not None} if isinstance(arguments, Mapping) else {}


def stores() -> set[str]:
    return {_fingerprint(store) for processor in list(processors) if (store := processor.store)}


@functools.lru_cache(8)
def _fingerprint(directory: str) -> str:
    """Tells a server that writes to the same store, and nobody else anything."""
    return hashlib.sha256(f"{platform.node()}:{Path(directory).absolute()}".encode()).hexdigest()[:32]
