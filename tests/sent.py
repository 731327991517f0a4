"""Finished GenAI spans of a scripted agent, as any sender would have them: two turns, a file written, a tool that fails."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from turnlog.received import ReceivedSpan

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
AGENT = {"service.name": "coder", "service.instance.id": "one"}
TOOLS = {"service.name": "tools", "service.instance.id": "two"}
Json = dict[str, Any]


def user(text: str) -> Json:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def says(text: str) -> Json:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def asks(call: str, tool: str, arguments: Json) -> Json:
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": call, "name": tool, "arguments": arguments}]}


def result(call: str, text: str) -> Json:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": text}]}


def span(
    trace: int,
    number: int,
    parent: int,
    operation: str,
    seconds: tuple[float, float],
    resource: Mapping[str, Any] = AGENT,
    **more: Any,
) -> ReceivedSpan:
    attributes = {"gen_ai.operation.name": operation} if operation else {}
    attributes |= {key.replace("__", "."): value for key, value in more.items()}
    failed = "error.type" in attributes
    trace_id = hashlib.sha256(str(trace).encode()).hexdigest()[:32]
    return ReceivedSpan(
        trace_id=trace_id,
        span_id=f"{trace:04x}{number:012x}",
        parent_id=f"{trace:04x}{parent:012x}" if parent else "",
        name=operation or "work",
        start_ns=START + int(seconds[0] * SECOND),
        end_ns=START + int(seconds[1] * SECOND),
        status="error" if failed else "unset",
        attributes=attributes,
        resource=resource,
    )


def two_turns(session: str = "s", tools: Mapping[str, Any] = AGENT) -> list[ReceivedSpan]:
    """In the order in which they end: children first, the turn's root last. The session is named on the roots only."""
    first = [user("Write a.py")]
    asked = asks("call-1", "write_file", {"path": "a.py", "content": "1"})
    second = [*first, asked, result("call-1", "done"), says("Written."), user("Test it")]
    asked_again = asks("call-2", "run_tests", {"target": "a.py"})
    named = {"session__id": session} if session else {}
    return [
        *_turn(1, 0, first, asked, {"path": "a.py", "content": "1"}, "done", "Written.", tools, named),
        *_turn(2, 10, second, asked_again, {"target": "a.py"}, "", "It broke.", tools, named),
    ]


def _turn(
    trace: int,
    at: float,
    context: list[Json],
    asked: Json,
    arguments: Json,
    output: str,
    answer: str,
    tools: Mapping[str, Any],
    named: Mapping[str, Any],
) -> Iterator[ReceivedSpan]:
    call = asked["parts"][0]
    failed = {} if output else {"error__type": "TimeoutError"}
    model = {"gen_ai__request__model": "m", "gen_ai__usage__input_tokens": 10, "gen_ai__usage__output_tokens": 2}
    yield span(
        *(trace, 2, 1, "chat", (at + 1, at + 2)),
        gen_ai__input__messages=context,
        gen_ai__output__messages=[asked],
        **model,
    )
    yield span(
        *(trace, 3, 1, "execute_tool", (at + 2, at + 3), tools),
        gen_ai__tool__name=call["name"],
        gen_ai__tool__call__id=call["id"],
        gen_ai__tool__call__arguments=arguments,
        gen_ai__tool__call__result=output,
        **failed,
    )
    yield span(
        *(trace, 4, 1, "chat", (at + 3, at + 4)),
        gen_ai__input__messages=[*context, asked, result(call["id"], output or "timeout")],
        gen_ai__output__messages=[says(answer)],
        **model,
    )
    yield span(
        *(trace, 1, 0, "invoke_agent", (at, at + 5)),
        gen_ai__agent__name="coder",
        gen_ai__input__messages=[context[-1]],
        gen_ai__output__messages=[says(answer)],
        **named,
    )


def later(given: ReceivedSpan, seconds: float) -> ReceivedSpan:
    shift = int(seconds * SECOND)
    return replace(given, start_ns=given.start_ns + shift, end_ns=given.end_ns + shift)
