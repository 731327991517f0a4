"""FastMCP: its client calls through MCP's, whose hooks adopt the client's spans. Here is its server, which has its own."""

from __future__ import annotations

import sys
from collections.abc import Callable

from opentelemetry.trace import SpanKind

from turnlog.instrument.calls import Call, Hook, Start
from turnlog.instrument.core import Framework
from turnlog.instrument.mcp import PROMPT, RESOURCE, TOOL, answer, failure, request
from turnlog.semconv import GenAiOperation


def _served(method: str) -> Callable[[Call], Start | None]:
    subject = "uri" if method == RESOURCE else "name"

    def at_start(call: Call) -> Start | None:
        if call.kwargs.get("run_middleware") is False:
            # The server calls itself once its middleware has run.
            return None
        arguments = None if method == RESOURCE else call.argument(1, "arguments")
        received = sys.modules["fastmcp.server.dependencies"].fastmcp_request_ctx.get()
        meta = getattr(received, "meta", None)
        return request(method, str(call.argument(0, subject)), arguments, call.instance.name, SpanKind.SERVER, meta)

    return at_start


FASTMCP = Framework(
    "fastmcp",
    title="FastMCP",
    requires="fastmcp >= 4.0, < 5",
    records="what its client calls, as MCP; what its server runs, when the client is not recorded in the same store",
    hooks=tuple(
        Hook(
            f"fastmcp.server.server:FastMCP.{name}",
            GenAiOperation.EXECUTE_TOOL,
            at_start=_served(method),
            at_end=answer,
            at_error=failure,
        )
        for name, method in (("call_tool", TOOL), ("read_resource", RESOURCE), ("render_prompt", PROMPT))
    ),
    scopes=("fastmcp",),
)
