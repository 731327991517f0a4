"""Bodies of HTTP responses as httpx reads them, sync and async: one that is listened to, one that is given back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Protocol

End = Callable[[], BaseException | None]

_bound: dict[tuple[type[Any], str], type[Any]] = {}


class Listener(Protocol):
    def read(self, piece: bytes) -> None: ...
    def ended(self) -> None: ...
    def failed(self, error: BaseException) -> None: ...


class Heard:
    """The program's own body, read when the program reads it; the listener hears what was read."""

    def __init__(self, body: Any, listener: Listener) -> None:
        self._body = body
        self._listener = listener

    @property
    def elapsed(self) -> Any:
        """httpx2's responses ask their body."""
        return getattr(self._body, "elapsed", None)

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._body:
                self._listener.read(piece)
                yield piece
        except GeneratorExit:
            raise
        except BaseException as error:
            self._listener.failed(error)
            raise
        self._listener.ended()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._body.__aiter__()
        try:
            async for piece in pieces:
                self._listener.read(piece)
                yield piece
        except GeneratorExit:
            raise
        except BaseException as error:
            self._listener.failed(error)
            raise
        finally:
            if hasattr(pieces, "aclose"):
                await pieces.aclose()
        self._listener.ended()

    def close(self) -> None:
        self._body.close()

    async def aclose(self) -> None:
        await self._body.aclose()


class Pieces:
    """A recorded body, piece by piece. Whoever reads it a second time gets the rest of it, as from a socket."""

    elapsed = None

    def __init__(self, pieces: list[bytes], end: End = lambda: None, patience: float = 0.0) -> None:
        """`end` gives what the last read raises; an async reader waits so long before, to be cancelled as it was then."""
        self._pieces = pieces
        self._end = end
        self._patience = patience

    def __iter__(self) -> Iterator[bytes]:
        while self._pieces:
            yield self._pieces.pop(0)
        if (error := self._end()) is not None:
            raise error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._pieces:
            yield self._pieces.pop(0)
        if self._patience:
            await asyncio.sleep(self._patience)
        if (error := self._end()) is not None:
            raise error

    def close(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


def bound(kind: type[Any], module: Any) -> type[Any]:
    """A kind of body as the responses of one httpx accept it."""
    key = kind, module.__name__
    if key not in _bound:
        _bound[key] = type(kind.__name__, (kind, module.SyncByteStream, module.AsyncByteStream), {})
    return _bound[key]
