"""LangGraph: scopes of its runs, whose spans come from LangChain's callbacks; its interrupts and resumes as lifecycle commits.

A graph that stops at an interrupt pauses its session and leaves a question pending under the checkpoint's id; the run that
resumes from that checkpoint, in whatever process, takes the question away.
"""

from __future__ import annotations

from typing import Any

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.calls import Call, Hook, Start
from turnlog.instrument.core import Framework
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState


def _paused(call: Call) -> Start:
    event = call.argument(0, "event")
    questions = [as_text(each.value) for each in event.interrupts]
    # A breakpoint (interrupt_before, interrupt_after) asks nothing.
    reason = "human_input" if questions else "breakpoint"
    return _commit(LifecycleState.PAUSED, event, DeltaOp.SET, "; ".join(questions) or reason, reason)


def _resumed(call: Call) -> Start:
    return _commit(LifecycleState.RESUMED, call.argument(0, "event"), DeltaOp.DROP, "resumed")


def _commit(state: LifecycleState, event: Any, op: DeltaOp, value: str, reason: str = "") -> Start:
    attributes = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
    if reason:
        attributes[semconv.LIFECYCLE_PAUSE_REASON] = reason
    change = {"op": op.value, "kind": EntryKind.PENDING.value, "key": str(event.checkpoint_id), "value": value}
    return Start(f"session {state}", attributes, {semconv.COMMIT_DELTA: [change]})


LANGGRAPH = Framework(
    "langgraph",
    title="LangGraph",
    requires="langgraph >= 1.2, < 2",
    records="agents and graphs as turns (`create_agent`, `StateGraph`); `thread_id` is the session",
    extra="langchain",
    hooks=(
        *(Hook(f"langgraph.pregel.main:Pregel.{method}", GenAiOperation.INVOKE_AGENT) for method in ("stream", "astream")),
        *(
            # The managers are told of every event, also when nobody has a handler for it.
            Hook(f"langgraph.callbacks:{manager}.{method}", None, at_start=read)
            for manager in ("_GraphCallbackManager", "_AsyncGraphCallbackManager")
            for method, read in (("on_interrupt", _paused), ("on_resume", _resumed))
        ),
    ),
)
