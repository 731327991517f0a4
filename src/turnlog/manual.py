"""State by hand, for home-made agents: turns, tools, decisions, facts and pending actions as ordinary GenAI spans.

Before `turnlog.init()` every function here does its work and records nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import wraps
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from opentelemetry.trace import format_span_id

from turnlog import semconv, stating, transitions
from turnlog.content import ContentPolicy, as_text
from turnlog.instrument.calls import Account, Call, Facts, Frame, Hook, Start, context_of
from turnlog.instrument.drivers import driver_for
from turnlog.instrument.recorded import Recorded
from turnlog.operation import Operation, error_text, error_type
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState, Tier
from turnlog.settings import read_settings

P = ParamSpec("P")
T = TypeVar("T")
Attributes = dict[str, Any] | None

VERIFY = "verify"
_ADDRESS = re.compile(r"(?:hmac-)?sha256:[0-9a-f]{64}|[0-9a-f]{16}")
_account = Account("turnlog")


class Boundary:
    """What stands between a recorded call and the tool's own function: nothing. A replay puts its own in this place."""

    def through(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def told(self, operation: Operation, **said: Any) -> None:
        """What the application has recorded, in the words of `tell_again`."""


boundary = Boundary()


class TurnHandle:
    """The running turn. Give it the agent's answer, and the answer becomes part of the record."""

    __slots__ = ("_operation",)

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def answer(self, output: object) -> None:
        said = _account.ask("answer", _messages, "assistant", output, default=[])
        self._operation.set(content={semconv.GEN_AI_OUTPUT_MESSAGES: said})


@contextmanager
def turn(input: object = "", *, agent: str = "") -> Iterator[TurnHandle]:
    """One input to the agent until its answer. Everything inside belongs to this turn."""
    attributes = {semconv.GEN_AI_OPERATION_NAME: GenAiOperation.INVOKE_AGENT.value}
    if agent:
        attributes[semconv.GEN_AI_AGENT_NAME] = agent
    said = _account.ask("turn", _messages, "user", input, default=[])
    content = {semconv.GEN_AI_INPUT_MESSAGES: said} if said else {}
    operation = Operation.start(f"invoke_agent {agent}".strip(), attributes, content)
    try:
        with operation.current():
            yield TurnHandle(operation)
    except BaseException as error:
        operation.fail(error)
        raise
    finally:
        operation.end()


def decide(choice: str, *, why: str = "", alternatives: Sequence[str] | None = (), about: str = "") -> None:
    """Record a decision and its reason. A later decision about the same thing replaces it, and `turnlog diff` shows both."""
    _account.ask("decide", lambda: record(*stating.decision(choice, why, alternatives, about)))


def note(fact: object, *, key: str = "") -> None:
    """Record a fact that should outlive the context window. The same key again replaces it."""
    record(*stating.fact(as_text(fact), key))


def pending(action: object, *, key: str = "") -> PendingAction:
    """Record something that is still to be done or approved; it stays pending until its handle is resolved."""
    action = as_text(action)
    handle = PendingAction(key or stating.key_of(action), action)
    record(*stating.pending(action, handle.key))
    return handle


def verify(*content: object, by: str = "") -> None:
    """Record that content was checked: it is unverified no more, wherever in the store it appears.

    Give what a tool returned, its hash (`sha256:…`), or the id of the commit that brought it.
    """

    def check() -> None:
        policy = ContentPolicy(read_settings())
        said = f"verified by {by}" if by else "verified"
        checked = {"op": DeltaOp.SET, "kind": EntryKind.SOURCE, "action": VERIFY, "value": said, "tier": Tier.DURABLE}
        keys = [each if isinstance(each, str) and _ADDRESS.fullmatch(each) else policy.hash(each) for each in content]
        record("verify", CommitKind.NOTE, {semconv.COMMIT_DELTA: [{**checked, "key": key} for key in keys]})

    if content:
        _account.ask("verify", check)


@dataclass(frozen=True, slots=True)
class PendingAction:
    key: str
    action: str

    def resolve(self, how: str = "done") -> None:
        record(*stating.resolved(self.key, how))


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why a guarded tool gave no value, as something an agent can branch on."""

    kind: Literal["timeout", "exception"]
    type: str
    message: str
    attempts: int
    exception: Exception


@dataclass(frozen=True, slots=True)
class ToolResult(Generic[T]):
    """The answer of a tool with `timeout=` or `retries=`: a value, or None and an error."""

    value: T | None
    error: ToolError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


@overload
def tool(function: Callable[P, T], /) -> Callable[P, T]: ...
@overload
def tool(*, name: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]: ...
@overload
def tool(*, name: str = "", timeout: float, retries: int = 0) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
@overload
def tool(*, name: str = "", retries: int) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
def tool(function: Any = None, /, *, name: str = "", timeout: float | None = None, retries: int = 0) -> Any:
    """Record every call of a function, coroutine, generator or async generator as a tool call.

    Plain, it changes nothing for the caller. With `timeout=` (seconds, per attempt) or `retries=` (further attempts after a
    failure) the caller gets a `ToolResult` instead of a value or an exception, and every attempt is recorded.
    """

    def decorate(function: Any) -> Any:
        if isinstance(function, classmethod | staticmethod):
            return type(function)(decorate(function.__func__))
        label = name or getattr(function, "__name__", "") or type(function).__name__
        if timeout is None and not retries:
            return _recorded(function, label)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"turnlog.tool: timeout= and retries= need a function or a coroutine; {label} is a generator")
        return _guarded(function, label, timeout, retries + 1)

    return decorate if function is None else decorate(function)


class _Items:
    """What a generator tool gave, as far as it was read."""

    def __init__(self) -> None:
        self._items: list[Any] = []

    def add(self, item: Any) -> None:
        if len(self._items) < 1000:
            self._items.append(item)

    def facts(self) -> Facts:
        return Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: self._items})


def _recorded(function: Callable[..., Any], label: str) -> Any:
    signature = _signature(function)
    hook = Hook(
        label,
        GenAiOperation.EXECUTE_TOOL,
        at_start=lambda call: _tool_start(
            label, signature, call.args if call.instance is None else (call.instance, *call.args), call.kwargs
        ),
        at_end=lambda call, result: Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: result}),
        collect=lambda call: _Items(),
    )
    drive = driver_for(function)
    return Recorded(
        function,
        lambda wrapped, instance, args, kwargs: drive(hook, _account, boundary.through(wrapped), Call(instance, args, kwargs)),
    )


def _guarded(function: Callable[..., Any], label: str, timeout: float | None, attempts: int) -> Any:
    signature = _signature(function)

    if inspect.iscoroutinefunction(function):

        async def in_time_async(*args: Any, **kwargs: Any) -> Any:
            try:
                async with asyncio.timeout(timeout) as limit:
                    return await function(*args, **kwargs)
            except TimeoutError as late:
                if limit.expired():
                    raise TimeoutError(f"{label} did not finish within {timeout:g} s") from late
                raise

        @wraps(function)
        async def guarded_async(*args: Any, **kwargs: Any) -> ToolResult[Any]:
            tries = _Tries(label, signature, args, kwargs)
            while len(tries.failures) < attempts:
                with tries.attempt() as operation:
                    return _success(operation, await boundary.through(in_time_async)(*args, **kwargs))
            return tries.give_up()

        return guarded_async

    def in_time(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if timeout is None else _within(label, timeout, function, args, kwargs)

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> ToolResult[Any]:
        tries = _Tries(label, signature, args, kwargs)
        while len(tries.failures) < attempts:
            with tries.attempt() as operation:
                return _success(operation, boundary.through(in_time)(*args, **kwargs))
        return tries.give_up()

    return guarded


class _Tries:
    """The attempts of one guarded call: each an operation of its own, tied to the first."""

    def __init__(self, label: str, signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.failures: list[Exception] = []
        self._start = _tool_start(label, signature, args, kwargs)
        self._first = ""

    @contextmanager
    def attempt(self) -> Iterator[Operation]:
        """Swallows the tool's own exceptions, not cancellation: the caller learns of them by the result."""
        attributes: dict[str, Any] = dict(self._start.attributes)
        if self._first:
            attributes |= {semconv.RETRY_OF: self._first, semconv.RETRY_ATTEMPT: len(self.failures) + 1}
        operation = Operation.start(self._start.name, attributes, dict(self._start.content), tracer=_account.tracer)
        self._first = self._first or format_span_id(operation.span.get_span_context().span_id)
        try:
            with Frame(context_of(operation, GenAiOperation.EXECUTE_TOOL), operation):
                yield operation
        except Exception as error:  # noqa: BLE001 - handed to the caller as a value
            operation.fail(error)
            self.failures.append(error)
        except BaseException as error:
            operation.fail(error)
            raise
        finally:
            operation.end()

    def give_up(self) -> ToolResult[Any]:
        last = self.failures[-1]
        kind: Literal["timeout", "exception"] = "timeout" if isinstance(last, TimeoutError) else "exception"
        return ToolResult(None, ToolError(kind, error_type(last), error_text(last), len(self.failures), last))


def _success(operation: Operation, value: Any) -> ToolResult[Any]:
    operation.set(content={semconv.GEN_AI_TOOL_CALL_RESULT: value})
    return ToolResult(value)


def _within(label: str, seconds: float, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run in a thread and stop waiting after `seconds`. Python cannot stop the thread; as a daemon it never delays exit."""
    outcome: list[tuple[bool, Any]] = []

    def work() -> None:
        try:
            outcome.append((True, function(*args, **kwargs)))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            outcome.append((False, error))

    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True, name=f"turnlog-tool-{label}")
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(f"{label} did not finish within {seconds:g} s")
    finished, value = outcome[0]
    if not finished:
        raise value
    return value


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        # Some built-ins have none.
        return None


def _tool_start(label: str, signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Start:
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
        semconv.GEN_AI_TOOL_NAME: label,
        semconv.GEN_AI_TOOL_TYPE: "function",
    }
    try:
        arguments: dict[str, Any] = dict(signature.bind_partial(*args, **kwargs).arguments) if signature else {}
    except TypeError:
        arguments = {}
    arguments = arguments or {**({"args": list(args)} if args else {}), **kwargs}
    for implicit in ("self", "cls"):
        arguments.pop(implicit, None)
    return Start(f"execute_tool {label}", attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments})


def tell_again(name: str, kind: str, content: dict[str, Any], attributes: Attributes = None, session: str = "") -> None:
    """Record what was recorded by hand in the call that is replayed."""
    record(name, CommitKind(kind), content, attributes, session)
    if session and attributes:
        transitions.entered(session, LifecycleState(attributes[semconv.LIFECYCLE_STATE]))


def record(name: str, kind: CommitKind, content: dict[str, Any], attributes: Attributes = None, session: str = "") -> None:
    """A commit of its own. `session` is the one whose lifecycle it is about."""

    def tell() -> None:
        operation = Operation.start(name, {semconv.COMMIT_KIND: kind.value, **(attributes or {})}, {**content})
        more = {"attributes": attributes, "session": session} if session else {}
        boundary.told(operation, name=name, kind=kind.value, content=content, **more)
        operation.end()

    _account.ask(name, tell)


def _messages(role: str, said: object) -> list[dict[str, Any]]:
    text = "" if said is None else str(said)
    return [{"role": role, "parts": [{"type": "text", "content": text}]}] if text else []
