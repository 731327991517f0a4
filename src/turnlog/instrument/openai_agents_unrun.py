"""Tool calls of the OpenAI Agents SDK that come to no tool: refused, rejected, or left over when an error ends the run.

Such a call failed, and is no open work: nobody will run it. One that waits for an approval is not meant, its run goes on.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from turnlog import semconv
from turnlog.instrument.calls import Account, Call, Start, suppressed
from turnlog.instrument.openai_agents_messages import asked_starts
from turnlog.operation import UNRUN, error_text, error_type

Read = Callable[[Call], Start]

# The calls of the answer that is being carried out that have a span. Tools run in tasks of their own, which share the set.
_told: ContextVar[set[str] | None] = ContextVar("turnlog_openai_agents_told", default=None)


def telling(read: Read) -> Read:
    """A call that begins has a span of its own."""

    def start(call: Call) -> Start:
        begun = read(call)
        _note(begun)
        return begun

    return start


def record_unrun(account: Account, start: Start, kind: str, why: str) -> None:
    """A call that the model asked for and that was not run."""
    _note(start)
    operation = account.start(start)
    operation.set(content={semconv.REPLAY_RECORD: UNRUN})
    operation.fail_with(kind, why)
    operation.end()


async def record_answer(account: Account, wrapped: Callable[..., Any], call: Call) -> Any:
    """An answer of the model is carried out. What has not begun of it when that fails never will."""
    # Put back by hand, not by token: a coroutine may be closed in another context than it ran in.
    outer, told = _told.get(), set[str]()
    _told.set(told)
    try:
        return await wrapped(*call.args, **call.kwargs)
    except (Exception, CancelledError) as error:
        account.ask("reading what was not run", _record_left, account, call, told, error)
        raise
    finally:
        _told.set(outer)


def _record_left(account: Account, call: Call, told: set[str], error: BaseException) -> None:
    if suppressed():
        return
    for start in asked_starts(call.kwargs["new_response"].output):
        if start.attributes.get(semconv.GEN_AI_TOOL_CALL_ID) not in told:
            # Of what has not begun there is no span to adopt.
            record_unrun(account, replace(start, alone=True), error_type(error), error_text(error))


def _note(start: Start) -> None:
    if (told := _told.get()) is not None:
        told.add(start.attributes.get(semconv.GEN_AI_TOOL_CALL_ID, ""))
