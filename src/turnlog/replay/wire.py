"""The boundary of models: the HTTP request that an SDK sends, with httpx, inside a model call that is recorded.

Requests of anybody else pass untouched. The program gets the very response that came, and what it reads of it is kept.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

from turnlog import semconv
from turnlog.content import without_secrets
from turnlog.instrument.calls import Account, owner
from turnlog.instrument.core import Extension, Framework, Undo, patch, undo_all
from turnlog.operation import Operation, innermost
from turnlog.replay import boundary
from turnlog.replay.bodies import Heard, Pieces, bound
from turnlog.replay.exchange import Exchange, Json, describe, differences
from turnlog.semconv import GenAiOperation

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_EXCHANGES = "exchanges"
_MOST_EXCHANGES = 16
# Longer than it took then, before a call that was cancelled then is one that is not cancelled now.
_GRACE = 1.0


def _asking() -> Operation | None:
    """The model call, or the call for embeddings, inside which this code runs."""
    found = owner()
    if found is not None:
        return found
    inner = innermost.get()
    is_embedding = inner is not None and inner.known().get(semconv.GEN_AI_OPERATION_NAME) == GenAiOperation.EMBEDDINGS
    return inner if is_embedding else None


class _Recorder:
    """The exchanges of one model call. A request that is sent again takes the place of the one before."""

    def __init__(self, operation: Operation, key: str) -> None:
        self._content = operation.content
        self._key = key
        self._exchanges: list[Exchange] = []
        self._is_over = False

    def begin(self, request: Json, module: Any) -> Exchange:
        exchange = Exchange(request, module)
        if self._exchanges and self._exchanges[-1].request["digest"] == request["digest"]:
            self._exchanges.pop()
        if len(self._exchanges) == _MOST_EXCHANGES:
            self._is_over = True
            self._exchanges.clear()
        if not self._is_over:
            self._exchanges.append(exchange)
        return exchange

    def __call__(self) -> Json:
        if self._is_over:
            return {"lost": f"more than {_MOST_EXCHANGES} requests in one call"}
        outputs = list(self._content.get(semconv.GEN_AI_OUTPUT_MESSAGES) or ())
        if any(exchange.is_streamed for exchange in self._exchanges) and without_secrets(outputs) != outputs:
            # Spread over the events of a stream, it is not recognised where it is.
            return {"lost": "a secret in a streamed answer"}
        found = [exchange.as_json() for exchange in self._exchanges]
        lost = next((exchange for exchange in found if "lost" in exchange), None)
        return lost or {"key": self._key, _EXCHANGES: found}


class _Wire:
    """What one httpx does with a request inside a model call."""

    def __init__(self, module: Any, account: Account) -> None:
        self._module = module
        self._account = account

    def send(self, wrapped: Callable[..., Any], client: Any, args: Args, kwargs: Kwargs) -> Any:
        operation, request = _asking(), _request_of(args, kwargs)
        if operation is None or request is None:
            return wrapped(*args, **kwargs)
        given = self._given(operation, request)
        if given is not None:
            return given.response(client, request, bool(kwargs.get("stream")))
        exchange = self._begin(operation, request)
        if exchange is None:
            return wrapped(*args, **kwargs)
        try:
            response = wrapped(*args, **kwargs)
        except BaseException as error:
            self._ask(exchange.failed, error)
            raise
        self._ask(self._follow, response, exchange)
        return response

    async def send_async(self, wrapped: Callable[..., Any], client: Any, args: Args, kwargs: Kwargs) -> Any:
        operation, request = _asking(), _request_of(args, kwargs)
        if operation is None or request is None:
            return await wrapped(*args, **kwargs)
        given = self._given(operation, request)
        if given is not None:
            return await given.response_async(client, request, bool(kwargs.get("stream")))
        exchange = self._begin(operation, request)
        if exchange is None:
            return await wrapped(*args, **kwargs)
        try:
            response = await wrapped(*args, **kwargs)
        except BaseException as error:
            self._ask(exchange.failed, error)
            raise
        self._ask(self._follow, response, exchange)
        return response

    def _given(self, operation: Operation, request: Any) -> _Answer | None:
        replay = boundary.replaying()
        if replay is None:
            return None
        with replay.or_stop():
            return self._found(replay, operation, describe(request, boundary.digest))

    def _found(self, replay: boundary.Replay, operation: Operation, described: Json) -> _Answer | None:
        call = boundary.given_back(operation, described["digest"])
        if call is None:
            return None
        exchanges = call.answer.get(_EXCHANGES) or []
        position, last = operation.content.get(_EXCHANGES, (-1, ""))
        # Whoever sends a request again gets the same answer again.
        if described["digest"] != last:
            position = _place_of(described["digest"], exchanges, position)
        operation.content[_EXCHANGES] = position, described["digest"]
        if position >= len(exchanges):
            replay.diverge(operation, call, "it sends one more request than it did")
        recorded: Json = exchanges[position]
        if changed := differences(recorded["request"], described):
            replay.diverge(operation, call, "the messages are the same, but the request is not:\n  " + "\n  ".join(changed))
        return _Answer(self._module, recorded, partial(replay.diverge, operation, call))

    def _begin(self, operation: Operation, request: Any) -> Exchange | None:
        if not boundary.recording():
            return None
        exchange: Exchange | None = self._ask(self._record, operation, request)
        return exchange

    def _record(self, operation: Operation, request: Any) -> Exchange:
        described = describe(request, boundary.digest)
        recorder = operation.content.get(semconv.REPLAY_RECORD)
        if not isinstance(recorder, _Recorder):
            recorder = _Recorder(operation, described["digest"])
            boundary.keep(operation, recorder)
        return recorder.begin(described, self._module)

    def _follow(self, response: Any, exchange: Exchange) -> None:
        exchange.answered(response)
        if hasattr(response, "_content"):
            exchange.read_whole(response.content)
        else:
            response.stream = bound(Heard, self._module)(response.stream, exchange)

    def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._account.ask("keeping a response", function, *args)


class _Answer:
    """A recorded exchange, as the response that the program gets."""

    def __init__(self, module: Any, exchange: Json, diverge: Callable[[str], NoReturn]) -> None:
        self._module = module
        self._exchange = exchange
        self._diverge = diverge
        self._error: Json = exchange.get("error") or {}
        self._is_cancelled = self._error.get("type") == asyncio.CancelledError.__name__

    def response(self, client: Any, request: Any, streams: bool) -> Any:
        if self._error and not self._exchange["status"]:
            raise self._raised(request)
        response = self._build(client, request)
        if not streams:
            response.read()
        return response

    async def response_async(self, client: Any, request: Any, streams: bool) -> Any:
        if self._error and not self._exchange["status"]:
            if self._is_cancelled:
                await asyncio.sleep(self._error["seconds"] + _GRACE)
            raise self._raised(request)
        response = self._build(client, request)
        if not streams:
            await response.aread()
        return response

    def _build(self, client: Any, request: Any) -> Any:
        patience = self._error["seconds"] + _GRACE if self._is_cancelled else 0.0
        pieces = [text.encode() for text in self._exchange["body"]]
        response = self._module.Response(
            self._exchange["status"],
            # The SDKs' word for: what came last then comes at once now.
            headers={**self._exchange["headers"], "x-should-retry": "false"},
            stream=bound(Pieces, self._module)(pieces, lambda: self._end(request), patience),
            request=request,
            default_encoding=getattr(client, "_default_encoding", "utf-8"),
        )
        response.elapsed = timedelta(0)
        return response

    def _end(self, request: Any) -> BaseException | None:
        if self._error:
            return self._raised(request)
        if not self._exchange["whole"]:
            self._diverge("it reads on where it stopped reading the answer")
        return None

    def _raised(self, request: Any) -> BaseException:
        name, message = self._error["type"], self._error["message"]
        if self._is_cancelled:
            self._diverge(f"it was cancelled after {self._error['seconds']:g} s, and is not now")
        if not self._error["module"]:
            kind = getattr(self._module, name, self._module.TransportError)
            return kind(message, request=request)  # type: ignore[no-any-return]
        found = getattr(builtins, name, None) if self._error["module"] == "builtins" else None
        if isinstance(found, type) and issubclass(found, BaseException):
            return found(message)
        return self._module.TransportError(f"{name}: {message}", request=request)  # type: ignore[no-any-return]


def _place_of(digest: str, exchanges: list[Json], position: int) -> int:
    """Where a request is: the next one like it, or one before for requests that are sent at once, or else the next."""
    like = [place for place, exchange in enumerate(exchanges) if exchange["request"]["digest"] == digest]
    return next((place for place in like if place > position), like[0] if like else position + 1)


def _request_of(args: Args, kwargs: Kwargs) -> Any:
    return kwargs.get("request", args[0] if args else None)


def _install(module: ModuleType, account: Account) -> Undo:
    wire = _Wire(module, account)
    return undo_all(patch(module.Client, "send", wire.send), patch(module.AsyncClient, "send", wire.send_async))


HTTPX = tuple(
    Framework(name, title=name, requires=requires, records="what models answer", extensions=(Extension(name, _install),))
    for name, requires in (("httpx", "httpx >= 0.24, < 1"), ("httpx2", "httpx2 >= 2, < 3"))
)
