"""A synthetic corpus of sessions, written as journal frames: the same rows that the processor writes, made fast."""

from __future__ import annotations

import random
from collections.abc import Iterator

import orjson

from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings

TURNS = 25
CALLS_PER_TURN = 9
SPANS_PER_SESSION = TURNS * (1 + 2 * CALLS_PER_TURN)
_START = 1_790_000_000_000_000_000
_TOOLS = ("write_file", "read_file", "run_tests", "search")


def session_rows(number: int) -> Iterator[dict[str, object]]:
    """One session: per turn an agent span, and model and tool calls in pairs."""
    noise = random.Random(number)
    session = f"{noise.getrandbits(64):016x}-{number}"
    clock = _START + number * 3_600_000_000_000

    def span(name: str, turn: int, **fields: object) -> dict[str, object]:
        nonlocal clock
        clock += 1_000_000
        return {
            "record": "end",
            "trace_id": f"{noise.getrandbits(128):032x}",
            "span_id": f"{noise.getrandbits(64):016x}",
            "parent_id": "",
            "name": name,
            "span_kind": "internal",
            "start_ns": clock,
            "end_ns": clock + 900_000,
            "status": "unset",
            "scope": "turnlog",
            "session_id": session,
            "turn_id": f"{session}/{turn}",
            **fields,
        }

    for turn in range(TURNS):
        for call in range(CALLS_PER_TURN):
            tool = noise.choice(_TOOLS)
            path = f"src/module_{noise.randrange(40)}.py"
            failed = noise.random() < 0.05
            decision = span("chat gpt", turn, operation="chat", commit_kind="decision", outcome="ok", commit_sequence=2 * call)
            decision |= {
                "choice": f"call {tool}",
                "reason": f"the {path} needs work before the tests can pass",
                "reason_source": "stated",
                "request_model": "gpt",
                "input_tokens": 1200,
                "output_tokens": 80,
                "delta": [
                    {"op": "set", "kind": "decision", "key": decision["span_id"], "value": f"call {tool}", "tier": "durable"}
                ],
            }
            yield decision
            changes = [{"op": "set", "kind": "tool", "key": tool, "value": "error" if failed else "ok", "tier": "transient"}]
            if tool in ("write_file", "read_file") and not failed:
                action = tool.removesuffix("_file")
                value = f"sha256:{noise.getrandbits(256):064x}" if action == "write" else ""
                changes.append(
                    {
                        "op": "set",
                        "kind": "file",
                        "key": path,
                        "value": value,
                        "tier": "durable",
                        "action": action,
                        "evidence": "declared",
                    }
                )
            yield span(
                f"execute_tool {tool}",
                turn,
                operation="execute_tool",
                tool=tool,
                commit_kind="tool",
                commit_sequence=2 * call + 1,
                outcome="error" if failed else "ok",
                error_type="ValueError" if failed else "",
                input_hash=f"sha256:{noise.getrandbits(256):064x}",
                input_summary=f'{{"path":"{path}"}}',
                output_summary="ok, 12 lines",
                # What was found outside is unverified.
                source_kind="retrieved" if tool == "search" else "",
                verified=False if tool == "search" else None,
                delta=changes,
                attributes={"gen_ai.tool.type": "function", "note": "x" * 40},
            )
        yield span("invoke_agent coder", turn, operation="invoke_agent", agent="coder", turn_input=f"please do step {turn}")


def session_id(number: int) -> str:
    return str(next(session_rows(number))["session_id"])


def write_sessions(settings: Settings, numbers: range, together: int = 8) -> int:
    """Sessions side by side in groups, as concurrent agents would write them. Returns the number of spans."""
    writer = JournalWriter(settings)
    rows = 0
    for first in range(numbers.start, numbers.stop, together):
        group = [session_rows(number) for number in range(first, min(first + together, numbers.stop))]
        batch: list[bytes] = []
        while group:
            for stream in list(group):
                row = next(stream, None)
                if row is None:
                    group.remove(stream)
                else:
                    batch.append(orjson.dumps(row))
        writer.append(b"\n".join(batch) + b"\n", len(batch))
        rows += len(batch)
    writer.close()
    return rows
