"""Journal rows with fixed times, so that a test can say what every question must answer."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings

START = 1_790_000_000_000_000_000
SECOND = 1_000_000_000


def change(kind: str, key: str, value: str, op: str = "set", **more: str) -> dict[str, str]:
    tier = "transient" if kind in ("tool", "source") else "durable"
    return {"op": op, "kind": kind, "key": key, "value": value, "tier": tier, **more}


def touch(action: str, path: str, value: str = "") -> dict[str, str]:
    op = "drop" if action == "delete" else "set"
    return change("file", path, value, op, action=action, evidence="declared")


class Story:
    """Rows of one writer. Each span takes the next second; `ids` has the commit id of each by its label."""

    def __init__(self, settings: Settings) -> None:
        self.writer = JournalWriter(settings)
        self.ids: dict[str, str] = {}
        self._count = 0
        self._sequence: dict[str, int] = {}

    def row(self, **fields: Any) -> None:
        self.writer.append(orjson.dumps(fields) + b"\n")

    def span(self, label: str, session: str, turn: str, *, ends: bool = True, **fields: Any) -> None:
        self._count += 1
        start = START + self._count * SECOND
        span: dict[str, Any] = {
            "trace_id": f"{self._count:032x}",
            "span_id": f"{self._count:016x}",
            "name": label,
            "span_kind": "internal",
            "session_id": session,
            "start_ns": start,
        }
        if turn:
            span["turn_id"] = turn
        identity = f"{self.writer.process.id}{span['trace_id']}{span['span_id']}{start}"
        self.ids[label] = hashlib.md5(identity.encode()).hexdigest()[:16]
        known = ("operation", "tool", "agent", "turn_input", "request_model")
        self.row(**span, record="start", **{key: fields[key] for key in known if key in fields})
        if "commit_kind" in fields:
            fields.setdefault("outcome", "ok")
            fields["commit_sequence"] = self._sequence.setdefault(turn, 0)
            self._sequence[turn] += 1
        if ends:
            self.row(**span, record="end", end_ns=start + SECOND // 2, status="unset", **fields)

    def agent(self, label: str, session: str, turn: str, text: str) -> None:
        self.span(label, session, turn, operation="invoke_agent", agent="coder", turn_input=text)

    def chat(self, label: str, session: str, turn: str, **fields: Any) -> None:
        usual = {"operation": "chat", "commit_kind": "decision", "request_model": "m"}
        self.span(label, session, turn, **{**usual, **fields})

    def tool(self, label: str, session: str, turn: str, tool: str, *touches: dict[str, str], **fields: Any) -> None:
        outcome = fields.setdefault("outcome", "ok")
        delta = [change("tool", tool, outcome), *touches]
        self.span(label, session, turn, operation="execute_tool", tool=tool, commit_kind="tool", delta=delta, **fields)

    def note(self, label: str, session: str, turn: str, *delta: dict[str, str]) -> None:
        self.span(label, session, turn, commit_kind="note", delta=list(delta))
