"""The boundary of a tool: its own function, innermost. What a framework does around it (validation, callbacks, formatting, its
handling of errors) goes on as in a live run.

What came back is kept, where content is captured in full; in a replay it is given back and the function is not called. One
wrapper serves every framework, because it asks which tool call runs, not who runs it.
"""

from __future__ import annotations

import asyncio
import builtins
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import ContextVar
from functools import partial
from typing import Any, NoReturn

import orjson
import wrapt  # type: ignore[import-untyped, unused-ignore]

from turnlog import manual, semconv
from turnlog.content import BLOB_LIMIT
from turnlog.instrument.calls import running_tool
from turnlog.operation import UNRUN, Operation, stamp_of
from turnlog.queries.replaying import RecordedCall
from turnlog.replay import boundary
from turnlog.replay.values import NotRepresentable, error_from_json, error_to_json, from_json, to_json

Record = boundary.Record
Raise = Callable[[Exception], NoReturn]

# So much longer than in the recording a call waits to be cancelled again, or for others to be over before it.
_PATIENCE = 1.0
_MOMENT = 0.0005
# Calls that were given back, by the commit of then, until it is known that they are over.
_given_out: dict[str, Operation] = {}
# A tool's function may go through several wrapped ones: a method and the one that it overrides.
_inside: ContextVar[Operation | None] = ContextVar("turnlog_replay_tool", default=None)


def _raise(error: Exception) -> NoReturn:
    raise error


def through(function: Callable[..., Any], raise_again: Raise = _raise) -> Callable[..., Any]:
    """A function of a tool, to be called inside its operation; of any call shape, which stays. `raise_again` raises what the
    tool raised then, where raising it is more than that."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        steps = _AsyncSteps if inspect.isasyncgenfunction(function) else _Steps
        return lambda *args, **kwargs: steps(function(*args, **kwargs), raise_again)
    if inspect.iscoroutinefunction(function):
        return partial(_call_async, function, raise_again)
    return partial(_call, function, raise_again)


def _call(function: Callable[..., Any], raise_again: Raise, /, *args: Any, **kwargs: Any) -> Any:
    operation = _entered()
    if operation is None:
        return function(*args, **kwargs)
    given = _given(operation, raise_again)
    if given is not None:
        given.wait()
        return given.value()
    kept, token = _Kept(operation), _inside.set(operation)
    try:
        value = function(*args, **kwargs)
    except BaseException as error:
        kept.raised(error)
        raise
    finally:
        _inside.reset(token)
    kept.returned(value)
    return value


async def _call_async(function: Callable[..., Any], raise_again: Raise, /, *args: Any, **kwargs: Any) -> Any:
    operation = _entered()
    if operation is None:
        return await function(*args, **kwargs)
    given = _given(operation, raise_again)
    if given is not None:
        await given.wait_async()
        await given.cancelled()
        return given.value()
    kept, token = _Kept(operation), _inside.set(operation)
    try:
        value = await function(*args, **kwargs)
    except BaseException as error:
        kept.raised(error)
        raise
    finally:
        _inside.reset(token)
    kept.returned(value)
    return value


def expect() -> None:
    """A tool call has begun, and may be answered before it comes to the tool's function: refused as invalid, for one."""
    operation = _entered()
    if operation is not None:
        boundary.keep(operation, UNRUN)


def _entered() -> Operation | None:
    if not boundary.recording() and boundary.replaying() is None:
        return None
    running = running_tool()
    return None if running is _inside.get() else running


def _given(operation: Operation, raise_again: Raise) -> _Given | None:
    replay = boundary.replaying()
    if replay is None:
        return None
    with replay.or_stop():
        call = boundary.given_back(operation)
        return None if call is None else _Given(replay, operation, call, raise_again)


class _Steps(wrapt.ObjectProxy):  # type: ignore[misc, type-arg, unused-ignore]
    """Stands in for a tool's generator. Only its first step runs inside the operation's context and knows which one it is."""

    def __init__(self, generator: Any, raise_again: Raise) -> None:
        super().__init__(generator)
        self._self_raise_again = raise_again
        self._self_source: Any = None
        self._self_kept: _Kept | None = None

    def __iter__(self) -> _Steps:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        return self._self_step("send", value)

    def throw(self, *error: Any) -> Any:
        return self._self_step("throw", *error)

    def _self_step(self, method: str, *args: Any) -> Any:
        step = getattr(self._self_started(), method)
        try:
            item = step(*args)
        except StopIteration as stop:
            self._self_tell("returned", stop.value)
            raise
        except BaseException as error:
            self._self_tell("raised", error)
            raise
        self._self_tell("gave", item)
        return item

    def _self_tell(self, what: str, value: Any) -> None:
        if self._self_kept is not None:
            getattr(self._self_kept, what)(value)

    def _self_started(self) -> Any:
        if self._self_source is None:
            self._self_source = self.__wrapped__
            operation = _entered()
            given = None if operation is None else _given(operation, self._self_raise_again)
            if given is not None:
                self._self_source = self._self_again(given)
            elif operation is not None:
                self._self_kept = _Kept(operation, is_generator=True)
        return self._self_source

    def _self_again(self, given: _Given) -> Any:
        def generate() -> Generator[Any, Any, Any]:
            yield from given.items()
            return given.value()

        return generate()


class _AsyncSteps(_Steps):
    def __aiter__(self) -> _AsyncSteps:
        return self

    async def __anext__(self) -> Any:
        return await self.asend(None)

    async def asend(self, value: Any) -> Any:
        return await self._self_step_async("asend", value)

    async def athrow(self, *error: Any) -> Any:
        return await self._self_step_async("athrow", *error)

    async def _self_step_async(self, method: str, *args: Any) -> Any:
        step = getattr(self._self_started(), method)
        try:
            item = await step(*args)
        except StopAsyncIteration:
            self._self_tell("returned", None)
            raise
        except BaseException as error:
            self._self_tell("raised", error)
            raise
        self._self_tell("gave", item)
        return item

    def _self_again(self, given: _Given) -> Any:
        async def generate() -> AsyncGenerator[Any, Any]:
            for item in given.items():
                yield item
            await given.cancelled()
            given.value()

        return generate()


class _Kept:
    """What comes back from one call, as a record. Of a call that is left before anything did, that and after how long."""

    def __init__(self, operation: Operation, *, is_generator: bool = False) -> None:
        self._operation = operation
        self._known = {**operation.known()}
        self._is_generator = is_generator
        self._items: list[Any] = []
        self._size = 0
        self._began = time.monotonic()
        self._end: Record = {"left": ""}
        boundary.keep(operation, self._record)

    def gave(self, item: Any) -> None:
        self._write(lambda: self._with(item))

    def returned(self, value: Any) -> None:
        self._write(lambda: {"value": to_json(value), **self._said()})

    def raised(self, error: BaseException) -> None:
        if isinstance(error, Exception):
            self._write(lambda: {"error": error_to_json(error), **self._said()})
        else:
            after = round(time.monotonic() - self._began, 3)
            self._write(lambda: {"left": type(error).__name__, "after": after, **self._said()})

    def _write(self, make: Callable[[], Record]) -> None:
        if "lost" in self._end:
            return
        try:
            self._end = make()
        except NotRepresentable as refused:
            self._end = {"lost": str(refused)}
        except Exception as error:  # noqa: BLE001 - the application comes first: its own objects may do anything
            self._end = {"lost": type(error).__name__}

    def _with(self, item: Any) -> Record:
        written = to_json(item)
        self._size += len(orjson.dumps(written))
        if self._size > BLOB_LIMIT:
            self._items.clear()
            raise NotRepresentable(f"more than {BLOB_LIMIT >> 20} MB of items")
        self._items.append(written)
        return {"left": ""}

    def _said(self) -> Record:
        """What hooks inside have said of the call: where it went, that its answer was an error."""
        said = {key: value for key, value in self._operation.known().items() if self._known.get(key) != value}
        message = self._operation.content.get(semconv.EXCEPTION_MESSAGE)
        if message and semconv.ERROR_TYPE in said:
            said[semconv.EXCEPTION_MESSAGE] = message
        return {"said": {key: to_json(value) for key, value in said.items()}} if said else {}

    def _record(self) -> Record:
        return {"items": self._items, **self._end} if self._is_generator and "lost" not in self._end else self._end


class _Given:
    """A recorded call, given back. What the program recorded by hand inside it is recorded again."""

    def __init__(self, replay: boundary.Replay, operation: Operation, call: RecordedCall, raise_again: Raise) -> None:
        self._replay = replay
        self._operation = operation
        self._call = call
        self._answer = call.answer
        self._raise_again = raise_again
        self._began = time.monotonic()
        self._before = replay.tape.beside(call)
        _given_out[call.commit_id] = operation
        # Also where the framework might have answered by itself.
        boundary.keep(operation, self._answer)
        for told in replay.tape.told_inside(call):
            if told.answer:
                manual.tell_again(**told.answer)
        said = {key: from_json(value) for key, value in self._answer.get("said", {}).items()}
        if semconv.ERROR_TYPE in said:
            operation.fail_with(said[semconv.ERROR_TYPE], said.pop(semconv.EXCEPTION_MESSAGE, ""))
        operation.set(said)

    def wait(self) -> None:
        while self._is_early():
            time.sleep(_MOMENT)

    async def wait_async(self) -> None:
        while self._is_early():
            await asyncio.sleep(_MOMENT)

    def _is_early(self) -> bool:
        """Whether a call that ran beside this one was over before it, and is not now: commits come in the order of then."""
        late = time.monotonic() - self._began > _PATIENCE
        return not late and any(map(self._is_open, self._before))

    def _is_open(self, call: RecordedCall) -> bool:
        operation = _given_out.get(call.commit_id)
        if operation is None:
            return self._replay.tape.is_left(call)
        is_open = bool(stamp_of(operation))
        if not is_open:
            _given_out.pop(call.commit_id, None)
        return is_open

    def items(self) -> Generator[Any, None, None]:
        for item in self._answer.get("items", ()):
            yield self._revived(from_json, item)

    async def cancelled(self) -> None:
        """Whoever cancelled it then, for one as too slow, does so again."""
        if self._answer.get("left") == asyncio.CancelledError.__name__:
            await asyncio.sleep(self._answer["after"] + _PATIENCE)
            raise asyncio.CancelledError

    def value(self) -> Any:
        answer = self._answer
        if "value" in answer:
            return self._revived(from_json, answer["value"])
        if "error" in answer:
            self._raise_again(self._revived(error_from_json, answer["error"]))
        left = answer.get("left", "")
        if left in (KeyboardInterrupt.__name__, SystemExit.__name__):
            raise getattr(builtins, left)
        return self._refuse(answer.get("lost") or ("it was left before its end" if "left" in answer else "nothing was kept"))

    def _revived(self, read: Callable[[Any], Any], found: Any) -> Any:
        try:
            return read(found)
        except NotRepresentable as refused:
            self._refuse(f"{refused} is not there")
        except Exception as error:  # noqa: BLE001 - the tool did not fail
            self._refuse(f"{type(error).__name__}: {error}")

    def _refuse(self, why: str) -> NoReturn:
        self._replay.diverge(self._operation, self._call, f"what came back cannot be given back: {why}")
