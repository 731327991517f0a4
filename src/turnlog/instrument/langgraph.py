"""LangGraph: scopes of its runs, whose spans come from LangChain's callbacks; interrupts, resumes and checkpoints as commits.

A graph that stops at an interrupt pauses its session and leaves a question pending under the checkpoint's id; the run that
resumes from that checkpoint, in whatever process, takes the question away. A checkpoint names the one that it goes on from:
from that the store tells forks. Messages are no part of the state, unless somebody edits them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.calls import Account, Call, Facts, Hook, Start, suppressed
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.langchain_messages import message
from turnlog.instrument.late import end
from turnlog.semconv import CheckpointSource, CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState, Tier

Json = dict[str, Any]

# All others with such names carry what is to run next.
_OWN_CHANNELS = {"__root__", "__previous__"}
# LangGraph's, and those that deepagents copied from it.
_MESSAGE_REDUCERS = {"add_messages", "_add_messages", "_messages_delta_reducer"}


def _happened(call: Call) -> Start | None:
    """An interrupt, or a run that goes on from one. Only the outermost graph's: an inner one stops and goes on with it."""
    loop = call.instance
    if loop.is_nested:
        return None
    if call.argument(0, "kind") == "resume":
        # A run from an earlier checkpoint is a fork, and its checkpoint says so.
        if loop.is_replaying and getattr(loop.input, "resume", None) is None:
            return None
        return _lifecycle(LifecycleState.RESUMED, loop, DeltaOp.DROP, "resumed")
    questions = [as_text(each.value) for each in call.kwargs.get("interrupts") or ()]
    # A breakpoint (interrupt_before, interrupt_after) asks nothing.
    reason = "human_input" if questions else "breakpoint"
    return _lifecycle(LifecycleState.PAUSED, loop, DeltaOp.SET, "; ".join(questions) or reason, reason)


def _lifecycle(state: LifecycleState, loop: Any, op: DeltaOp, value: str, reason: str = "") -> Start:
    attributes = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
    if reason:
        attributes[semconv.LIFECYCLE_PAUSE_REASON] = reason
    change = {"op": op.value, "kind": EntryKind.PENDING.value, "key": str(loop.checkpoint["id"]), "value": value}
    return Start(f"session {state}", attributes, {semconv.COMMIT_DELTA: [change]})


class _Checkpoints:
    """Of a checkpoint that a run saves of its bare input, the next says all: its step has only put the input in its places.

    The first of a run that does not go on from what was last said has the whole state: what an abandoned path wrote is no part
    of it, and what was edited is as the reducers left it.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._begun: WeakKeyDictionary[Any, Json | None] = WeakKeyDictionary()
        self._departs: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def put(self, wrapped: Callable[..., Any], loop: Any, args: tuple[Any, ...], kwargs: Json) -> Any:
        self._account.ask("reading a checkpoint", self._meet, loop)
        before, versions = getattr(loop, "checkpoint_config", None), getattr(loop, "checkpoint_previous_versions", {})
        result = wrapped(*args, **kwargs)
        # Not of a graph without a checkpointer, nor of steps that are only saved with the last.
        if getattr(loop, "checkpoint_config", None) is not before and not suppressed():
            self._account.ask("reading a checkpoint", self._saved, loop, versions)
        return result

    def _meet(self, loop: Any) -> None:
        if loop not in self._departs:
            self._departs[loop] = _departs(loop)

    def _saved(self, loop: Any, versions: Mapping[str, Any]) -> None:
        metadata, now = loop.checkpoint_metadata, loop.checkpoint["channel_versions"]
        names = [name for name in now if versions.get(name) != now[name] and _is_state(name)]
        source = CheckpointSource.STEP if metadata["source"] == "loop" else CheckpointSource(metadata["source"])
        parent = loop.prev_checkpoint_config
        if source is CheckpointSource.INPUT and not names:
            self._begun[loop] = parent
            return
        if loop in self._begun:
            source, parent = CheckpointSource.INPUT, self._begun.pop(loop)
        head = f"step {metadata['step']}" if source is CheckpointSource.STEP else source.value
        config = loop.checkpoint_config
        place, passes = _place(config)
        said = filter(_is_state, loop.channels) if self._departs.get(loop) else names
        self._departs[loop] = False
        changes = [] if passes else [_change(f"{place}{name}", loop.channels[name]) for name in said]
        content = _content(head, [f"{place}{name}" for name in names], [change for change in changes if change])
        end(self._account.start(Start("checkpoint", _checkpoint(source, config, parent), content)))


def _departs(loop: Any) -> bool:
    """Whether a run that has saved nothing yet begins at a checkpoint that was named, or that no run has saved."""
    is_named = loop.config["configurable"].get("checkpoint_id") is not None
    return is_named or loop.checkpoint_metadata.get("source") in ("update", "fork")


def _watch_checkpoints(loops: ModuleType, account: Account) -> Undo:
    return patch(loops.PregelLoop, "_put_checkpoint", _Checkpoints(account).put)


def _updating(call: Call) -> Start | None:
    config = call.argument(0, "config")
    given = config["configurable"]
    # That is passed on to the graph of that name, which comes here itself.
    if given.get("checkpoint_ns") and "__pregel_checkpointer" not in given:
        return None
    unsaved = {"configurable": {**given, "checkpoint_id": None}}
    return Start("update_state", _checkpoint(CheckpointSource.UPDATE, unsaved, config))


def _updated(call: Call, result: Any) -> Facts:
    place, _ = _place(result)
    updates = [update for superstep in call.argument(1, "supersteps") for update in superstep]
    given = {name: value for update in updates if isinstance(update[0], Mapping) for name, value in update[0].items()}
    changes = [
        _edit(f"{place}{name}", channel, value)
        for name, value in given.items()
        if (channel := call.instance.channels.get(name)) is not None
    ]
    nodes = ", ".join(dict.fromkeys(str(update[1]) for update in updates if update[1]))
    saved = {semconv.CHECKPOINT_ID: result["configurable"].get("checkpoint_id")}
    return Facts(saved, _content(f"update as {nodes}" if nodes else "update", [change["key"] for change in changes], changes))


def _checkpoint(source: CheckpointSource, saved: Json, parent: Json | None) -> Json:
    thread = saved["configurable"].get("thread_id")
    attributes = {
        semconv.COMMIT_KIND: CommitKind.STATE.value,
        semconv.GEN_AI_CONVERSATION_ID: None if thread is None else str(thread),
        semconv.CHECKPOINT_ID: saved["configurable"].get("checkpoint_id"),
        semconv.CHECKPOINT_PARENT_ID: parent["configurable"].get("checkpoint_id") if parent else None,
        semconv.CHECKPOINT_SOURCE: source.value,
    }
    return {key: value for key, value in attributes.items() if value is not None}


def _content(head: str, keys: list[str], changes: list[Json]) -> Json:
    return {semconv.COMMIT_DELTA: changes, semconv.COMMIT_INPUT_SUMMARY: f"{head}: {', '.join(keys)}" if keys else head}


def _is_state(channel: str) -> bool:
    return channel in _OWN_CHANNELS or not (channel.startswith("__") or ":" in channel)


def _change(key: str, channel: Any) -> Json | None:
    if channel.is_available():
        value = channel.get()
        # Messages are in the log as turns, decisions and tools; hashing them all at every step costs more than the step.
        return None if _holds_messages(channel, value) else _set(key, value)
    if type(channel).__name__ == "EphemeralValue":
        return None
    return {"op": DeltaOp.DROP.value, "kind": EntryKind.STATE.value, "key": key, "value": ""}


def _edit(key: str, channel: Any, given: Any) -> Json:
    replaces = type(channel).__name__ == "LastValue"
    if type(given).__name__ == "Overwrite":
        given, replaces = given.value, True
    if _holds_messages(channel, given):
        lines = "; ".join(map(_line, given if isinstance(given, list) else [given]))
        return {**_set(key, lines if replaces else f"written {lines}"), "tier": Tier.TRANSIENT.value}
    # What a reducer made of it is known to the graph alone.
    return _set(key, given if replaces else {"written": given})


def _set(key: str, value: Any) -> Json:
    return {"op": DeltaOp.SET.value, "kind": EntryKind.STATE.value, "key": key, "value": value}


def _holds_messages(channel: Any, value: Any) -> bool:
    """By its reducer, which also tells when there are none, or by the last of them."""
    reducer = getattr(channel, "operator", None) or getattr(channel, "reducer", None)
    if getattr(getattr(reducer, "func", reducer), "__name__", "") in _MESSAGE_REDUCERS:
        return True
    last = value[-1] if isinstance(value, list) and value else None
    if isinstance(last, Mapping):
        return "role" in last and "content" in last
    return hasattr(last, "content") and hasattr(last, "type")


def _line(raw: Any) -> str:
    if getattr(raw, "type", "") == "remove":
        return "remove all" if raw.id == "__remove_all__" else f"remove {raw.id}"
    given = message(raw)
    return f"{given['role']}: {' '.join(map(_words, given['parts']))}"


def _words(part: Json) -> str:
    if part.get("type") == "tool_call":
        return f"call {part['name']}"
    return as_text(part.get("content") or part.get("response") or part.get("type"))


def _place(config: Json) -> tuple[str, bool]:
    """Where a graph is inside others, `outer/inner/`, and whether its state passes with its run."""
    namespace = config["configurable"].get("checkpoint_ns") or ""
    return "".join(f"{part.partition(':')[0]}/" for part in namespace.split("|") if part), ":" in namespace


LANGGRAPH = Framework(
    "langgraph",
    title="LangGraph",
    requires="langgraph >= 1.2, < 2",
    records="agents and graphs as turns (`create_agent`, `StateGraph`, deepagents); `thread_id` is the session; interrupts, "
    "checkpoints and edits of the state",
    extra="langchain",
    hooks=(
        *(Hook(f"langgraph.pregel.main:Pregel.{method}", GenAiOperation.INVOKE_AGENT) for method in ("stream", "astream")),
        *(
            Hook(f"langgraph.pregel.main:Pregel.{method}", None, at_start=_updating, at_end=_updated)
            for method in ("bulk_update_state", "abulk_update_state")
        ),
        # Told of every event, also when nobody has a handler for it.
        Hook("langgraph.pregel._loop:PregelLoop._push_graph_lifecycle_event", None, at_start=_happened),
    ),
    extensions=(Extension("langgraph.pregel._loop", _watch_checkpoints),),
)
