"""CrewAI: crews, flows and agents that are kicked off as turns, the agents inside them, their tools, questions to people.

Its event bus tells of all this on threads of its own, out of the run's context: so these are hooks on what its events tell of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import ModuleType
from typing import Any

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.calls import Account, Call, Facts, Hook, Start, suppressed
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.crewai_messages import call_of, messages_of, result_facts, text_message
from turnlog.instrument.crewai_models import record_models
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState

Json = dict[str, Any]

_ASKS = {"human_feedback_requested", "flow_input_requested", "flow_paused"}
_ANSWERS = {"human_feedback_received", "flow_input_received"}


def _crew(call: Call) -> Start | None:
    crew = call.instance
    if crew.stream:
        # It kicks itself off again, in a thread or task of its own.
        return None
    inputs = call.argument(0, "inputs")
    said = as_text(inputs) if inputs else "\n".join(task.description for task in crew.tasks)
    return _agent(crew.name or "crew", [text_message(said)], str(crew.id))


def _task(call: Call) -> Start:
    return _agent(call.instance.role, [text_message(call.argument(0, "task_prompt"))])


def _standalone(call: Call) -> Start | None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _standalone_async(call)
    # Here the call only gives a coroutine, of the async form.
    return None


def _standalone_async(call: Call) -> Start:
    return _agent(call.instance.role, messages_of(call.argument(0, "messages")))


def _flow(call: Call) -> Start | None:
    flow = call.instance
    if flow.stream or hasattr(flow, "_execute_single_native_tool_call"):
        # It kicks itself off again; or it is how an agent works inside.
        return None
    inputs = call.argument(0, "inputs") or {}
    said = getattr(flow, "_pending_user_message", None)
    given = {key: value for key, value in inputs.items() if key != "id"}
    if said is None and given:
        said = next(iter(given.values())) if len(given) == 1 else given
    return _flow_start(flow, said, str(inputs.get("id") or flow.flow_id))


def _resumed_flow(call: Call) -> Start:
    return _flow_start(call.instance, call.argument(0, "feedback"), call.instance.flow_id)


def _flow_start(flow: Any, said: Any, session: str) -> Start:
    operation = GenAiOperation.INVOKE_AGENT if hasattr(flow.state, "messages") else GenAiOperation.INVOKE_WORKFLOW
    return _agent(flow.name or type(flow).__name__, [text_message(as_text(said))] if said else [], session, operation)


def _agent(name: str, given: Any, session: str = "", operation: GenAiOperation = GenAiOperation.INVOKE_AGENT) -> Start:
    name = name.strip()
    attributes = {semconv.GEN_AI_OPERATION_NAME: operation.value, semconv.GEN_AI_AGENT_NAME: name}
    if session:
        attributes[semconv.GEN_AI_CONVERSATION_ID] = session
    return Start(f"{operation} {name}", attributes, {semconv.GEN_AI_INPUT_MESSAGES: given} if given else {})


def _answered(call: Call, result: Any) -> Facts:
    return result_facts(result)


def _native_tool(call: Call) -> Start:
    call_id, name, arguments = call_of(call.argument(0, "tool_call"))
    return _tool_start(name, arguments, call_id)


def _native_result(call: Call, result: Any) -> Facts:
    fields = result if isinstance(result, dict) else vars(result)
    content = {semconv.GEN_AI_TOOL_CALL_RESULT: fields.get("result")}
    failure = fields.get("tool_failure")
    if failure is None:
        return Facts({}, content)
    return Facts({}, {**content, semconv.EXCEPTION_MESSAGE: failure.message}, failure.code or "tool_error")


def _text_tool(call: Call) -> Start:
    """A tool that the model asked for in its text, with no id."""
    name = str(call.instance.name)
    return _tool_start(name, call.argument(0, "input"), None)


def _text_result(call: Call, result: Any) -> Facts:
    return Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: result})


def _tool_start(name: str, arguments: Any, call_id: str | None) -> Start:
    attributes = {semconv.GEN_AI_TOOL_NAME: name, semconv.GEN_AI_TOOL_TYPE: "function"}
    if call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    return Start(f"{GenAiOperation.EXECUTE_TOOL} {name}", attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments})


def _record_questions(bus: ModuleType, account: Account) -> Undo:
    def emit(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        call = Call(instance, args, kwargs)
        source, event = call.argument(0, "source"), call.argument(1, "event")
        kind = getattr(event, "type", "")
        if kind in _ASKS:
            account.ask("recording a question", _lifecycle, account, LifecycleState.PAUSED, source, event.message)
        elif kind in _ANSWERS or (kind == "flow_started" and getattr(source, "_pending_feedback_context", None)):
            account.ask("recording an answer", _lifecycle, account, LifecycleState.RESUMED, source, "resumed")
        return wrapped(*args, **kwargs)

    return patch(bus.CrewAIEventsBus, "emit", emit)


def _lifecycle(account: Account, state: LifecycleState, flow: Any, value: str) -> None:
    if suppressed():
        return
    asks = state is LifecycleState.PAUSED
    attributes = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
    if asks:
        attributes[semconv.LIFECYCLE_PAUSE_REASON] = "human_input"
    op = DeltaOp.SET if asks else DeltaOp.DROP
    change = {"op": op.value, "kind": EntryKind.PENDING.value, "key": str(flow.flow_id), "value": value}
    account.start(Start(f"session {state}", attributes, {semconv.COMMIT_DELTA: [change]})).end()


def _turns(at_start: Callable[[Call], Start | None], *targets: str) -> tuple[Hook, ...]:
    return tuple(Hook(target, GenAiOperation.INVOKE_AGENT, at_start=at_start, at_end=_answered) for target in targets)


def _tools(at_start: Callable[[Call], Start], at_end: Callable[[Call, Any], Facts], *targets: str) -> tuple[Hook, ...]:
    return tuple(Hook(target, GenAiOperation.EXECUTE_TOOL, at_start=at_start, at_end=at_end) for target in targets)


CREWAI = Framework(
    "crewai",
    title="CrewAI",
    requires="crewai >= 1.15.29, < 2",
    records="crews, flows and agents that are kicked off as turns, with the agents inside; tools; delegations; questions to "
    "people; the id of a flow's state, or of a crew, is the session",
    hooks=(
        *_turns(_crew, "crewai.crew:Crew.kickoff", "crewai.crew:Crew.akickoff"),
        *_turns(_flow, "crewai.flow.runtime:Flow.kickoff_async"),
        *_turns(_resumed_flow, "crewai.flow.runtime:Flow.resume_async"),
        *_turns(_task, *(f"crewai.agent.core:Agent.{name}_without_timeout" for name in ("_execute", "_aexecute"))),
        *_turns(_standalone, "crewai.agent.core:Agent.kickoff"),
        *_turns(_standalone_async, "crewai.agent.core:Agent.kickoff_async", "crewai.lite_agent:LiteAgent.kickoff"),
        *_tools(
            _native_tool,
            _native_result,
            "crewai.agents.agent_executor:AgentExecutor._execute_single_native_tool_call",
            "crewai.agents.step_executor:execute_single_native_tool_call",
        ),
        *_tools(
            _text_tool, _text_result, *(f"crewai.tools.structured_tool:CrewStructuredTool.{m}" for m in ("invoke", "ainvoke"))
        ),
    ),
    extensions=(
        Extension("crewai.llms.base_llm", record_models),
        Extension("crewai.events.event_bus", _record_questions),
    ),
)
