"""One hooked call: which operation it is, current only while the framework's code runs, ended exactly once.

A hook that reads its call starts a Run. A hook that only surrounds code whose own callbacks start the operation lends
them a Scope. The drivers step either of them.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, TracerProvider, get_current_span

from turnlog import semconv
from turnlog.foreign import MODEL_CALLS, OPENINFERENCE_KIND, is_instrumentation, operation_of
from turnlog.instrument.adopted import Adopted, Expected, adopted
from turnlog.instrument.late import any_late, end, end_late
from turnlog.operation import SCOPE, Operation, awaited, claim_started, default_tracer, innermost, unwrapped
from turnlog.semconv import GenAiOperation
from turnlog.span_attributes import attributes_of
from turnlog.unsampled import in_context

_log = logging.getLogger("turnlog")
_OWNER = otel.create_key("turnlog-owner")
_TOOL = otel.create_key("turnlog-tool")
_SUPPRESSED = (otel._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation")
_TOOL_CALLS = {GenAiOperation.EXECUTE_TOOL.value}
_LENT = (semconv.SERVER_ADDRESS, semconv.SERVER_PORT)


class Call(NamedTuple):
    instance: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def argument(self, position: int, name: str) -> Any:
        return self.kwargs[name] if name in self.kwargs else self.args[position] if position < len(self.args) else None


@dataclass(frozen=True, slots=True)
class Start:
    """What is known when an operation starts. `adopted` is the span that the framework has started for it. `alone`: it is known
    that there is no other."""

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)
    kind: SpanKind = SpanKind.INTERNAL
    adopted: Adopted | None = None
    alone: bool = False


class Facts(NamedTuple):
    """What became known later. `error` is an error.type, for a failure that was answered and not raised."""

    attributes: dict[str, Any]
    content: dict[str, Any]
    error: str = ""


class Collector(Protocol):
    """Adds up the items of a stream."""

    def add(self, item: Any) -> None: ...
    def facts(self) -> Facts | None: ...


@dataclass(frozen=True, slots=True)
class Hook:
    """One function to wrap, and pure functions that read its calls.

    A target may end in several names, `Client._request|request`: the first that this version of the framework has.
    Without `at_start` the hook is a Scope for the framework's own callbacks. `follow` takes charge of a result that
    streams on after the call has returned, and says whether it did. `at_error` says what a failure is, where its type does not
    tell. Without an operation the call is a commit by itself, and `at_start` says which. `inside` are scopes of other
    instrumentations that make their span of the call when it has begun.
    """

    target: str
    operation: GenAiOperation | None
    at_start: Callable[[Call], Start | None] | None = None
    at_end: Callable[[Call, Any], Facts] | None = None
    at_error: Callable[[Call, BaseException], Facts | None] | None = None
    collect: Callable[[Call], Collector] | None = None
    follow: Callable[[Run, Any], bool] | None = None
    inside: tuple[str, ...] = ()


def scope_of(framework: str) -> str:
    """The scope of the spans that turnlog makes for a framework."""
    return f"{SCOPE}.{framework}"


class Account:
    """What one framework's hooks share: where spans go, how many calls were seen, what was complained about."""

    def __init__(self, framework: str, scopes: tuple[str, ...] = ()) -> None:
        self.framework = framework
        self.scopes = scopes
        self.calls = 0
        self._scope = scope_of(framework)
        self._tracer: Tracer | None = None
        self._complaints: set[str] = set()

    @property
    def tracer(self) -> Tracer:
        return self._tracer or default_tracer(self._scope)

    def use(self, provider: TracerProvider | None) -> None:
        """Where its spans go; None is whatever provider is in force."""
        self._tracer = provider.get_tracer(self._scope, schema_url=semconv.SCHEMA_URL) if provider else None

    def start(self, start: Start, parent: Context | None = None, start_ns: int | None = None) -> Operation:
        """The operation, on the span that another instrumentation has started for it if there is one; a commit has none."""
        may_stand = semconv.GEN_AI_OPERATION_NAME in start.attributes and not start.alone
        if may_stand and (found := _standing_for(start, self.scopes)) is not None:
            return found
        name, attributes, content = start.name, start.attributes, start.content
        return Operation.start(name, attributes, content, kind=start.kind, parent=parent, tracer=self.tracer, start_ns=start_ns)

    def ask(self, place: str, function: Callable[..., Any], *args: Any, default: Any = None) -> Any:
        """Our own code on the application's path: a failure costs its answer and one log line per place."""
        try:
            return function(*args)
        except Exception as error:  # noqa: BLE001 - the application comes first
            self.complain(place, error)
            return default

    def complain(self, place: str, error: Exception) -> None:
        if place not in self._complaints:
            self._complaints.add(place)
            _log.warning("turnlog: %s: %s failed, its facts are missing: %r", self.framework, place, error)


def suppressed() -> bool:
    here = otel.get_current()
    return bool(here) and any(map(here.get, _SUPPRESSED))


def finish_operation(operation: Operation, error: BaseException | None) -> None:
    # A generator that is left early was not a failure of the operation: what was read stands.
    if error is not None and not isinstance(error, GeneratorExit):
        operation.fail(error)
    end(operation)


def learn(operation: Operation, facts: Facts) -> None:
    operation.set(facts.attributes, facts.content)
    if facts.error:
        operation.set({semconv.ERROR_TYPE: facts.error})
        operation.span.set_status(Status(StatusCode.ERROR))


def is_model_call(attributes: dict[str, Any]) -> bool:
    return attributes.get(semconv.GEN_AI_OPERATION_NAME) in MODEL_CALLS


def owner() -> Operation | None:
    """The model call inside which this code runs, if turnlog records it already."""
    return _inside(_OWNER, MODEL_CALLS)


def running_tool() -> Operation | None:
    """The tool call inside which this code runs, if turnlog records it already."""
    return _inside(_TOOL, _TOOL_CALLS)


def _inside(key: str, operations: set[str]) -> Operation | None:
    found = otel.get_value(key)
    if isinstance(found, Operation) and found.span.is_recording():
        return found
    # Whoever makes spans too may have put its own context, from before ours, around the call.
    own = innermost.get()
    if own is not None and own.span.is_recording() and operation_of(own.known()) in operations:
        return own
    taken = adopted(get_current_span())
    return taken if taken is not None and operation_of(taken.known()) in operations else None


def context_of(operation: Operation, name: str) -> Context:
    """The context in which an operation's code runs. Inside a model call or a tool, whoever else sees that call steps back."""
    context = otel.get_current() if isinstance(operation, Expected) else in_context(operation.span)
    if name == GenAiOperation.EXECUTE_TOOL:
        return otel.set_value(_TOOL, operation, context)
    return otel.set_value(_OWNER, operation, context) if name in MODEL_CALLS else context


def _put_back(reset: Callable[[Any], None], token: Token[Any]) -> None:
    """A coroutine can be closed in another context than it ran in: there is nothing to put back then."""
    try:
        reset(token)
    except ValueError:
        return


class Frame:
    """What a driver steps: `with frame:` around the framework's code, then saw, returned or finish."""

    __slots__ = ("_before", "_context", "_runs", "_token")

    def __init__(self, context: Context | None = None, runs: Operation | None = None) -> None:
        self._context = context
        self._runs = runs
        self._token: Token[Context] | None = None
        self._before: Token[Operation | None] | None = None

    @property
    def stepping(self) -> bool:
        return self._token is not None

    def __enter__(self) -> None:
        if self._context is not None:
            self._token = otel.attach(self._context)
        if self._runs is not None:
            self._before = innermost.set(self._runs)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        token, self._token = self._token, None
        before, self._before = self._before, None
        if before is not None:
            _put_back(innermost.reset, before)
        if token is not None:
            _put_back(otel._RUNTIME_CONTEXT.detach, token)

    def saw(self, item: Any) -> None:
        pass

    def returned(self, result: Any) -> None:
        self.finish()

    def finish(self, error: BaseException | None = None) -> None:
        pass

    def __del__(self) -> None:
        """Whoever abandons a stream does not tell."""
        self.finish()


class Run(Frame):
    """A call that is an operation by itself."""

    __slots__ = ("_account", "_collector", "_finished", "call", "hook", "operation")

    def __init__(self, hook: Hook, account: Account, call: Call, operation: Operation, name: str) -> None:
        super().__init__(context_of(operation, name), operation)
        self.hook = hook
        self.call = call
        self.operation = operation
        self._account = account
        self._collector: Collector | None = None
        self._finished = False

    def saw(self, item: Any) -> None:
        if self._collector is None and self.hook.collect is not None:
            self._collector = self._ask(self.hook.collect, self.call)
        if self._collector is not None:
            self._ask(self._collector.add, item)

    def collect_with(self, collect: Callable[[], Collector]) -> None:
        self._collector = self._ask(collect)

    def returned(self, result: Any) -> None:
        if self.hook.follow is None or not self._ask(self.hook.follow, self, result):
            self.conclude(result)

    def conclude(self, result: Any) -> None:
        if self.hook.at_end is not None and not self._finished:
            self._learn(self._ask(self.hook.at_end, self.call, result))
        self.finish()

    def conclude_with(self, read: Callable[[], Any]) -> None:
        self.conclude(self._ask(read))

    def finish(self, error: BaseException | None = None) -> None:
        if self._finished:
            return
        self._finished = True
        if self._collector is not None:
            self._learn(self._ask(self._collector.facts))
        if error is not None and self.hook.at_error is not None:
            told: Facts | None = self._ask(self.hook.at_error, self.call, error)
            self._learn(told)
            error = error if told is None else None
        self._ask(finish_operation, self.operation, error)

    def _learn(self, facts: Facts | None) -> None:
        if facts is not None:
            self._ask(learn, self.operation, facts)

    def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._account.ask(self.hook.target, function, *args)


_scope: ContextVar[Scope | None] = ContextVar("turnlog_scope", default=None)


class Scope(Frame):
    """A call inside which a callback of the framework starts the operation: current in it, over when it is over.

    Callbacks alone cannot do this: an async end callback runs in a task of its own, where nothing can be detached, and
    a cancelled call has no end callback at all.
    """

    __slots__ = ("_finish", "_taken", "_untaken", "call", "operation")

    def __init__(self, operation: GenAiOperation, call: Call) -> None:
        super().__init__()
        self.operation = operation
        self.call = call
        self._taken = False
        self._untaken: Token[Scope | None] | None = None
        self._finish: Callable[[BaseException | None], None] | None = None

    def __enter__(self) -> None:
        if not self._taken:
            self._untaken = _scope.set(self)
        super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        if self._untaken is not None:
            token, self._untaken = self._untaken, None
            _put_back(_scope.reset, token)

    @classmethod
    def take(cls, operation: GenAiOperation) -> Scope | None:
        """The scope of the call that is just starting, for its first callback; later ones get none."""
        scope = _scope.get()
        if scope is None or scope.operation is not operation:
            return None
        scope._taken = True
        _scope.set(None)
        return scope

    def hold(self, operation: Operation, finish: Callable[[BaseException | None], None]) -> None:
        self._finish = finish
        self._context, self._runs = context_of(operation, self.operation.value), operation
        super().__enter__()

    def finish(self, error: BaseException | None = None) -> None:
        finish, self._finish = self._finish, None
        if finish is not None:
            finish(error)


def begin(hook: Hook, account: Account, call: Call) -> Frame | None:
    if any_late():
        account.ask("ending abandoned spans", end_late)
    if suppressed():
        return None
    account.calls += 1
    if hook.at_start is None:
        return Scope(hook.operation, call) if hook.operation else None
    least = Start(hook.operation.value) if hook.operation else None
    start: Start | None = account.ask(hook.target, hook.at_start, call, default=least)
    run: Run | None = None if start is None else account.ask(hook.target, _begin_run, hook, account, call, start)
    return run


def _begin_run(hook: Hook, account: Account, call: Call, start: Start) -> Run | None:
    name = start.attributes.setdefault(semconv.GEN_AI_OPERATION_NAME, hook.operation.value) if hook.operation else ""
    outer = owner() if start.adopted is None and is_model_call(start.attributes) else None
    if outer is not None:
        outer.set({key: start.attributes.get(key) for key in _LENT})
        return None
    if hook.inside and _scope_of(unwrapped(get_current_span())) in hook.inside:
        # Who makes a span of the run makes one of the call.
        begin = functools.partial(account.start, start, start_ns=time.time_ns())
        operation: Operation = Expected(begin, start.content)
    else:
        operation = start.adopted or account.start(start)
    run = Run(hook, account, call, operation, name)
    if isinstance(operation, Adopted) and not operation.waits:
        operation.run = run
    return run


def _standing_for(start: Start, scopes: tuple[str, ...]) -> Adopted | None:
    """The span that another instrumentation of the same library has started for this very call: the current one, or, of those
    that callbacks have started just before ours was called, the latest."""
    noted = claim_started()
    here = unwrapped(get_current_span())
    is_awaited = awaited.get(_scope_of(here), 0) > 0
    if not noted and not is_awaited:
        return None
    wanted = str(start.attributes.get(semconv.GEN_AI_OPERATION_NAME, ""))
    started = [span for span in noted if _scope_of(span) in scopes and _may_be(span, wanted)]
    current = [here] if is_awaited and _is_same(here, wanted) else []
    for span in (*current, *started):
        taken = Adopted.take(span, start.attributes, start.content, waits=is_instrumentation(_scope_of(span)))
        if taken is not None:
            others = {_scope_of(other): other for other in reversed(started)}
            for scope in others.keys() - {_scope_of(span)}:
                taken.stand_for(others[scope])
            return taken
    return None


def _is_same(span: Any, wanted: str) -> bool:
    found = operation_of(attributes_of(span))
    return found == wanted or (found in MODEL_CALLS and wanted in MODEL_CALLS)


def _may_be(span: Any, wanted: str) -> bool:
    """Some only say later what a span is."""
    known = attributes_of(span)
    return _is_same(span, wanted) or not (operation_of(known) or OPENINFERENCE_KIND in known)


def _scope_of(span: Any) -> str:
    scope = getattr(span, "instrumentation_scope", None)
    return "" if scope is None else str(scope.name)
