"""FastMCP: its client calls through MCP's, whose hooks adopt the client's spans. Here is its server, which has its own, and
passes calls on to servers that are mounted in it or that it is a proxy of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from opentelemetry.trace import SpanKind, get_current_span

from turnlog import semconv
from turnlog.instrument.adopted import adopted
from turnlog.instrument.calls import Account, Call, Hook, Start
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.mcp_requests import PROMPT, RESOURCE, TOOL, answer, failure, passing_on, request
from turnlog.semconv import GenAiOperation

_PASSED_ON = {
    "fastmcp.server.providers.fastmcp_provider": (
        ("FastMCPProviderTool", "_run"),
        ("FastMCPProviderTool", "run"),
        ("FastMCPProviderResource", "_read"),
        ("FastMCPProviderResourceTemplate", "_read"),
        ("FastMCPProviderPrompt", "_render"),
        ("FastMCPProviderPrompt", "render"),
    ),
    "fastmcp.server.providers.proxy": (
        ("ProxyTool", "run"),
        ("ProxyResource", "read"),
        ("ProxyTemplate", "create_resource"),
        ("ProxyPrompt", "render"),
    ),
}


def _served(method: str) -> Callable[[Call], Start | None]:
    key = "uri" if method == RESOURCE else "name"

    def at_start(call: Call) -> Start | None:
        if call.kwargs.get("run_middleware") is False:
            # The server calls itself once its middleware has run.
            return None
        subject = str(call.argument(0, key))
        arguments = None if method == RESOURCE else call.argument(1, "arguments")
        received = sys.modules["fastmcp.server.dependencies"].fastmcp_request_ctx.get()
        meta = getattr(received, "meta", None)
        sent = getattr(received, "_srctx", None)
        is_sent = sent is not None and sent.method == method and str((sent.params or {}).get(key)) == subject
        return request(method, subject, arguments, call.instance.name, SpanKind.SERVER, meta, is_sent)

    return at_start


def _asked(call: Call) -> Start | None:
    """The server has a question before it answers; meanwhile the call goes on, on the client's span."""
    taken = adopted(get_current_span())
    if taken is None or not type(call.argument(0, "first")).__name__.startswith("InputRequired"):
        return None
    taken.set(content={semconv.COMMIT_OUTCOME: ""})
    return Start(GenAiOperation.EXECUTE_TOOL, adopted=taken)


def _pass_on(owner: str, name: str) -> Callable[[ModuleType, Account], Undo]:
    async def hand_on(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with passing_on():
            return await wrapped(*args, **kwargs)

    return lambda module, account: patch(getattr(module, owner), name, hand_on)


FASTMCP = Framework(
    "fastmcp",
    title="FastMCP",
    requires="fastmcp >= 4.0, < 5",
    records="what its client calls, as MCP; what its server runs, when the client is not recorded in the same store",
    hooks=(
        *(
            Hook(
                f"fastmcp.server.server:FastMCP.{name}",
                GenAiOperation.EXECUTE_TOOL,
                at_start=_served(method),
                at_end=answer,
                at_error=failure,
            )
            for name, method in (("call_tool", TOOL), ("read_resource", RESOURCE), ("render_prompt", PROMPT))
        ),
        Hook(
            "fastmcp.client.client:Client._drive_input_required",
            GenAiOperation.EXECUTE_TOOL,
            at_start=_asked,
            at_error=failure,
        ),
    ),
    extensions=tuple(Extension(module, _pass_on(*part)) for module, parts in _PASSED_ON.items() for part in parts),
    scopes=("fastmcp",),
)
