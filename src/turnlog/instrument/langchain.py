"""LangChain, and LangGraph's runs, through LangChain's own callbacks: agent runs, model calls and tool calls, no graph nodes.

What callbacks cannot do, a few scopes around the framework's methods do: make an operation current while its code runs,
and end it when the call is over without an end callback (cancelled, abandoned).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any
from uuid import UUID

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.instrument.calls import Account, Facts, Hook, Scope, Start, suppressed
from turnlog.instrument.core import Extension, Framework, Undo
from turnlog.instrument.langchain_events import follow_event_streams
from turnlog.instrument.langchain_messages import agent_facts, agent_input, chat_facts, mark, message, tool_facts
from turnlog.instrument.runs import OpenRun, Runs
from turnlog.operation import Messages
from turnlog.semconv import GenAiOperation, Outcome

_PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}

Json = dict[str, Any]


def _guarded(method: Callable[..., None]) -> Callable[..., None]:
    """LangChain logs every failure of a handler; ours is said once."""

    @functools.wraps(method)
    def callback(self: _Callbacks, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self.account.complain(method.__name__, error)

    return callback


class _Callbacks:
    """Mixed into LangChain's handler class, once that is there."""

    # Else async callbacks run on a thread pool, out of reach of the call's context.
    run_inline = True

    def __init__(self, account: Account) -> None:
        self.account = account
        self.runs = Runs(account)

    # LangChain asks for one of these at every event.
    ignore_agent = ignore_chain = ignore_chat_model = ignore_llm = False

    def ignore_all(self) -> None:
        self.ignore_agent = self.ignore_chain = self.ignore_chat_model = self.ignore_llm = True

    @_guarded
    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Json | None = None,
        name: str | None = None,
        **_: Any,
    ) -> None:
        graph = Scope.take(GenAiOperation.INVOKE_AGENT)
        metadata, name, above = metadata or {}, name or "chain", self.runs[parent_run_id]
        if suppressed():
            return
        if _is_agent(metadata, name, above, graph):
            agent = metadata.get("lc_agent_name") or name
            content = {semconv.GEN_AI_INPUT_MESSAGES: given} if (given := agent_input(inputs)) else {}
            named = {semconv.GEN_AI_AGENT_NAME: agent}
            start = _start(GenAiOperation.INVOKE_AGENT, agent, metadata, above, named, content)
            self.runs.enter(run_id, above, start, graph)
        elif above is not None:
            self.runs.join(run_id, above)

    @_guarded
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self.runs.leave(run_id, None, lambda: agent_facts(outputs))

    @_guarded
    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Json | None = None,
        invocation_params: Json | None = None,
        options: Json | None = None,
        **_: Any,
    ) -> None:
        scope = Scope.take(GenAiOperation.CHAT)
        if suppressed():
            return
        metadata, given = metadata or {}, invocation_params or {}
        model = metadata.get("ls_model_name") or given.get("model") or given.get("model_name") or ""
        provider = metadata.get("ls_provider") or "unknown"
        attributes = {
            semconv.GEN_AI_PROVIDER_NAME: _PROVIDERS.get(provider, provider),
            semconv.GEN_AI_REQUEST_MODEL: model,
            semconv.GEN_AI_REQUEST_TEMPERATURE: _number(float, metadata.get("ls_temperature")),
            semconv.GEN_AI_REQUEST_MAX_TOKENS: _number(int, metadata.get("ls_max_tokens")),
            semconv.GEN_AI_REQUEST_TOP_P: _number(float, given.get("top_p")),
            semconv.GEN_AI_REQUEST_SEED: _number(int, given.get("seed")),
            semconv.GEN_AI_REQUEST_STREAM: given.get("stream") or None,
        }
        content = {semconv.GEN_AI_INPUT_MESSAGES: Messages(messages[0], message, mark=mark)}
        above = self.runs[parent_run_id]
        start = _start(GenAiOperation.CHAT, model, metadata, above, attributes, content, SpanKind.CLIENT)
        self.runs.enter(run_id, above, start, scope).answers_by_call = _answers_by_call(options or {})

    @_guarded
    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        self._leave_model(run_id, None, response)

    @_guarded
    def on_llm_error(self, error: BaseException, *, run_id: UUID, response: Any = None, **_: Any) -> None:
        self._leave_model(run_id, error, response)

    def _leave_model(self, run_id: UUID, error: BaseException | None, response: Any) -> None:
        run = self.runs[run_id]
        self.runs.leave(run_id, error, lambda: chat_facts(response, by_call=run is not None and run.answers_by_call))

    @_guarded
    def on_tool_start(
        self,
        serialized: Json | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Json | None = None,
        inputs: Json | None = None,
        **_: Any,
    ) -> None:
        scope = Scope.take(GenAiOperation.EXECUTE_TOOL)
        if suppressed():
            return
        name = (serialized or {}).get("name") or "tool"
        attributes = {
            semconv.GEN_AI_TOOL_NAME: name,
            semconv.GEN_AI_TOOL_TYPE: "function",
            # Older cores do not pass it to callbacks, but all pass it to the method that the scope is around.
            semconv.GEN_AI_TOOL_CALL_ID: scope.call.kwargs.get("tool_call_id") if scope else None,
        }
        content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: input_str if inputs is None else inputs}
        above = self.runs[parent_run_id]
        start = _start(GenAiOperation.EXECUTE_TOOL, name, metadata or {}, above, attributes, content)
        self.runs.enter(run_id, above, start, scope)

    @_guarded
    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self.runs.leave(run_id, None, lambda: tool_facts(output))

    @_guarded
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        # An interrupt or a jump to another graph travels as an exception through what it passes.
        kinds = {kind.__name__ for kind in type(error).__mro__}
        unfinished = Facts({}, {semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value}) if "GraphInterrupt" in kinds else None
        self.runs.leave(run_id, None if "GraphBubbleUp" in kinds else error, lambda: unfinished)

    on_tool_error = on_chain_error


def _is_agent(metadata: Json, name: str, above: OpenRun | None, graph: Scope | None) -> bool:
    """An outermost run, or a graph that a tool runs, or one of another agent inside a graph."""
    if above is None:
        # Not outermost after all: a node of a graph that began before us, and an edit of a graph's state.
        return "langgraph_node" not in metadata and not name.endswith("UpdateState")
    operation = above.attributes[semconv.GEN_AI_OPERATION_NAME]
    agent = above.attributes.get(semconv.GEN_AI_AGENT_NAME)
    in_tool = operation == GenAiOperation.EXECUTE_TOOL
    return graph is not None and (in_tool or metadata.get("lc_agent_name", agent) != agent)


def _start(
    operation: GenAiOperation,
    subject: str,
    metadata: Json,
    above: OpenRun | None,
    attributes: Json,
    content: Json,
    kind: SpanKind = SpanKind.INTERNAL,
) -> Start:
    thread = metadata.get("thread_id")
    outer_agent = above.attributes.get(semconv.GEN_AI_AGENT_NAME) if above else None
    common = {
        semconv.GEN_AI_OPERATION_NAME: operation.value,
        semconv.GEN_AI_CONVERSATION_ID: None if thread is None else str(thread),
        semconv.GEN_AI_AGENT_NAME: metadata.get("lc_agent_name") or outer_agent,
    }
    known = {key: value for key, value in {**common, **attributes}.items() if value is not None}
    return Start(f"{operation} {subject}".rstrip(), known, content, kind)


def _answers_by_call(options: Json) -> bool:
    """Whether `with_structured_output` has bound the schema as the one tool that the model has."""
    asked = (options.get("ls_structured_output_format") or {}).get("kwargs") or {}
    return asked.get("method") == "function_calling"


def _number(cast: Callable[[Any], float], value: Any) -> float | None:
    return cast(value) if isinstance(value, (int, float)) else None


def _install(tracers: ModuleType, account: Account) -> Undo:
    from langchain_core.callbacks.base import BaseCallbackHandler

    handler = type("TurnlogCallbacks", (_Callbacks, BaseCallbackHandler), {})(account)
    variable: ContextVar[Any] = ContextVar("turnlog_langchain", default=handler)
    tracers.register_configure_hook(variable, inheritable=True)

    def remove() -> None:
        # A manager that is in use may hold on to the handler.
        handler.ignore_all()
        handler.runs.leave_all()
        tracers._configure_hooks[:] = [hook for hook in tracers._configure_hooks if hook[0] is not variable]

    return remove


def _in_line(name: str) -> Callable[[ModuleType, Account], Undo]:
    """Another instrumentation's handler, called before ours in async code too: else its spans start on a thread pool, when
    ours have started."""

    def install(module: ModuleType, account: Account) -> Undo:
        handler = getattr(module, name)
        handler.run_inline = True
        return lambda: delattr(handler, "run_inline")

    return install


LANGCHAIN = Framework(
    "langchain",
    title="LangChain",
    requires="langchain-core >= 1.4, < 2",
    records="chat models and tools; sync, async, streaming",
    scopes=(
        "openinference.instrumentation.langchain",
        "opentelemetry.instrumentation.langchain",
        "opentelemetry.instrumentation.genai.langchain",
    ),
    hooks=(
        *(
            Hook(f"langchain_core.language_models.chat_models:BaseChatModel.{method}", GenAiOperation.CHAT)
            for method in ("generate", "agenerate", "stream", "astream")
        ),
        *(Hook(f"langchain_core.tools.base:BaseTool.{name}", GenAiOperation.EXECUTE_TOOL) for name in ("run", "arun")),
    ),
    extensions=(
        Extension("langchain_core.tracers.context", _install),
        Extension("langchain_core.language_models.chat_models", follow_event_streams),
        Extension("openinference.instrumentation.langchain._tracer", _in_line("OpenInferenceTracer")),
        Extension(
            "opentelemetry.instrumentation.genai.langchain.callback_handler", _in_line("OpenTelemetryLangChainCallbackHandler")
        ),
    ),
)
