"""Google ADK: a plugin of ours in every Runner takes ADK's own spans for the turns, agents and tools that they are, and says
what events change: state, artifacts, transfers, calls that wait for somebody.

ADK makes these spans by itself and for ever; where they do not come to turnlog, its own stand in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from opentelemetry.trace import get_current_span

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.adopted import Adopted, adopted
from turnlog.instrument.calls import Account, Start, suppressed
from turnlog.instrument.core import Extension, Framework, Undo, patch
from turnlog.instrument.google_adk_inference import above, follow_inference, own, start_of
from turnlog.instrument.google_adk_messages import calls_of, message, results_of
from turnlog.operation import Operation, error_type, innermost
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState, Outcome

_MOST_OPEN = 1_000
_CONFIRMATION = "adk_request_confirmation"
# State that does not outlive its invocation, and ADK's own.
_PASSING = ("temp:", "_adk")

Change = dict[str, str]


def _guarded(method: Callable[..., None]) -> Callable[..., Any]:
    """ADK's plugins are coroutines, and one that raises or returns something changes the run."""

    @functools.wraps(method)
    async def callback(self: _Plugin, **given: Any) -> None:
        if self.active and not suppressed():
            self.account.ask(method.__name__, functools.partial(method, self, **given))

    return callback


class _Plugin:
    """Mixed into ADK's plugin class, once that is there."""

    def __init__(self, account: Account) -> None:
        super().__init__(name="turnlog")  # type: ignore[call-arg]
        self.account = account
        self.active = True

    @_guarded
    def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
        self._turn(invocation_context, user_message)
        answers = [
            _change(DeltaOp.DROP, EntryKind.PENDING, result.id, as_text(result.response))
            for result in results_of(user_message)
            if result.id
        ]
        if answers:
            self._lifecycle(invocation_context, LifecycleState.RESUMED, answers)

    @_guarded
    def before_run_callback(self, *, invocation_context: Any) -> None:
        self._turn(invocation_context, invocation_context.user_content)

    def _turn(self, context: Any, user_message: Any) -> None:
        if adopted(get_current_span()) is not None or context.invocation_id in own:
            return
        name = context.agent.name
        attributes = {semconv.GEN_AI_AGENT_NAME: name, semconv.GEN_AI_CONVERSATION_ID: context.session.id}
        content = {} if user_message is None else {semconv.GEN_AI_INPUT_MESSAGES: [message(user_message)]}
        start = start_of(GenAiOperation.INVOKE_WORKFLOW, name, attributes, content)
        self._begin(start, context.invocation_id, "invocation", "invoke_workflow")

    @_guarded
    def after_run_callback(self, *, invocation_context: Any) -> None:
        self._end(invocation_context.invocation_id)

    @_guarded
    def on_run_error_callback(self, *, invocation_context: Any, error: BaseException) -> None:
        self._end(invocation_context.invocation_id, error)

    @_guarded
    def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        attributes = {semconv.GEN_AI_AGENT_NAME: agent.name, semconv.GEN_AI_CONVERSATION_ID: callback_context.session.id}
        self._begin(start_of(GenAiOperation.INVOKE_AGENT, agent.name, attributes, {}), "", "invoke_agent")

    @_guarded
    def on_agent_error_callback(self, *, agent: Any, callback_context: Any, error: BaseException) -> None:
        self._end("", error)

    @_guarded
    def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        attributes = {
            semconv.GEN_AI_TOOL_NAME: tool.name,
            semconv.GEN_AI_TOOL_TYPE: "function",
            semconv.GEN_AI_TOOL_CALL_ID: tool_context.function_call_id,
            semconv.GEN_AI_AGENT_NAME: tool_context.agent_name,
            semconv.GEN_AI_CONVERSATION_ID: tool_context.session.id,
        }
        # A copy: callbacks may change the arguments in place.
        start = start_of(
            GenAiOperation.EXECUTE_TOOL, tool.name, attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: dict(tool_args)}
        )
        self._begin(start, tool_context.function_call_id, "execute_tool", inside=tool_context.invocation_id)

    @_guarded
    def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> None:
        if (operation := _current(tool_context.function_call_id)) is None:
            return
        operation.set(content={semconv.GEN_AI_TOOL_CALL_RESULT: result})
        if tool_context.function_call_id in tool_context.actions.requested_tool_confirmations:
            # It did not run: it will, when it is confirmed.
            operation.set(content={semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value})
        self._end(tool_context.function_call_id)

    @_guarded
    def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: BaseException) -> None:
        self._end(tool_context.function_call_id, error)

    @_guarded
    def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        if event.partial:
            return
        actions = event.actions
        if changes := _changes(actions):
            attributes = {semconv.COMMIT_KIND: CommitKind.NOTE.value}
            self._say(invocation_context, Start("state delta", attributes, {semconv.COMMIT_DELTA: changes}))
        if actions.transfer_to_agent:
            choice = {semconv.DECISION_ABOUT: "agent", semconv.DECISION_CHOICE: actions.transfer_to_agent}
            reason = getattr(actions, "transfer_reason", None)
            content = {**choice, semconv.DECISION_REASON_TEXT: reason} if reason else choice
            self._say(invocation_context, Start("transfer", {semconv.COMMIT_KIND: CommitKind.DECISION.value}, content))
        waiting = event.long_running_tool_ids or ()
        if asked := [_pending(call) for call in calls_of(event) if call.id in waiting]:
            self._lifecycle(invocation_context, LifecycleState.PAUSED, asked)

    def _lifecycle(self, context: Any, state: LifecycleState, delta: list[Change]) -> None:
        attributes = {semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value, semconv.LIFECYCLE_STATE: state.value}
        if state is LifecycleState.PAUSED:
            confirming = any(change["value"].startswith("confirm ") for change in delta)
            attributes[semconv.LIFECYCLE_PAUSE_REASON] = "human_input" if confirming else "long_running_tool"
        self._say(context, Start(f"session {state}", attributes, {semconv.COMMIT_DELTA: delta}))

    def _say(self, context: Any, start: Start) -> None:
        self.account.start(start, above(context.invocation_id)).end()

    def _begin(self, start: Start, key: str, *prefixes: str, inside: str = "") -> None:
        self.account.calls += 1
        span = get_current_span()
        if getattr(span, "name", "").startswith(prefixes) and Adopted.take(span, start.attributes, start.content) is not None:
            return
        if key and adopted(span) is None:
            own[key] = self.account.start(start, above(inside))
            innermost.set(own[key])
            if len(own) > _MOST_OPEN:
                own.popitem(last=False)[1].end()

    def _end(self, key: str, error: BaseException | None = None) -> None:
        operation = _current(key)
        if operation is not None and error is not None:
            operation.fail(error)
            # As content too, because ADK's own span only says TOOL_ERROR of an error that the model is told of.
            operation.set(content={semconv.ERROR_TYPE: error_type(error)})
        if (ended := own.pop(key, None)) is not None:
            ended.end()
            if innermost.get() is ended:
                innermost.set(None)


def _current(key: str) -> Operation | None:
    return own.get(key) or adopted(get_current_span())


def _changes(actions: Any) -> list[Change]:
    facts = [
        _change(DeltaOp.SET, EntryKind.FACT, key, as_text(value))
        for key, value in (actions.state_delta or {}).items()
        if not key.startswith(_PASSING)
    ]
    return facts + [
        {**_change(DeltaOp.SET, EntryKind.FILE, f"artifact:{name}", f"version {version}"), "action": "write"}
        for name, version in (actions.artifact_delta or {}).items()
    ]


def _pending(call: Any) -> Change:
    args = call.args or {}
    if call.name == _CONFIRMATION and isinstance(asked := args.get("originalFunctionCall"), dict):
        return _change(
            DeltaOp.SET, EntryKind.PENDING, call.id, f"confirm {asked.get('name')} {as_text(asked.get('args') or {})}"
        )
    return _change(DeltaOp.SET, EntryKind.PENDING, call.id, f"{call.name} {as_text(args)}")


def _change(op: DeltaOp, kind: EntryKind, key: str, value: str) -> Change:
    return {"op": op.value, "kind": kind.value, "key": key, "value": value}


def _join_runners(runners: ModuleType, account: Account) -> Undo:
    base = import_module("google.adk.plugins.base_plugin").BasePlugin
    plugin = type("TurnlogPlugin", (_Plugin, base), {})(account)

    def join(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        wrapped(*args, **kwargs)
        account.ask("joining a runner", _add, instance)

    def _add(runner: Any) -> None:
        plugins = runner.plugin_manager.plugins
        # A runner inside a tool shares the plugins of the one around it.
        if plugin not in plugins:
            # First, because a plugin that answers keeps those after it from being asked.
            plugins.insert(0, plugin)

    unpatch = patch(runners.Runner, "__init__", join)

    def undo() -> None:
        unpatch()
        # A runner that was made meanwhile holds on to the plugin.
        plugin.active = False
        while own:
            own.popitem()[1].end()

    return undo


GOOGLE_ADK = Framework(
    "google_adk",
    title="Google ADK",
    requires="google-adk >= 2.13, < 3",
    records="runs as turns, agents, model calls and tools, on ADK's own spans; state, artifacts and transfers; long-running "
    "tools and confirmations as pending; the session's id is the session",
    extra="google-adk",
    extensions=(
        Extension("google.adk.runners", _join_runners),
        Extension("google.adk.telemetry._instrumentation", follow_inference),
    ),
    scopes=("gcp.vertex.agent", "opentelemetry.instrumentation.google_genai", "openinference.instrumentation.google_adk"),
)
