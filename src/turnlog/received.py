"""A span that arrived finished: over OTLP, from a file, or from another exporter's batch. Ids are lower-case hex, times are
nanoseconds since 1970, attributes are plain JSON values whatever they came as.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

KINDS = ("internal", "server", "client", "producer", "consumer")
STATUSES = ("unset", "ok", "error")


class ReceivedEvent(NamedTuple):
    name: str
    at_ns: int
    attributes: Mapping[str, Any]


class ReceivedLink(NamedTuple):
    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """`parent_id` is empty for a root. `resource` is whose span it is: one mapping, shared by all spans of a resource.
    `has_remote_parent`: the sender says that the parent is another process's."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    kind: str = "internal"
    status: str = "unset"
    status_message: str = ""
    scope: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[ReceivedEvent] = ()
    links: Sequence[ReceivedLink] = ()
    resource: Mapping[str, Any] = field(default_factory=dict)
    has_remote_parent: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells spans apart: applications that seed `random` repeat their ids in every run."""
        return self.trace_id, self.span_id, self.start_ns
