"""One HTTP request of a model call and what came back, as JSON: what a replay needs to give the program the same response.

A body is text, in the pieces in which it was read. What is no text, or too long, cannot be given back, and the record says so.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable
from typing import Any

import orjson

from turnlog.content import BLOB_LIMIT, canonical
from turnlog.replay.bodies import Pieces, bound

Json = dict[str, Any]
Digest = Callable[[object], str]

_HEADERS = ("content-type", "x-request-id", "request-id", "retry-after", "retry-after-ms")
# What the context's digest has already, and what programs make anew for each request.
_MESSAGES = {"messages", "input", "system", "instructions", "contents", "systemInstruction", "prompt", "previous_response_id"}
_OWN_IDS = {"metadata", "user", "safety_identifier", "prompt_cache_key"}
_SHORT = 64


def describe(request: Any, digest: Digest) -> Json:
    """What a request asks for, but for its messages: the digest of all of it, its route, and each of its settings."""
    try:
        data: bytes = request.content
    except Exception:  # noqa: BLE001 - a body that is read while it is sent
        data = b""
    path = str(request.url.path)
    try:
        body = orjson.loads(data)
    except ValueError:
        body = None
    fields = body if isinstance(body, dict) else {}
    settings = {name: _short(value, digest) for name, value in sorted(fields.items()) if name not in _MESSAGES | _OWN_IDS}
    # Not of the parsed body: a request repeats all of its history, and this costs a tenth.
    whole = digest(f"{path}\n{data.decode('utf-8', 'replace')}")
    return {"digest": whole, "route": path.rpartition("/")[2], "settings": settings}


def _short(value: Any, digest: Digest) -> str:
    text = canonical(value).decode("utf-8", "replace")
    return text if len(text) <= _SHORT else digest(text)


def differences(then: Json, now: Json) -> list[str]:
    """How two requests differ besides their messages, for people."""
    if then["digest"] == now["digest"]:
        return []
    old, new = ({"route": each["route"], **each["settings"]} for each in (then, now))
    return [
        f"{name}: {old.get(name, 'not given')} → {new.get(name, 'not given')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


class Exchange:
    """Filled while the program reads the response, and read when the model call ends: what was read by then is kept."""

    def __init__(self, request: Json, module: Any) -> None:
        self.request = request
        self._module = module
        self._status = 0
        self._headers: dict[str, str] = {}
        self._encoding = ""
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_whole = False
        self._error: Json | None = None
        self._began = time.monotonic()

    def answered(self, response: Any) -> None:
        self._status = int(response.status_code)
        self._headers = {name: response.headers[name] for name in _HEADERS if name in response.headers}
        self._encoding = response.headers.get("content-encoding", "")

    def read_whole(self, content: bytes) -> None:
        """The body, decoded already."""
        self._encoding = ""
        self.read(content)
        self._is_whole = True

    def read(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= BLOB_LIMIT:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def ended(self) -> None:
        self._is_whole = True

    def failed(self, error: BaseException) -> None:
        kind = type(error)
        origin = "" if getattr(self._module, kind.__name__, None) is kind else kind.__module__
        seconds = round(time.monotonic() - self._began, 3)
        self._error = {"type": kind.__name__, "module": origin, "message": str(error), "seconds": seconds}

    @property
    def is_streamed(self) -> bool:
        return len(self._pieces) > 1

    def as_json(self) -> Json:
        if self._size > BLOB_LIMIT:
            return {"lost": f"an answer of more than {BLOB_LIMIT >> 20} MB"}
        try:
            body = _texts(self._decoded())
        except UnicodeDecodeError:
            return {"lost": "an answer that is no text"}
        found: Json = {"request": self.request, "status": self._status, "headers": self._headers, "body": body}
        found["whole"] = self._is_whole or "".join(body[-2:]).rstrip().endswith("[DONE]")
        if self._error is not None:
            found["error"] = self._error
        return found

    def _decoded(self) -> list[bytes]:
        if not self._encoding or not self._pieces:
            return self._pieces
        encoded = bound(Pieces, self._module)(list(self._pieces))
        response = self._module.Response(self._status, headers={"content-encoding": self._encoding}, stream=encoded)
        return list(response.iter_bytes())


def _texts(pieces: list[bytes]) -> list[str]:
    """A character may be in two pieces: it comes with the second."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    found = [decoder.decode(piece) for piece in pieces]
    # A stream that is left early may end within a character.
    return [text for text in found if text]
