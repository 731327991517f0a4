"""Answers of SDKs that Stainless generates (OpenAI, Anthropic) and that go on after their call has returned."""

from __future__ import annotations

import copy
import inspect
from functools import partial
from typing import Any, get_args

from turnlog.instrument.adopted import Adopted
from turnlog.instrument.calls import Collector, Facts, Run
from turnlog.instrument.drivers import AsyncSteps, Steps, complete, complete_async, finish_when, generate

_MOST_BYTES = 1 << 24


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
    """`with_raw_response`, `with_streaming_response`: what came back is known once the application parses or reads it."""
    asynchronous = inspect.iscoroutinefunction(raw.parse)
    if raw.http_response.is_closed and not streamed:
        run.conclude_with(raw._parse if asynchronous else raw.parse)
        return
    parse = partial(complete_async if asynchronous else complete, run, raw.parse)

    def parse_once(*args: Any, **kwargs: Any) -> Any:
        vars(raw).pop("parse", None)
        return parse(*args, **kwargs)

    raw.parse = parse_once
    _read_along(run, raw, streamed)
    _finish_when_closed(run, raw.http_response)


def _read_along(run: Run, raw: Any, streamed: bool) -> None:
    """An application may take the body as bytes, text, lines or JSON, whole or as it comes, and never have it parsed. All of
    these forms get it from one method."""
    response = raw.http_response

    def replace(method: str, steps: Any) -> None:
        original = getattr(response, method)

        def read(*args: Any, **kwargs: Any) -> Any:
            if run.stepping:
                # `parse` reads too, and then concludes by itself.
                return original(*args, **kwargs)
            vars(response).pop(method, None)
            run.collect_with(partial(_Events if streamed else _Body, run, raw))
            return steps(lambda: run, original(*args, **kwargs))

        setattr(response, method, read)

    replace("iter_bytes", generate)
    replace("aiter_bytes", AsyncSteps)


class _Body:
    """The bytes of an answer. One that is left before its end, or is larger than answers are, is not known."""

    def __init__(self, run: Run, raw: Any) -> None:
        self._run = run
        self._raw = raw
        self._chunks: list[bytes] = []
        self._left = _MOST_BYTES if _is_text(raw.http_response) else 0

    def add(self, chunk: bytes) -> None:
        self._left -= len(chunk)
        if self._left >= 0:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()

    def facts(self) -> Facts | None:
        response, body = self._raw.http_response, b"".join(self._chunks)
        whole = type(response)(response.status_code, headers={"content-type": "application/json"}, content=body)
        twin = copy.copy(self._raw)
        twin.http_response = whole
        try:
            answer = twin._parse()
        except ValueError:
            return None
        return at_end(self._run.call, answer) if (at_end := self._run.hook.at_end) else None


class _Events:
    """The server-sent events in the bytes of an answer, added up as those of a parsed stream are."""

    def __init__(self, run: Run, raw: Any) -> None:
        self._raw = raw
        self._collector: Collector | None = run.hook.collect(run.call) if run.hook.collect else None
        self._decoder = raw._client._make_sse_decoder()
        self._line = b""

    def add(self, chunk: bytes) -> None:
        if self._collector is None or len(self._line) > _MOST_BYTES:
            return
        *lines, self._line = (self._line + chunk).split(b"\n")
        for line in lines:
            event = self._decoder.decode(line.decode().removesuffix("\r"))
            # `[DONE]` is no JSON, and what went wrong no part of an answer.
            if event is not None and event.data.startswith("{") and not (data := event.json()).get("error"):
                self._collector.add(self._parsed(data))

    def facts(self) -> Facts | None:
        return self._collector.facts() if self._collector else None

    def _parsed(self, data: Any) -> Any:
        (kind,) = get_args(self._raw._stream_cls)
        return self._raw._client._process_response_data(data=data, cast_to=kind, response=self._raw.http_response)


def _is_text(response: Any) -> bool:
    kind = response.headers.get("content-type", "")
    return not kind or "json" in kind or kind.startswith("text/")


def _finish_when_closed(run: Run, response: Any) -> None:
    # An SDK that makes a span by itself knows by itself when its body is over.
    if not isinstance(run.operation, Adopted) or run.operation.waits:
        for method in ("close", "aclose"):
            finish_when(run, response, method)
