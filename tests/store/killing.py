"""A loader that is killed before its n-th step, for every n, and what is in the store after the next load.

Run as a program: python killing.py <store with journals> <only the journals> <scratch directory>. Prints one JSON line per
step. DuckDB is imported once; each loader is a forked child, and only those that are killed while they make the store make one:
that keeps a hundred of them within seconds.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from turnlog.settings import Settings
from turnlog.store import Store, loader

FACTS = {
    "spans": "select outcome, count(*), count(distinct commit_id) from raw.spans group by outcome order by outcome",
    "open": "select count(*) from raw.open_spans",
    "deltas": "select kind, count(*) from raw.deltas group by kind order by kind",
    "sessions": "select session_id, span_count, commit_count, failure_count, input_tokens from raw.sessions order by 1",
    "turns": "select count(distinct turn_id) from raw.turns",
    "blobs": "select count(*), count(distinct hash) from raw.blobs",
    "losses": "select coalesce(sum(lost), 0) from raw.losses",
    "processes": "select count(*), count(distinct process_key), count(*) filter (where gone) from raw.processes",
    "journals": "select count(*) from raw.journals",
}
# What changes files, and the statements in the middle of a transaction's work; the rest lies between two of these.
STEPS = ("attach", "detach", "commit", "rollback", "insert into raw.losses", "-- One chunk", "-- Spans")
_killed_at = 0
_steps: list[str] = []


def step(label: str) -> None:
    _steps.append(label)
    if len(_steps) == _killed_at:
        os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    """A connection whose statements are steps."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._db = db

    def execute(self, statement: str, *parameters: Any) -> duckdb.DuckDBPyConnection:
        if statement.startswith(STEPS):
            step(" ".join(statement.split())[:40])
        return self._db.execute(statement, *parameters)

    def close(self) -> None:
        step("close")
        self._db.close()


def watch() -> None:
    connect = duckdb.connect
    duckdb.connect = lambda *args, **more: Watched(connect(*args, **more))  # type: ignore[assignment]
    for name in ("unlink", "rename", "write_bytes"):
        original: Callable[..., Any] = getattr(Path, name)

        def watched(path: Path, *args: Any, original: Callable[..., Any] = original, **more: Any) -> Any:
            if path.exists() and not path.name.startswith("turnlog-"):
                step(f"{original.__name__} {path.suffix}")
            return original(path, *args, **more)

        setattr(Path, name, watched)


def in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        work()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def load_watched(settings: Settings, killed_at: int, log: Path) -> None:
    global _killed_at
    _killed_at = killed_at
    watch()
    # Several transactions per load, as with more rows than the usual bound, and as many in every run.
    loader.take_chunk = functools.partial(loader.take_chunk, most_rows=24)  # type: ignore[attr-defined]
    loader._HOLD = 60.0
    loader.load(settings, patience=5)
    log.write_text(json.dumps(_steps))


def load_and_tell(settings: Settings, log: Path) -> None:
    with Store(settings).reading() as db:
        overlaid = db.execute("select count(*), count(distinct commit_id) from span_rows").fetchall()
    loader.load(settings, patience=5)
    with Store(settings).writing(patience=5) as db:
        facts: dict[str, Any] = {name: db.execute(question).fetchall() for name, question in FACTS.items()}
    facts["readers before"] = overlaid
    facts["files"] = sorted(
        path.suffix for path in settings.directory.rglob("*") if path.suffix in (".journal", ".new", ".wal")
    )
    facts["set aside"] = len(list(settings.set_aside.iterdir()))
    log.write_text(json.dumps(facts))


def attempt(template: Path, scratch: Path, killed_at: int) -> tuple[int, str, list[str]]:
    """Load with a kill, then load again: how the first ended, what the second found, and the steps of an unkilled first."""
    directory = scratch / f"killed-{killed_at}"
    shutil.copytree(template, directory)
    settings = Settings(directory=directory)
    log = scratch / f"log-{killed_at}"
    status = in_child(lambda: load_watched(settings, killed_at, log))
    steps = json.loads(log.read_text()) if log.exists() else []
    log.unlink(missing_ok=True)
    facts = "" if in_child(lambda: load_and_tell(settings, log)) else log.read_text()
    shutil.rmtree(directory)
    return status, facts, steps


def main(store: Path, journals: Path, scratch: Path) -> None:
    _, expected, steps = attempt(store, scratch, 0)
    _, _, labels = attempt(journals, scratch, 0)
    making = len(labels) - len(steps)
    print(json.dumps({"making": labels[:making], "steps": steps, "facts": json.loads(expected)}), flush=True)

    def every_other(first: int) -> None:
        for number in range(first, len(labels) + 1, 2):
            start, nth = (journals, number) if number <= making else (store, number - making)
            status, facts, _ = attempt(start, scratch, nth)
            line = json.dumps([number, labels[number - 1], status, facts == expected or facts])
            os.write(1, f"{line}\n".encode())

    other = os.fork()
    every_other(1 if other else 2)
    if other:
        os.waitpid(other, 0)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
