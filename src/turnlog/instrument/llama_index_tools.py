"""LlamaIndex's tools: those that its agents call, with the id of the call, and those that an application calls by itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from opentelemetry.trace import get_current_span

from turnlog import semconv
from turnlog.instrument.calls import Account, Call, Facts, Hook, Run, Start, begin
from turnlog.instrument.core import Undo, patch
from turnlog.operation import error_type
from turnlog.semconv import GenAiOperation, Outcome

Json = dict[str, Any]


def record_tools(agents: ModuleType, account: Account) -> Undo:
    owner = agents.AgentWorkflow if hasattr(agents, "AgentWorkflow") else agents.BaseWorkflowAgent

    async def call(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        frame = begin(_TOOL, account, Call(instance, args, kwargs))
        if not isinstance(frame, Run):
            return await wrapped(*args, **kwargs)
        try:
            with frame:
                result = await wrapped(*args, **kwargs)
        except BaseException as error:
            if type(error).__name__ == "WaitingForEvent":
                # The whole step is run again once the event is there.
                frame.operation.set(content={semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value})
                frame.finish()
            else:
                frame.finish(error)
            raise
        frame.returned(result)
        return result

    return patch(owner, "_call_tool", call)


def _tool(call: Call) -> Start:
    # What the step that runs was given.
    step = importlib.import_module("workflows.runtime.types.results").StepWorkerStateContextVar.get(None)
    call_id = getattr(getattr(step, "event", None), "tool_id", None)
    return _tool_start(call.argument(1, "tool"), call.argument(2, "tool_input"), call_id)


def _bare_tool(call: Call) -> Start | None:
    """A tool that the application calls by itself; an agent's call is known already."""
    known = getattr(get_current_span(), "attributes", None) or {}
    if known.get(semconv.GEN_AI_TOOL_NAME) == call.instance.metadata.name:
        return None
    arguments = {"args": list(call.args), **call.kwargs} if call.args else call.kwargs
    return _tool_start(call.instance, arguments, None)


def _tool_start(tool: Any, arguments: Any, call_id: str | None) -> Start:
    name = str(tool.metadata.name)
    attributes = {semconv.GEN_AI_TOOL_NAME: name, semconv.GEN_AI_TOOL_TYPE: "function"}
    if call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    return Start(f"{GenAiOperation.EXECUTE_TOOL} {name}", attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments})


def _answered(call: Call, output: Any) -> Facts:
    content = {semconv.GEN_AI_TOOL_CALL_RESULT: getattr(output, "content", output)}
    if not getattr(output, "is_error", False):
        return Facts({}, content)
    error = getattr(output, "exception", None)
    message = {semconv.EXCEPTION_MESSAGE: str(error or output.content)}
    return Facts({}, {**content, **message}, error_type(error) if error is not None else "tool_error")


_TOOL = Hook("llama-index's tools", GenAiOperation.EXECUTE_TOOL, at_start=_tool, at_end=_answered)

BARE_TOOLS = tuple(
    Hook(f"llama_index.core.tools.{tool}.{method}", GenAiOperation.EXECUTE_TOOL, at_start=_bare_tool, at_end=_answered)
    for tool in ("function_tool:FunctionTool", "query_engine:QueryEngineTool")
    for method in ("call", "acall")
)
