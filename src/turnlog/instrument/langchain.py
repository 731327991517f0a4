"""LangChain and LangGraph, through LangChain's own callbacks: agent runs, model calls and tool calls, no graph nodes.

What callbacks cannot do, a few scopes around the framework's methods do: make an operation current while its code runs,
and end it when the call is over without an end callback (cancelled, abandoned).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, get_current_span, set_span_in_context

from turnlog import semconv
from turnlog.instrument.calls import Account, Facts, Hook, Scope, Start, finish_operation, learn, suppressed
from turnlog.instrument.core import Extension, Framework, Undo
from turnlog.instrument.langchain_messages import agent_input, agent_output, chat_facts, message, tool_facts
from turnlog.operation import Messages, Operation
from turnlog.semconv import GenAiOperation

_MOST_OPEN = 10_000
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "amazon_bedrock": "aws.bedrock",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}

P = ParamSpec("P")


@dataclass(slots=True, eq=False)
class _Open:
    """An operation that is running, and the runs inside it that are not over."""

    run_id: UUID
    operation: Operation
    context: Context
    agent: str
    is_tool: bool
    above: _Open | None
    inside: set[UUID] = field(default_factory=set)


def _guarded(method: Callable[Concatenate[_Callbacks, P], None]) -> Callable[Concatenate[_Callbacks, P], None]:
    """LangChain would log every failure of a handler; ours says it once."""

    @functools.wraps(method)
    def callback(self: _Callbacks, /, *args: P.args, **kwargs: P.kwargs) -> None:
        self.account.ask(method.__name__, functools.partial(method, self, *args, **kwargs))

    return callback


class _Callbacks:
    """Mixed into LangChain's handler class when that is there. Each run maps to the operation it belongs to."""

    run_inline = True  # else async callbacks run on a thread pool, out of reach of the call's context
    raise_error = False

    def __init__(self, account: Account) -> None:
        self.account = account
        self._inert = False
        self._open: dict[UUID, _Open] = {}

    def close(self) -> None:
        """A handler that some manager still holds after the undo must do nothing."""
        self._inert = True
        for run_id in list(self._open):
            self._leave(run_id)

    @property
    def ignore_chain(self) -> bool:
        return self._inert

    ignore_agent = ignore_chat_model = ignore_llm = ignore_chain

    @property
    def ignore_retriever(self) -> bool:
        return True

    ignore_custom_event = ignore_retry = ignore_retriever

    @_guarded
    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **_: Any,
    ) -> None:
        graph = Scope.take(GenAiOperation.INVOKE_AGENT)
        above = self._open.get(parent_run_id) if parent_run_id else None
        metadata, name = metadata or {}, name or "chain"
        if above is None:
            # A node of a graph that started before us, and an edit of the state by the application, are no agent runs.
            is_agent = "langgraph_node" not in metadata and not name.endswith("UpdateState")
        else:
            is_agent = graph is not None and (
                above.is_tool or metadata.get("lc_agent_name", above.agent) != above.agent
            )
        if is_agent:
            agent = metadata.get("lc_agent_name") or name
            start = Start(
                f"{GenAiOperation.INVOKE_AGENT} {agent}",
                {semconv.GEN_AI_AGENT_NAME: agent},
                {semconv.GEN_AI_INPUT_MESSAGES: given} if (given := agent_input(inputs)) else {},
            )
            self._enter(GenAiOperation.INVOKE_AGENT, run_id, above, graph, metadata, start, agent)
        elif above is not None:
            self._open[run_id] = above
            above.inside.add(run_id)

    @_guarded
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self._leave(run_id, facts=lambda: agent_output(outputs))

    @_guarded
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._leave(run_id, error)

    @_guarded
    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        invocation_params: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        scope = Scope.take(GenAiOperation.CHAT)
        metadata, parameters = metadata or {}, invocation_params or {}
        model = metadata.get("ls_model_name") or parameters.get("model") or parameters.get("model_name") or ""
        provider = metadata.get("ls_provider") or "unknown"
        attributes = {
            semconv.GEN_AI_PROVIDER_NAME: _PROVIDERS.get(provider, provider),
            semconv.GEN_AI_REQUEST_MODEL: model,
            semconv.GEN_AI_REQUEST_TEMPERATURE: _number(metadata.get("ls_temperature"), float),
            semconv.GEN_AI_REQUEST_MAX_TOKENS: _number(metadata.get("ls_max_tokens"), int),
            semconv.GEN_AI_REQUEST_TOP_P: _number(parameters.get("top_p"), float),
            semconv.GEN_AI_REQUEST_SEED: _number(parameters.get("seed"), int),
        }
        start = Start(
            f"{GenAiOperation.CHAT} {model}".rstrip(),
            {key: value for key, value in attributes.items() if value is not None},
            {semconv.GEN_AI_INPUT_MESSAGES: Messages(messages[0], message)},
            SpanKind.CLIENT,
        )
        above = self._open.get(parent_run_id) if parent_run_id else None
        self._enter(GenAiOperation.CHAT, run_id, above, scope, metadata, start)

    @_guarded
    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        self._leave(run_id, facts=lambda: chat_facts(response))

    @_guarded
    def on_llm_error(self, error: BaseException, *, run_id: UUID, response: Any = None, **_: Any) -> None:
        self._leave(run_id, error, lambda: chat_facts(response))

    @_guarded
    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        name: str | None = None,
        **_: Any,
    ) -> None:
        scope = Scope.take(GenAiOperation.EXECUTE_TOOL)
        tool = (serialized or {}).get("name") or name or "tool"
        attributes = {semconv.GEN_AI_TOOL_NAME: tool, semconv.GEN_AI_TOOL_TYPE: "function"}
        if scope is not None and (call_id := scope.call.kwargs.get("tool_call_id")):
            attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
        content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: input_str if inputs is None else inputs}
        start = Start(f"{GenAiOperation.EXECUTE_TOOL} {tool}", attributes, content)
        above = self._open.get(parent_run_id) if parent_run_id else None
        self._enter(GenAiOperation.EXECUTE_TOOL, run_id, above, scope, metadata or {}, start)

    @_guarded
    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self._leave(run_id, facts=lambda: tool_facts(output))

    @_guarded
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._leave(run_id, error)

    def _enter(
        self,
        kind: GenAiOperation,
        run_id: UUID,
        above: _Open | None,
        scope: Scope | None,
        metadata: dict[str, Any],
        start: Start,
        agent: str = "",
    ) -> None:
        ...
