"""Runs of the OpenAI Agents SDK: which agent has the floor, and what waits for somebody's approval.

A run is a turn, and the operation of its first agent. Each agent that it is handed to is nested in it, from its first step
until the next one's. Tools that wait for an approval pause the session; the run on the state that was left resumes it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from opentelemetry.trace import set_span_in_context

from turnlog import semconv
from turnlog.instrument.calls import Account, Call, Frame, Hook, Run, Start, begin, context_of, finish_operation, running_tool
from turnlog.instrument.drivers import complete_async
from turnlog.instrument.openai_agents_messages import (
    agent_start,
    resumed_state,
    run_facts,
    run_start,
    tool_start,
)
from turnlog.instrument.openai_agents_unrun import record_unrun
from turnlog.operation import Operation
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState, Outcome

_RUN = Hook("a run", GenAiOperation.INVOKE_AGENT, at_start=run_start, at_end=run_facts)

Wrapped = Callable[..., Any]


class _Floor:
    """The agent that speaks in a run."""

    __slots__ = ("_account", "_agent", "_nested", "_run")

    def __init__(self, account: Account, run: Run, agent: Any) -> None:
        self._account = account
        self._run = run
        self._agent = agent
        self._nested: Operation | None = None

    def give(self, agent: Any) -> Frame:
        if agent is not self._agent:
            self.leave()
            self._agent = agent
            self._nested = self._account.start(agent_start(agent), set_span_in_context(self._run.operation.span))
        return Frame(context_of(self._nested, ""), self._nested) if self._nested else Frame()

    def leave(self, error: BaseException | None = None) -> None:
        nested, self._nested = self._nested, None
        if nested is not None:
            self._account.ask("ending an agent", finish_operation, nested, error)


# Put back by hand, not by token: a coroutine may be closed in another context than it ran in.
_floor: ContextVar[_Floor | None] = ContextVar("turnlog_openai_agents_run", default=None)


async def record_run(account: Account, wrapped: Wrapped, call: Call, read: Call) -> Any:
    """`read` is the call in the form of `AgentRunner.run`, whichever method it came by."""
    frame = begin(_RUN, account, read)
    if not isinstance(frame, Run):
        return await wrapped(*call.args, **call.kwargs)
    state, outer = resumed_state(read), _floor.get()
    if state is not None and frame.operation.content:
        # Messages that only tell where it belongs: nobody has said them again.
        account.ask("reading a state", frame.operation.set, {semconv.TURN_INPUT_HASH: "", semconv.TURN_INPUT_SUMMARY: ""})
    floor = _Floor(account, frame, getattr(state, "_current_agent", None) or read.argument(0, "starting_agent"))

    async def run() -> Any:
        if state is not None and outer is None:
            account.ask("reading approvals", _resume, account, state)
        try:
            result = await wrapped(*call.args, **call.kwargs)
        except BaseException as error:
            floor.leave(error)
            raise
        floor.leave()
        account.ask("reading interruptions", _pause, account, read.kwargs.get("streamed_result", result), outer is None)
        return result

    _floor.set(floor)
    try:
        return await complete_async(frame, run)
    finally:
        _floor.set(outer)


async def record_step(account: Account, wrapped: Wrapped, call: Call) -> Any:
    """One answer of the model and what it leads to, by the agent that has the floor."""
    floor, bindings = (
        _floor.get(),
        call.kwargs.get("bindings") or next((x for x in call.args if hasattr(x, "public_agent")), None),
    )
    frame = (
        account.ask("handing over", floor.give, bindings.public_agent) if floor is not None and bindings is not None else None
    )
    return await complete_async(frame or Frame(), wrapped, *call.args, **call.kwargs)


def tool_failed(error: BaseException) -> None:
    """The exception itself, of which the SDK tells the model and its traces only in words."""
    if (running := running_tool()) is not None:
        running.fail(error)


def record_note(account: Account, name: str, key: str, text: str) -> None:
    change = {"op": DeltaOp.SET.value, "kind": EntryKind.FACT.value, "key": key, "value": text}
    account.start(Start(name, {semconv.COMMIT_KIND: CommitKind.NOTE.value}, {semconv.COMMIT_DELTA: [change]})).end()


def _pause(account: Account, result: Any, outermost: bool) -> None:
    waiting, running = result.interruptions, running_tool()
    if running is not None:
        # The tool is an agent, and will run again with the answer.
        running.set(content={semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value if waiting else ""})
    elif waiting and outermost:
        changes = [_pending(DeltaOp.SET, item, f"approve {item.name} {item.arguments or ''}".rstrip()) for item in waiting]
        _lifecycle(account, LifecycleState.PAUSED, changes, "human_input")


def _resume(account: Account, state: Any) -> None:
    waiting = state.get_interruptions()
    if not waiting:
        return
    words = {True: "approved", False: "rejected", None: "not decided"}
    said = [state._context.get_approval_status(item.name, call_id_of(item), existing_pending=item) for item in waiting]
    changes = [_pending(DeltaOp.DROP, item, words[status]) for item, status in zip(waiting, said, strict=True)]
    _lifecycle(account, LifecycleState.RESUMED, changes)
    for item, status in zip(waiting, said, strict=True):
        if status is False:
            why = state._context.get_rejection_message(item.name, call_id_of(item), existing_pending=item)
            start = tool_start(item.name, call_id_of(item), item.arguments)
            record_unrun(account, start, "approval_rejected", why or "rejected")


def call_id_of(item: Any) -> str:
    raw = item.raw_item if isinstance(item.raw_item, dict) else vars(item.raw_item)
    return str(raw.get("call_id") or raw.get("id") or "")


def _pending(op: DeltaOp, item: Any, value: str) -> dict[str, str]:
    return {"op": op.value, "kind": EntryKind.PENDING.value, "key": call_id_of(item), "value": value}


def _lifecycle(account: Account, state: LifecycleState, changes: list[dict[str, str]], reason: str = "") -> None:
    attributes = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
    if reason:
        attributes[semconv.LIFECYCLE_PAUSE_REASON] = reason
    account.start(Start(f"session {state}", attributes, {semconv.COMMIT_DELTA: changes})).end()
