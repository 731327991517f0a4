"""Strands: its own spans of agents, model calls and tool calls, each adopted by the innermost function that runs inside it.

Hooks of an agent tell of its interrupts. A graph or a swarm is a turn of its own, with its agents inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from opentelemetry.trace import SpanKind, get_current_span

from turnlog import semconv
from turnlog.content import as_text
from turnlog.foreign import operation_of
from turnlog.instrument.adopted import Adopted
from turnlog.instrument.calls import Account, Call, Facts, Hook, Start, suppressed
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.drivers import driver_for
from turnlog.instrument.strands_messages import AnswerStream, ModelStream, ToolStream, content_parts, history
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState, Outcome

_PROVIDERS = {"bedrock": "aws.bedrock", "gemini": "gcp.gemini", "mistral": "mistral_ai", "openai_responses": "openai"}
_REQUEST: dict[str, tuple[str, Callable[[Any], float]]] = {
    "temperature": (semconv.GEN_AI_REQUEST_TEMPERATURE, float),
    "top_p": (semconv.GEN_AI_REQUEST_TOP_P, float),
    "max_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    "max_completion_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
}
_TOOL_ENDS = {semconv.GEN_AI_TOOL_CALL_RESULT, semconv.COMMIT_OUTCOME}


class _CallSpan(Adopted):
    """Strands ends the span of a call that answers or raises, and forgets that of one which is cancelled or left."""

    __slots__ = ("_raised",)

    def fail(self, error: BaseException) -> None:
        super().fail(error)
        self._raised = isinstance(error, Exception)

    def end(self, end_ns: int | None = None) -> None:
        answered = semconv.GEN_AI_RESPONSE_FINISH_REASONS in self.known()
        if self._over is None and not (answered or _TOOL_ENDS & self.content.keys() or getattr(self, "_raised", False)):
            self._over = time.time_ns()
        super().end(end_ns)


def _adopted(operation: GenAiOperation, attributes: dict[str, Any], content: dict[str, Any]) -> Adopted | None:
    span = get_current_span()
    same = operation_of(getattr(span, "attributes", None) or {}) == operation
    return _CallSpan.take(span, attributes, content) if same else None


def _agent(call: Call) -> Start:
    agent, given = call.instance, call.argument(0, "messages")
    answers = agent._interrupt_state.context.get("responses") if agent._interrupt_state.activated else None
    if not given and answers:
        words = [as_text(answer["interruptResponse"]["response"]) for answer in answers]
        given = [{"role": "user", "content": [{"text": text} for text in words]}]
    attributes = {semconv.GEN_AI_AGENT_NAME: agent.name, **_session(getattr(agent, "_session_manager", None))}
    content = {semconv.GEN_AI_INPUT_MESSAGES: history([*agent.messages, *given])}
    return Start(f"{GenAiOperation.INVOKE_AGENT} {agent.name}", attributes, content)


def _workflow(call: Call) -> Start:
    task = call.argument(0, "task")
    blocks = [{"text": task}] if isinstance(task, str) else task
    name = getattr(call.instance, "id", None) or type(call.instance).__name__.lower()
    attributes = {semconv.GEN_AI_WORKFLOW_NAME: name, **_session(call.instance.session_manager)}
    asked = {"role": "user", "parts": content_parts(blocks)}
    return Start(f"{GenAiOperation.INVOKE_WORKFLOW} {name}", attributes, {semconv.GEN_AI_INPUT_MESSAGES: [asked]})


def _session(manager: Any) -> dict[str, str]:
    session = getattr(manager, "session_id", None)
    return {} if session is None else {semconv.GEN_AI_CONVERSATION_ID: str(session)}


def _model(call: Call) -> Start:
    model, system = call.argument(0, "model"), call.kwargs.get("system_prompt_content")
    config = model.get_config()
    name = str(config.get("model_id") or "")
    kind = type(model).__module__.rpartition(".")[2]
    attributes: dict[str, Any] = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.CHAT.value,
        semconv.GEN_AI_PROVIDER_NAME: _PROVIDERS.get(kind, kind),
        semconv.GEN_AI_REQUEST_MODEL: name,
    }
    for key, (attribute, cast) in _REQUEST.items():
        if isinstance(value := config.get(key, (config.get("params") or {}).get(key)), int | float):
            attributes[attribute] = cast(value)
    content: dict[str, Any] = {semconv.GEN_AI_INPUT_MESSAGES: history(call.argument(2, "messages"))}
    if parts := content_parts(system or [{"text": call.argument(1, "system_prompt") or ""}]):
        content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = parts
    adopted = _adopted(GenAiOperation.CHAT, attributes, content)
    return Start(f"{GenAiOperation.CHAT} {name}".rstrip(), attributes, content, SpanKind.CLIENT, adopted)


def _tool(call: Call) -> Start:
    # Up to 1.61 the function is given the call; later, a context that holds it.
    given = call.argument(0, "ctx")
    use = given.tool_use if hasattr(given, "tool_use") else call.argument(1, "tool_use")
    attributes = {
        semconv.GEN_AI_TOOL_NAME: use["name"],
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.GEN_AI_TOOL_CALL_ID: str(use["toolUseId"]),
    }
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: use["input"]}
    adopted = _adopted(GenAiOperation.EXECUTE_TOOL, attributes, content)
    return Start(f"{GenAiOperation.EXECUTE_TOOL} {use['name']}", attributes, content, adopted=adopted)


def _asked(call: Call, error: BaseException) -> Facts | None:
    """A tool that is a class of its own raises its interrupts."""
    asked = type(error).__name__ == "InterruptException"
    return Facts({}, {semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value}) if asked else None


_TOOL = Hook(
    "strands' tool executor",
    GenAiOperation.EXECUTE_TOOL,
    at_start=_tool,
    at_error=_asked,
    collect=lambda call: ToolStream(),
)


def _record_tools(executor: ModuleType, account: Account) -> Undo:
    owner, name = (executor, "_run_tool") if hasattr(executor, "_run_tool") else (executor.ToolExecutor, "_stream")
    drive = driver_for(getattr(owner, name))

    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return drive(_TOOL, account, wrapped, Call(instance, args, kwargs))

    return patch(owner, name, run)


def _record_interrupts(module: ModuleType, account: Account) -> Undo:
    from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent  # type: ignore[import-not-found, unused-ignore]

    active = True

    def tell(event: Any) -> None:
        state = event.agent._interrupt_state
        if active and state.activated and not suppressed():
            resumed = isinstance(event, BeforeInvocationEvent)
            account.ask("an interrupt", lambda: account.start((_resumed if resumed else _paused)(state)).end())

    def make(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wrapped(*args, **kwargs)
        for kind in (BeforeInvocationEvent, AfterInvocationEvent):
            account.ask("adding hooks to an agent", instance.hooks.add_callback, kind, tell)

    unpatch = patch(module.Agent, "__init__", make)

    def undo() -> None:
        # Agents keep the callback.
        nonlocal active
        active = False
        unpatch()

    return undo


def _paused(state: Any) -> Start:
    asked = [each for each in state.interrupts.values() if each.response is None]
    delta = [_pending(DeltaOp.SET, each.id, as_text(each.reason) if each.reason else each.name) for each in asked]
    return _lifecycle(LifecycleState.PAUSED, delta, {semconv.LIFECYCLE_PAUSE_REASON: "human_input"})


def _resumed(state: Any) -> Start:
    answers = [answer["interruptResponse"] for answer in state.context.get("responses") or ()]
    delta = [_pending(DeltaOp.DROP, answer["interruptId"], as_text(answer["response"])) for answer in answers]
    return _lifecycle(LifecycleState.RESUMED, delta, {})


def _pending(op: DeltaOp, key: str, value: str) -> dict[str, str]:
    return {"op": op.value, "kind": EntryKind.PENDING.value, "key": key, "value": value}


def _lifecycle(state: LifecycleState, delta: list[dict[str, str]], attributes: dict[str, Any]) -> Start:
    known = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
    return Start(f"session {state}", {**known, **attributes}, {semconv.COMMIT_DELTA: delta})


STRANDS = Framework(
    "strands",
    title="Strands",
    requires="strands-agents >= 1.56, < 2",
    records="agents, graphs and swarms as turns, model calls and tools; the session manager's id is the session",
    hooks=(
        Hook(
            "strands.agent.agent:Agent._run_loop",
            GenAiOperation.INVOKE_AGENT,
            at_start=_agent,
            collect=lambda call: AnswerStream(),
        ),
        Hook(
            "strands.event_loop.event_loop:stream_messages",
            GenAiOperation.CHAT,
            at_start=_model,
            collect=lambda call: ModelStream(),
        ),
        *(
            Hook(f"strands.multiagent.{kind.lower()}:{kind}.stream_async", GenAiOperation.INVOKE_WORKFLOW, at_start=_workflow)
            for kind in ("Graph", "Swarm")
        ),
    ),
    extensions=(
        Extension("strands.tools.executors._executor", _record_tools),
        Extension("strands.agent.agent", _record_interrupts),
    ),
    scopes=("strands.telemetry.tracer",),
)
