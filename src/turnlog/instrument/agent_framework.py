"""Microsoft Agent Framework: its own spans of agents, model calls and functions, each adopted by the innermost function that
runs inside it. Its middleware would not do: that runs outside those spans.

An answer is awaited or read as a stream later; the framework's own stream hooks tell of that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from opentelemetry.trace import SpanKind, set_span_in_context

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.agent_framework_messages import (
    RunStream,
    UpdateStream,
    agent_facts,
    chat_facts,
    contents_of,
    message,
    run_input,
)
from turnlog.instrument.calls import Account, Call, Facts, Hook, Run, Start, begin
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.drivers import complete_async
from turnlog.operation import Messages
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState, Outcome

_REQUEST: dict[str, tuple[str, Callable[[Any], float]]] = {
    "temperature": (semconv.GEN_AI_REQUEST_TEMPERATURE, float),
    "top_p": (semconv.GEN_AI_REQUEST_TOP_P, float),
    "max_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    "seed": (semconv.GEN_AI_REQUEST_SEED, int),
}
# A tool that asks for somebody's input, or a middleware that stops the run, is not a failure.
_NO_FAILURE = {"UserInputRequiredException", "MiddlewareTermination"}


def _agent(call: Call) -> Start:
    session, name = call.kwargs.get("session"), str(call.instance.name or call.instance.id)
    attributes = {semconv.GEN_AI_AGENT_NAME: name}
    if session is not None:
        attributes[semconv.GEN_AI_CONVERSATION_ID] = str(session.session_id)
        if session.service_session_id is not None:
            # The framework's own span then names the conversation by the server's last response.
            attributes[semconv.SESSION_ID] = str(session.session_id)
    content = {semconv.GEN_AI_INPUT_MESSAGES: run_input(call.argument(0, "messages"))}
    return Start(f"{GenAiOperation.INVOKE_AGENT} {name}", attributes, content)


def _workflow(call: Call) -> Start:
    name, given = str(call.instance.name), call.argument(0, "message")
    content = {semconv.GEN_AI_INPUT_MESSAGES: run_input(given)} if given is not None else {}
    return Start(f"{GenAiOperation.INVOKE_WORKFLOW} {name}", {semconv.GEN_AI_WORKFLOW_NAME: name}, content)


def _model(call: Call) -> Start:
    options = call.kwargs.get("options") or {}
    name = str(options.get("model") or getattr(call.instance, "model", None) or "")
    attributes: dict[str, Any] = {
        semconv.GEN_AI_PROVIDER_NAME: str(getattr(call.instance, "otel_provider_name", None) or "unknown"),
        semconv.GEN_AI_REQUEST_MODEL: name,
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.CHAT.value,
    }
    for key, (attribute, cast) in _REQUEST.items():
        if isinstance(value := options.get(key), int | float):
            attributes[attribute] = cast(value)
    if call.kwargs.get("stream"):
        attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    kept = options.get("conversation_id")
    if isinstance(kept, str) and kept.startswith("resp_"):
        attributes[semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID] = kept
    # The framework goes on with the very list.
    given = list(call.kwargs["messages"])
    content: dict[str, Any] = {semconv.GEN_AI_INPUT_MESSAGES: Messages(given, message, follows=isinstance(kept, str))}
    if isinstance(instructions := options.get("instructions"), str):
        content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = [{"type": "text", "content": instructions}]
    return Start(f"{GenAiOperation.CHAT} {name}".rstrip(), attributes, content, SpanKind.CLIENT)


def _tool(call: Call) -> Start:
    # The id of the call is on the framework's own span; without that, the arguments tell which call it is.
    name, arguments = call.instance.name, dict(call.argument(0, "call_kwargs") or {})
    arguments.pop(getattr(call.instance, "_context_parameter_name", None), None)
    attributes = {semconv.GEN_AI_TOOL_NAME: name, semconv.GEN_AI_TOOL_TYPE: "function"}
    return Start(f"{GenAiOperation.EXECUTE_TOOL} {name}", attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments})


def _result(call: Call, result: Any) -> Facts:
    if isinstance(result, list) and result and all(hasattr(each, "type") and hasattr(each, "text") for each in result):
        result = "".join(each.text or "" for each in result)
    return Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: result})


def _stopped(call: Call, error: BaseException) -> Facts | None:
    if not _NO_FAILURE & {kind.__name__ for kind in type(error).__mro__}:
        return None
    return Facts({}, {semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value})


def _follow(run: Run, stream: Any, after: Callable[[Any], None] | None = None) -> bool:
    """Step, read and end with a stream of the framework's. `after` is told what the stream asked the user for."""
    if not hasattr(stream, "with_pull_context_manager"):
        return False
    asked: list[Any] = []

    def saw(update: Any) -> None:
        run.saw(update)
        asked.extend(each for each in getattr(update, "contents", None) or () if getattr(each, "user_input_request", None))

    def over() -> None:
        run.finish(getattr(stream, "_stream_error", None))
        if after is not None:
            after(asked)

    stream.with_pull_context_manager(lambda: run).with_transform_hook(saw).with_cleanup_hook(over)
    return True


def _answer(hook: Hook, account: Account, wrapped: Callable[..., Any], call: Call, after: Any = None) -> Any:
    """Drive a call that gives an awaitable or a stream."""
    run = begin(hook, account, call)
    if not isinstance(run, Run):
        return wrapped(*call.args, **call.kwargs)
    if after is not None:
        after(run, call)
    follow = partial(_follow, after=None if after is None else partial(after, run, None))
    try:
        with run:
            result = wrapped(*call.args, **call.kwargs)
    except BaseException as error:
        run.finish(error)
        raise
    if account.ask(hook.target, follow, run, result):
        return result
    return _awaited(run, result, after)


async def _awaited(run: Run, result: Any, after: Any) -> Any:
    response = await complete_async(run, lambda: result)
    if after is not None:
        after(run, None, response)
    return response


_AGENT = Hook(
    "agent_framework._agents:RawAgent.run",
    GenAiOperation.INVOKE_AGENT,
    at_start=_agent,
    at_end=lambda call, response: agent_facts(response),
    at_error=_stopped,
    collect=lambda call: RunStream(),
)
_WORKFLOW = Hook(
    "agent_framework._workflows._workflow:Workflow.run",
    GenAiOperation.INVOKE_WORKFLOW,
    at_start=_workflow,
)
_MODEL = Hook(
    "agent_framework's _inner_get_response",
    GenAiOperation.CHAT,
    at_start=_model,
    at_end=lambda call, response: chat_facts(response),
    collect=lambda call: UpdateStream(),
    follow=_follow,
)


def _record_agents(module: ModuleType, account: Account) -> Undo:
    def tell(run: Run, call: Call | None, asked: Any = ()) -> None:
        account.ask("an approval", _tell, account, run, call, asked)

    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _answer(_AGENT, account, wrapped, Call(instance, args, kwargs), tell)

    return patch(module.RawAgent, "run", run)


def _record_workflows(module: ModuleType, account: Account) -> Undo:
    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _answer(_WORKFLOW, account, wrapped, Call(instance, args, kwargs))

    return patch(module.Workflow, "run", run)


def _record_models(module: ModuleType, account: Account) -> Undo:
    """Every client has its own innermost method, which is given what a compaction has left of the messages."""
    undone: dict[type, Undo] = {}

    def respond(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _answer(_MODEL, account, wrapped, Call(instance, args, kwargs))

    def find(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        owner = next((kind for kind in type(instance).__mro__ if "_inner_get_response" in vars(kind)), None)
        if owner is not None and owner not in undone:
            undone[owner] = patch(owner, "_inner_get_response", respond)
        return wrapped(*args, **kwargs)

    unpatch = patch(module.BaseChatClient, "get_response", find)

    def undo() -> None:
        unpatch()
        while undone:
            undone.popitem()[1]()

    return undo


def _tell(account: Account, run: Run, call: Call | None, asked: Any) -> None:
    """When a run begins, the approvals that it was given; when it is over, those that it asks for."""
    if call is not None:
        given = [each for each in contents_of(call.argument(0, "messages")) if hasattr(each, "approved")]
        answers = [each for each in given if each.type == "function_approval_response"]
        delta = [_pending(DeltaOp.DROP, each, "approved" if each.approved else "rejected") for each in answers]
        start = _lifecycle(LifecycleState.RESUMED, delta, {})
    else:
        requests = asked if isinstance(asked, list) else asked.user_input_requests
        delta = [_pending(DeltaOp.SET, each, _question(each)) for each in requests]
        start = _lifecycle(LifecycleState.PAUSED, delta, {semconv.LIFECYCLE_PAUSE_REASON: "human_input"})
    if delta:
        account.start(start, set_span_in_context(run.operation.span)).end()


def _question(request: Any) -> str:
    call = request.function_call
    return as_text({"name": call.name, "arguments": call.parse_arguments()}) if call is not None else str(request.type)


def _pending(op: DeltaOp, request: Any, value: str) -> dict[str, str]:
    return {"op": op.value, "kind": EntryKind.PENDING.value, "key": str(request.id), "value": value}


def _lifecycle(state: LifecycleState, delta: list[dict[str, str]], attributes: dict[str, Any]) -> Start:
    known = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
    return Start(f"session {state}", {**known, **attributes}, {semconv.COMMIT_DELTA: delta})


AGENT_FRAMEWORK = Framework(
    "agent_framework",
    title="Microsoft Agent Framework",
    requires="agent-framework-core >= 1.21, < 2",
    records="agents and workflows as turns, model calls and functions; the `AgentSession` is the session",
    extra="agent-framework",
    hooks=(
        Hook(
            "agent_framework._tools:FunctionTool._invoke_function",
            GenAiOperation.EXECUTE_TOOL,
            at_start=_tool,
            at_end=_result,
            at_error=_stopped,
        ),
    ),
    extensions=(
        Extension("agent_framework._agents", _record_agents),
        Extension("agent_framework._clients", _record_models),
        Extension("agent_framework._workflows._workflow", _record_workflows),
    ),
    scopes=("agent_framework",),
)
