"""Whose spans arrived: a resource, known by what it says of itself, with the sessions that its unnamed work belongs to.

Every id that is made here follows from what was sent, so that spans which are sent or read again make the same.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.trace.id_generator import IdGenerator

from turnlog.content import dump_json, without_secrets
from turnlog.identity import Sessions

# Hosts have no colon in their names, so no process of this machine is called so.
PREFIX = "received:"
_OF_A_PROCESS = ("service.instance.id", "process.pid")


class Ids(IdGenerator):
    """Ids that follow from the span at hand."""

    def __init__(self) -> None:
        self._about: tuple[str, ...] = ("",)
        self._count = self._made = itertools.count()

    def follow(self, *about: str) -> None:
        self._about, self._count, self._made = about, itertools.count(), itertools.count()

    def made(self) -> str:
        """The next session's or turn's: apart from spans', of which there may be more or fewer when this is told again."""
        return id_of(*self._about, "made", str(next(self._made)))

    def generate_span_id(self) -> int:
        return int(_digest(*self._about, str(next(self._count)))[:16], 16) or 1

    def generate_trace_id(self) -> int:
        return int(_digest(*self._about, str(next(self._count)))[:32], 16) or 1


class SenderSessions(Sessions):
    """What a sender leaves unnamed is its own session where it is one process, else its trace is."""

    def __init__(self, origin: str, resource: Mapping[str, Any], ids: Ids) -> None:
        super().__init__()
        self.trace = ""
        self._ids = ids
        self._own = id_of(origin) if is_process(resource) else ""

    def _new_id(self) -> str:
        return self._ids.made()

    def _process_session(self) -> str:
        return self._own or id_of(self.trace)

    def _likely_session(self, opens: bool) -> str:
        return super()._likely_session(opens) if self._own else self._process_session()


def is_process(resource: Mapping[str, Any]) -> bool:
    """Whether a resource is one process, and not a service of which there may be many, now and later."""
    return any(resource.get(key) for key in _OF_A_PROCESS)


def origin_of(resource: Mapping[str, Any]) -> str:
    return PREFIX + _digest(dump_json(dict(sorted(resource.items()))).decode())[:16]


def process_row(origin: str, resource: Mapping[str, Any], start_ns: int) -> bytes:
    pid = resource.get("process.pid")
    row = {
        "record": "process",
        "origin": origin,
        "host": str(resource.get("host.name") or ""),
        "pid": pid if isinstance(pid, int) else 0,
        "start_ns": start_ns,
        "attributes": without_secrets(resource),
    }
    return dump_json(row) + b"\n"


def id_of(*parts: str) -> str:
    """A UUID of the free form (version 8) that follows from the parts."""
    text = _digest(*parts)
    return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-{'89ab'[int(text[16], 16) & 3]}{text[17:20]}-{text[20:32]}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
