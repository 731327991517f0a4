"""Journal rows with fixed times, so that a test can say what every question must answer."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from turnlog import semconv
from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings

START = 1_790_000_000_000_000_000
SECOND = 1_000_000_000


def change(kind: str, key: str, value: str, op: str = "set", **more: str) -> dict[str, str]:
    tier = "transient" if kind in ("tool", "source", "message", "result") else "durable"
    return {"op": op, "kind": kind, "key": key, "value": value, "tier": tier, **more}


def touch(action: str, path: str, value: str = "") -> dict[str, str]:
    op = "drop" if action == "delete" else "set"
    return change("file", path, value, op, action=action, evidence="declared")


def added(at: int, role: str, text: str, **more: Any) -> dict[str, Any]:
    """A message that a context has more than the one before: `text` makes its hash, and is kept of what users say."""
    kept = {"text": text} if role in ("system", "user") else {}
    return {"op": "add", "at": at, "hash": message_hash(role, text), "role": role, **kept, **more}


def evicted(*places: int) -> list[dict[str, Any]]:
    return [{"op": "evict", "at": at} for at in places]


def message_hash(role: str, text: str) -> str:
    return "sha256:" + hashlib.sha256(f"{role} {text}".encode()).hexdigest()


def message_key(role: str, text: str) -> str:
    return message_hash(role, text).partition(":")[2][:16]


class Story:
    """Rows of one writer. Each span takes the next second; `ids` has the commit id of each by its label, `spans` its span id.

    `after`: how many seconds others have taken before.
    """

    def __init__(self, settings: Settings, after: int = 0) -> None:
        self.writer = JournalWriter(settings, {"process.working_directory": "/w"})
        self.ids: dict[str, str] = {}
        self.spans: dict[str, str] = {}
        self._count = after
        self._sequence: dict[str, int] = {}
        self._traces: dict[str, str] = {}
        self._starts: dict[str, int] = {}

    def row(self, **fields: Any) -> None:
        self.writer.append(orjson.dumps(fields) + b"\n")

    def span(
        self, label: str, session: str, turn: str, *, ends: bool = True, inside: str = "", context: Any = (), **fields: Any
    ) -> None:
        self._count += 1
        start = self._starts[label] = fields.pop("start_ns", START + self._count * SECOND)
        end = fields.pop("end_ns", start + SECOND // 2)
        self.spans[label] = f"{self._count:016x}"
        span: dict[str, Any] = {
            "trace_id": f"{self._count:032x}",
            "span_id": self.spans[label],
            "name": label,
            "span_kind": "internal",
            "scope": "test",
            "session_id": session,
            "start_ns": start,
        }
        if turn:
            span["turn_id"] = turn
        if inside:
            span |= {"trace_id": self._traces[inside], "parent_id": self.spans[inside]}
        self._traces[label] = span["trace_id"]
        identity = f"{self.writer.process.id}{span['trace_id']}{span['span_id']}{start}"
        self.ids[label] = hashlib.md5(identity.encode()).hexdigest()[:16]
        known = ("operation", "tool", "agent", "turn_input", "request_model", "lineage", "tool_call_id")
        seen = {"context_changes": orjson.dumps(list(context)).decode()} if context else {}
        self.row(**span, record="start", **seen, **{key: fields[key] for key in known if key in fields})
        if "commit_kind" in fields:
            fields.setdefault("outcome", "ok")
            fields["commit_sequence"] = self._sequence.setdefault(turn, 0)
            self._sequence[turn] += 1
        if ends:
            self.row(**span, record="end", end_ns=end, status="unset", **fields)

    def agent(self, label: str, session: str, turn: str, text: str) -> None:
        self.span(label, session, turn, operation="invoke_agent", agent="coder", turn_input=text)

    def chat(self, label: str, session: str, turn: str, **fields: Any) -> None:
        usual = {"operation": "chat", "commit_kind": "decision", "request_model": "m"}
        self.span(label, session, turn, **{**usual, **fields})

    def tool(self, label: str, session: str, turn: str, tool: str, *touches: dict[str, str], **fields: Any) -> None:
        outcome = fields.setdefault("outcome", "ok")
        delta = [change("tool", tool, outcome), *touches]
        self.span(label, session, turn, operation="execute_tool", tool=tool, commit_kind="tool", delta=delta, **fields)

    def evict(self, label: str, session: str, turn: str, chat: str, reason: str, *entries: str) -> None:
        """What left the context with that model call, told at the moment that it began."""
        delta = [change(*entry.split(":", 1), "", "evict") for entry in entries]
        attributes = {semconv.CONTEXT_EVICTION_REASON: reason}
        times = {"start_ns": self._starts[chat], "end_ns": self._starts[chat]}
        self.span(label, session, turn, inside=chat, commit_kind="eviction", delta=delta, attributes=attributes, **times)

    def note(self, label: str, session: str, turn: str, *delta: dict[str, str]) -> None:
        self.span(label, session, turn, commit_kind="note", delta=list(delta))
