"""Processes of a crowd: python crowd.py writer <number> <pause> | loader | reader. The directory comes from TURNLOG_DIR.

A writer says on stdout, one byte each, which spans it has written to the end; a reader stops when its stdin is closed and
exits with 1 when an answer was wrong.
"""

from __future__ import annotations

import random
import select
import sys
import time
from collections import deque
from dataclasses import replace

import orjson

from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings, read_settings

RUNNING_AT_ONCE = 5


def stopped() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def write(settings: Settings, number: str, pace: str) -> None:
    """Spans that overlap and outlive several journals, until stdin is closed."""
    writer = JournalWriter(replace(settings, rotate_bytes=2000))
    running: deque[dict[str, object]] = deque()
    written = 0
    while not stopped() or running:
        if len(running) < RUNNING_AT_ONCE and not stopped():
            span = {
                "session_id": f"w{number}",
                "turn_id": f"t{number}",
                "trace_id": f"{written:032x}",
                "span_id": f"{written:016x}",
                "name": "n",
                "operation": "execute_tool",
                "tool": "t",
                "start_ns": time.time_ns(),
            }
            written += 1
            assert writer.append(orjson.dumps({**span, "record": "start"}) + b"\n")
            running.append(span)
        else:
            ended = {**running.popleft(), "record": "end", "end_ns": time.time_ns(), "commit_kind": "tool", "outcome": "ok"}
            assert writer.append(orjson.dumps(ended) + b"\n")
            sys.stdout.buffer.write(b".")
            sys.stdout.buffer.flush()
            time.sleep(random.uniform(0, 2 * float(pace)))


def load(settings: Settings) -> None:
    from turnlog.store.loader import load_once

    while not stopped():
        load_once(settings, patience=60)


def read(settings: Settings) -> None:
    from turnlog.store import Store

    before: dict[str, int] = {}
    reads = 0
    while not stopped():
        with Store(settings).reading(patience=60) as db:
            rows = db.execute(
                "select session_id, count(*), count(distinct commit_id), count(*) filter (where outcome = 'ok') "
                "from commits group by session_id"
            ).fetchall()
        for session, commits, distinct, ended in rows:
            assert commits == distinct, f"{session}: {commits} commits, {distinct} of them distinct"
            assert ended >= before.get(session, 0), f"{session}: {ended} after {before[session]}"
            before[session] = ended
        reads += 1
        sys.stdout.write(f"{reads}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    if role == "writer":
        write(read_settings(), *arguments)
    else:
        (load if role == "loader" else read)(read_settings())
