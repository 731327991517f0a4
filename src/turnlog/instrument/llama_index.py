"""LlamaIndex: runs of agents and workflows as turns, the model calls of every integration, tools, questions to people.

A run goes on in tasks of its own after `run()` has returned: they inherit its context from the call that makes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from opentelemetry.trace import set_span_in_context

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.calls import Account, Call, Facts, Frame, Hook, Run, Start, begin, finish_operation, suppressed
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.drivers import complete, complete_async
from turnlog.instrument.llama_index_messages import mark, message, result_facts
from turnlog.instrument.llama_index_models import record_models
from turnlog.instrument.llama_index_tools import BARE_TOOLS, record_tools
from turnlog.operation import Messages, Operation
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState

Json = dict[str, Any]


class _Team:
    """The agents of one run, of which one at a time has the word."""

    def __init__(self, account: Account, run: Run, session: str) -> None:
        self._account = account
        self._run = run
        self._speaking: tuple[str, Operation] | None = None
        self.session = session

    def give_word(self, agent: str) -> None:
        if self._speaking is None or self._speaking[0] != agent:
            self.end()
            attributes = {
                semconv.GEN_AI_OPERATION_NAME: GenAiOperation.INVOKE_AGENT.value,
                semconv.GEN_AI_AGENT_NAME: agent,
            }
            parent = set_span_in_context(self._run.operation.span)
            self._speaking = agent, self._account.start(Start(f"{GenAiOperation.INVOKE_AGENT} {agent}", attributes), parent)

    def frame(self) -> Frame:
        return Frame(set_span_in_context(self._speaking[1].span) if self._speaking else None)

    def end(self) -> None:
        if self._speaking is not None:
            self._account.ask("ending a span", finish_operation, self._speaking[1], None)
            self._speaking = None


_team: ContextVar[_Team | None] = ContextVar("turnlog_llama_index_team", default=None)


def _record_runs(workflows: ModuleType, account: Account) -> Undo:
    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        call = Call(instance, args, kwargs)
        frame = begin(_RUN, account, call)
        if not isinstance(frame, Run):
            return wrapped(*args, **kwargs)
        token = _team.set(_Team(account, frame, account.ask("reading a session", _session, call, default="")))
        try:
            return complete(frame, wrapped, *args, **kwargs)
        finally:
            _team.reset(token)

    return patch(workflows.Workflow, "run", run)


def _turn(call: Call) -> Start:
    workflow = call.instance
    agents = getattr(workflow, "agents", None) or {}
    is_agent = bool(agents) or hasattr(workflow, "take_step")
    operation = GenAiOperation.INVOKE_AGENT if is_agent else GenAiOperation.INVOKE_WORKFLOW
    own = next(iter(agents)) if len(agents) == 1 else vars(workflow).get("name")
    name = own if isinstance(own, str) else type(workflow).__name__
    attributes = {semconv.GEN_AI_OPERATION_NAME: operation.value, semconv.GEN_AI_AGENT_NAME: name}
    if session := _session(call):
        attributes[semconv.GEN_AI_CONVERSATION_ID] = session
    given = _input(call)
    content = {semconv.GEN_AI_INPUT_MESSAGES: Messages(given, message, mark=mark)} if given else {}
    return Start(f"{operation} {name}", attributes, content)


def _session(call: Call) -> str:
    return str(getattr(_memory(call), "session_id", None) or "")


def _memory(call: Call) -> Any:
    """The memory that the run is given, else the one that its context has from an earlier run."""
    face = getattr(call.argument(0, "ctx"), "_face", None)
    # Before its first run, asking a context for its store would make one.
    store: Any = getattr(face, "_store", None) if hasattr(face, "_init_snapshot") else getattr(face, "store", None)
    record = store._memory_storage.load_sync() if hasattr(store, "_memory_storage") else None
    kept = getattr(getattr(record, "data", None), "get", lambda key, default: default)("memory", None)
    return _given(call, "memory") or kept


def _input(call: Call) -> list[Any]:
    if getattr(call.argument(0, "ctx"), "is_running", False):
        # It goes on with what it was given before.
        return []
    history, said = _given(call, "chat_history"), _given(call, "user_msg")
    if not history:
        memory = _memory(call)
        kept = getattr(getattr(memory, "chat_store", None), "store", None)
        history = kept.get(memory.chat_store_key) if isinstance(kept, dict) else None
    if said is not None or history:
        return [*(history or ()), *([said] if said else [])]
    event = call.argument(1, "start_event")
    fields = dict(event.items()) if event is not None else call.kwargs
    values = [value for key, value in fields.items() if key not in ("ctx", "start_event", "run_id") and value is not None]
    return [as_text(values[0] if len(values) == 1 else fields)] if values else []


def _given(call: Call, name: str) -> Any:
    event = call.argument(1, "start_event")
    return event.get(name, None) if event is not None else call.kwargs.get(name)


def _follow(run: Run, handler: Any) -> bool:
    team = _team.get()

    def over(task: asyncio.Future[Any]) -> None:
        if team is not None:
            team.end()
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            run.conclude(task.result())
        else:
            cancelled = type(error).__name__ == "WorkflowCancelledByUser"
            run.finish(asyncio.CancelledError() if cancelled else error)

    handler._result_task.add_done_callback(over)
    return True


def _stopped(call: Call, event: Any) -> Facts:
    return result_facts(getattr(event, "result", event))


_RUN = Hook("llama-index's runs", GenAiOperation.INVOKE_AGENT, at_start=_turn, at_end=_stopped, follow=_follow)


def _record_team(agents: ModuleType, account: Account) -> Undo:
    """Between the agents of a workflow, the steps of a run say who has the word."""

    async def speak(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        team = _team.get()
        if team is None or len(instance.agents) < 2:
            return await wrapped(*args, **kwargs)
        account.ask(
            "following a handoff", lambda: team.give_word(Call(instance, args, kwargs).argument(1, "ev").current_agent_name)
        )
        return await complete_async(team.frame(), wrapped, *args, **kwargs)

    async def call(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        team = _team.get()
        return await complete_async(team.frame() if team is not None else Frame(), wrapped, *args, **kwargs)

    return _both(patch(agents.AgentWorkflow, "run_agent_step", speak), patch(agents.AgentWorkflow, "call_tool", call))


def _record_questions(basic: ModuleType, account: Account) -> Undo:
    async def publish(wrapped: Callable[..., Any], adapter: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        event = Call(adapter, args, kwargs).argument(0, "event")
        if _is_a(event, "InputRequiredEvent"):
            account.ask("recording a question", _lifecycle, account, LifecycleState.PAUSED, adapter, event)
        return await wrapped(*args, **kwargs)

    async def receive(wrapped: Callable[..., Any], adapter: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        event = getattr(Call(adapter, args, kwargs).argument(0, "tick"), "event", None)
        if _is_a(event, "HumanResponseEvent"):
            account.ask("recording an answer", _lifecycle, account, LifecycleState.RESUMED, adapter, event)
        return await wrapped(*args, **kwargs)

    owner = basic.InternalAsyncioAdapter
    return _both(patch(owner, "write_to_event_stream", publish), patch(owner, "on_tick", receive))


def _both(first: Undo, second: Undo) -> Undo:
    def undo() -> None:
        first()
        second()

    return undo


def _is_a(event: Any, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(event).__mro__)


def _lifecycle(account: Account, state: LifecycleState, adapter: Any, event: Any) -> None:
    """The answer has no word for the question that it is to: a run, or a session, has one open at a time."""
    team = _team.get()
    if team is None or suppressed():
        return
    asks = state is LifecycleState.PAUSED
    attributes = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
    if asks:
        attributes[semconv.LIFECYCLE_PAUSE_REASON] = "human_input"
    fields = {key: value for key, value in event.items() if value not in (None, "")}
    change = {
        "op": (DeltaOp.SET if asks else DeltaOp.DROP).value,
        "kind": EntryKind.PENDING.value,
        "key": team.session or adapter.run_id,
        "value": as_text(next(iter(fields.values())) if len(fields) == 1 else fields) if asks else "resumed",
    }
    account.start(Start(f"session {state}", attributes, {semconv.COMMIT_DELTA: [change]})).end()


LLAMA_INDEX = Framework(
    "llama_index",
    title="LlamaIndex",
    requires="llama-index-core >= 0.14.22, < 0.15",
    records="agents, agent workflows and other workflows as turns; chat and completion of every integration; tools; handoffs; "
    "questions to people; `Memory.session_id` is the session",
    extra="llama-index",
    hooks=BARE_TOOLS,
    extensions=(
        Extension("workflows.workflow", _record_runs),
        Extension("workflows.plugins.basic", _record_questions),
        Extension("llama_index.core.llms.llm", record_models),
        Extension("llama_index.core.agent.workflow.base_agent", record_tools),
        Extension("llama_index.core.agent.workflow.multi_agent_workflow", record_tools),
        Extension("llama_index.core.agent.workflow.multi_agent_workflow", _record_team),
    ),
)
