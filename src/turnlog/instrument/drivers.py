"""How a hooked function is called: one driver per call shape, and the same for objects that stream after their call.

A context is attached for one step of the framework's code and never across a `yield`; errors are passed on untouched.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
from typing import Any

import wrapt  # type: ignore[import-untyped, unused-ignore]

from turnlog.instrument.calls import Account, Call, Frame, Hook, Run, begin

Driver = Callable[[Hook, Account, Callable[..., Any], Call], Any]


def _drive_function(hook: Hook, account: Account, wrapped: Callable[..., Any], call: Call) -> Any:
    frame = begin(hook, account, call)
    return wrapped(*call.args, **call.kwargs) if frame is None else complete(frame, wrapped, *call.args, **call.kwargs)


def complete(frame: Frame, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        with frame:
            result = function(*args, **kwargs)
    except BaseException as error:
        frame.finish(error)
        raise
    frame.returned(result)
    return result


async def _drive_coroutine(hook: Hook, account: Account, wrapped: Callable[..., Any], call: Call) -> Any:
    frame = begin(hook, account, call)
    if frame is None:
        return await wrapped(*call.args, **call.kwargs)
    return await complete_async(frame, wrapped, *call.args, **call.kwargs)


async def complete_async(frame: Frame, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        with frame:
            result = await function(*args, **kwargs)
    except BaseException as error:
        frame.finish(error)
        raise
    frame.returned(result)
    return result


def _drive_generator(hook: Hook, account: Account, wrapped: Callable[..., Any], call: Call) -> Any:
    return generate(partial(begin, hook, account, call), wrapped(*call.args, **call.kwargs))


def generate(start: Callable[[], Frame | None], generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    frame = start() or Frame()
    step = partial(generator.send, None)
    while True:
        try:
            with frame:
                item = step()
        except StopIteration as stop:
            frame.finish()
            return stop.value
        except BaseException as error:
            frame.finish(error)
            raise
        frame.saw(item)
        try:
            sent = yield item
        except GeneratorExit as left:
            try:
                with frame:
                    generator.close()
            except BaseException as error:
                frame.finish(error)
                raise
            frame.finish(left)
            raise
        except BaseException as thrown:  # noqa: BLE001 - thrown into the framework's generator, not caught
            step = partial(generator.throw, thrown)
        else:
            step = partial(generator.send, sent)


def _drive_async_generator(hook: Hook, account: Account, wrapped: Callable[..., Any], call: Call) -> Any:
    return AsyncSteps(partial(begin, hook, account, call), wrapped(*call.args, **call.kwargs))


class AsyncSteps(wrapt.ObjectProxy):  # type: ignore[misc, type-arg, unused-ignore]
    """Stands in for the framework's async generator.

    Not a generator around it: when both are collected at once, the event loop closes both, and the inner one twice.
    """

    def __init__(self, start: Callable[[], Frame | None], generator: AsyncGenerator[Any, Any]) -> None:
        super().__init__(generator)
        self._self_start = start
        self._self_frame: Frame | None = None

    def __aiter__(self) -> AsyncSteps:
        return self

    def __del__(self) -> None:
        # An adopted operation holds on to its frame, which is then not collected with this.
        if self._self_frame is not None:
            self._self_frame.finish()

    async def __anext__(self) -> Any:
        return await self.asend(None)

    async def asend(self, value: Any) -> Any:
        return await self._self_step(self.__wrapped__.asend, value)

    async def athrow(self, *error: Any) -> Any:
        return await self._self_step(self.__wrapped__.athrow, *error)

    async def aclose(self) -> None:
        frame = self._self_frame
        if frame is None:
            await self.__wrapped__.aclose()
            return
        try:
            with frame:
                await self.__wrapped__.aclose()
        except BaseException as error:
            frame.finish(error)
            raise
        frame.finish()

    async def _self_step(self, step: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        frame = self._self_frame
        if frame is None:
            frame = self._self_frame = self._self_start() or Frame()
        try:
            with frame:
                item = await step(*args)
        except StopAsyncIteration:
            frame.finish()
            raise
        except BaseException as error:
            frame.finish(error)
            raise
        frame.saw(item)
        return item


def driver_for(function: Any) -> Driver:
    """The driver for a function's call shape."""
    if inspect.isasyncgenfunction(function):
        return _drive_async_generator
    if inspect.iscoroutinefunction(function):
        return _drive_coroutine
    return _drive_generator if inspect.isgeneratorfunction(function) else _drive_function


class Steps:
    """Stands in for the iterator inside an object that streams after its call has returned, sync or async.

    In place, because a proxy around the object would change its type for the application.
    """

    __slots__ = ("_iterator", "loops", "run")

    def __init__(self, run: Run, iterator: Any) -> None:
        self.run = run
        self.loops = 0
        self._iterator = iterator

    def __iter__(self) -> _Loop:
        return _Loop(self)

    def __aiter__(self) -> _Loop:
        return _Loop(self)

    def __next__(self) -> Any:
        try:
            with self.run:
                item = next(self._iterator)
        except StopIteration:
            self.run.finish()
            raise
        except BaseException as error:
            self.run.finish(error)
            raise
        self.run.saw(item)
        return item

    async def __anext__(self) -> Any:
        try:
            with self.run:
                item = await anext(self._iterator)
        except StopAsyncIteration:
            self.run.finish()
            raise
        except BaseException as error:
            self.run.finish(error)
            raise
        self.run.saw(item)
        return item


class _Loop:
    """One `for` over the stream. When the application breaks out, all that happens is that this object goes away.

    Whoever breaks out and then loops over the same stream again gets the items, but not on the span; unless the next loop has
    begun by then, as LiteLLM begins one for each item, and the last is collected later.
    """

    __slots__ = ("_steps",)

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        steps.loops += 1

    def __iter__(self) -> _Loop:
        return self

    def __aiter__(self) -> _Loop:
        return self

    def __next__(self) -> Any:
        return next(self._steps)

    async def __anext__(self) -> Any:
        return await anext(self._steps)

    def __del__(self) -> None:
        self._steps.loops -= 1
        if not self._steps.loops:
            self._steps.run.finish()


def finish_when(run: Run, instance: Any, method: str) -> None:
    """End the run when the instance's method is called, unless it is one of the run's own steps that calls it."""
    original = getattr(instance, method)

    def over() -> None:
        vars(instance).pop(method, None)
        if not run.stepping:
            run.finish()

    def replacement(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        finally:
            over()

    async def async_replacement(*args: Any, **kwargs: Any) -> Any:
        try:
            return await original(*args, **kwargs)
        finally:
            over()

    setattr(instance, method, async_replacement if inspect.iscoroutinefunction(original) else replacement)
