"""Answers of SDKs that Stainless generates (OpenAI, Anthropic) and that go on after their call has returned."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from turnlog.instrument.adopted import Adopted
from turnlog.instrument.calls import Run
from turnlog.instrument.drivers import Steps, complete, complete_async, finish_when


def is_raw(result: Any) -> bool:
    return "http_response" in getattr(result, "__dict__", ())


def follow(run: Run, result: Any) -> bool:
    streamed = bool(run.call.kwargs.get("stream"))
    raw = is_raw(result)
    if raw:
        _follow_raw(run, result, streamed)
    elif streamed:
        result._iterator = Steps(run, result._iterator)
        _finish_when_closed(run, result.response)
    return streamed or raw


def _follow_raw(run: Run, raw: Any, streamed: bool) -> None:
    """`with_raw_response`, `with_streaming_response`: what came back is known once the application parses it."""
    asynchronous = inspect.iscoroutinefunction(raw.parse)
    if raw.http_response.is_closed and not streamed and not asynchronous:
        run.conclude(raw.parse())
        return
    parse = partial(complete_async if asynchronous else complete, run, raw.parse)

    def parse_once(*args: Any, **kwargs: Any) -> Any:
        vars(raw).pop("parse", None)
        return parse(*args, **kwargs)

    raw.parse = parse_once
    _finish_when_closed(run, raw.http_response)


def _finish_when_closed(run: Run, response: Any) -> None:
    # An SDK that makes a span by itself knows by itself when its body is over.
    if not isinstance(run.operation, Adopted) or run.operation.waits:
        for method in ("close", "aclose"):
            finish_when(run, response, method)
