"""A session of any length as rows of a journal: decisions and tool calls, failures, facts, open work, a sliding context."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import orjson

from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings

SESSION = "01939a6e-8c1f-7d32-9e1a-5b7c2f4d8e90"
_PER_TURN = 20
_WINDOW = 40
_BATCH = 5_000
_START = 1_790_000_000_000_000_000
_TEXTS = (
    "the tests of the parser must pass before the release",
    "工具返回了一个错误:文件不存在。请在重试之前检查路径",
    "كتب الوكيل الملف لكن الاختبار فشل. يرجى تسجيل السبب",
    "done ✅🚀 see https://ci.example.com/run/8f14e45fceea167a5a36dedd4bea2543?tab=logs",
    "Traceback (most recent call last):\n  File \"/usr/lib/python3.11/asyncio/tasks.py\", line 277, in __step\nKeyError: 'x'",
)


def write_session(settings: Settings, commits: int) -> None:
    writer = JournalWriter(settings)
    batch: list[bytes] = []
    for row in _rows(commits):
        batch.append(orjson.dumps(row) + b"\n")
        if len(batch) == _BATCH:
            writer.append(b"".join(batch), len(batch))
            batch.clear()
    if batch:
        writer.append(b"".join(batch), len(batch))
    writer.close()


def questions(commit: str, path: str) -> dict[str, dict[str, Any]]:
    """Every reading tool, with arguments under which it has much to tell."""
    return {
        "whats_my_state": {},
        "log": {},
        "working_set": {},
        "diff": {"turn_a": 0},
        "why": {"commit": commit},
        "show": {"commit": commit},
        "blame": {"path": path},
        "search": {"text": "write_file"},
        "sessions": {},
        "resume_brief": {},
    }


def _rows(commits: int) -> Iterator[dict[str, Any]]:
    noise = random.Random(7)
    context: list[tuple[int, str]] = []
    for number in range(commits):
        turn, text = number // _PER_TURN, _TEXTS[number % len(_TEXTS)]
        span_id = f"{noise.getrandbits(64):016x}"
        row: dict[str, Any] = {
            "record": "end",
            "trace_id": f"{noise.getrandbits(128):032x}",
            "span_id": span_id,
            "name": "span",
            "span_kind": "internal",
            "start_ns": _START + number * 1_000_000,
            "end_ns": _START + number * 1_000_000 + 900_000,
            "status": "unset",
            "scope": "turnlog",
            "session_id": SESSION,
            "turn_id": f"turn-{turn:08d}",
            "commit_sequence": number % _PER_TURN,
            "outcome": "ok",
        }
        if number % _PER_TURN == 0:
            row |= {"turn_input": f"task {turn}: {text}"}
        if number % _PER_TURN == 5:
            row |= _stated("fact", f"fact {turn}", text)
        elif number % (3 * _PER_TURN) == 6:
            row |= _stated("pending", f"review {turn}", text)
        elif number % 2:
            row |= _tool(number, text, noise)
        else:
            place, digest = number + 1, f"{noise.getrandbits(256):064x}"
            message = f"message:{digest[:16]}"
            changes: list[dict[str, Any]] = [
                {"op": "add", "at": place, "hash": f"sha256:{digest}", "role": "user", "text": text, "keys": [message]}
            ]
            delta = [{"op": "set", "kind": "decision", "key": span_id, "value": "call write_file", "tier": "durable"}]
            context.append((place, digest[:16]))
            if len(context) > _WINDOW:
                left, key = context.pop(0)
                changes.append({"op": "evict", "at": left})
                delta.append({"op": "evict", "kind": "message", "key": key, "tier": "transient"})
            row |= {
                "operation": "chat",
                "commit_kind": "decision",
                "choice": "call write_file",
                "reason": text,
                "reason_source": "stated",
                "request_model": "gpt",
                "lineage": "main",
                "context_changes": changes,
                "delta": delta,
            }
        yield row


def _stated(kind: str, key: str, value: str) -> dict[str, Any]:
    change = {"op": "set", "kind": kind, "key": key, "value": value, "tier": "durable"}
    return {"commit_kind": "note", "input_summary": value, "delta": [change]}


def _tool(number: int, text: str, noise: random.Random) -> dict[str, Any]:
    path = f"src/package_{number % 40}/module_{number % 1000}.py"
    given = json.dumps({"path": path, "content": text}, ensure_ascii=False)
    digest = f"sha256:{noise.getrandbits(256):064x}"
    row: dict[str, Any] = {
        "operation": "execute_tool",
        "commit_kind": "tool",
        "tool": "write_file",
        "input_summary": given,
        "input_hash": digest,
    }
    if number % 7 == 0:
        return row | {"outcome": "error", "error_type": "OSError", "status": "error", "status_message": text}
    change = {"op": "set", "kind": "file", "key": path, "value": digest, "tier": "durable", "action": "write"}
    return row | {"output_summary": f"wrote {number} lines", "output_hash": digest, "delta": [change]}
