"""A `turnlog gc` that is killed before its n-th step, for every n: what is in the store then, and after the next one.

Run as a program: python killing_gc.py <directory of a loaded store> <scratch directory>. Prints one JSON line per step.
"""

from __future__ import annotations

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
from turnlog.store import Store, retention

FACTS = {
    "sessions": "select session_id, status from sessions order by session_id",
    "spans": "select commit_id, attributes from span_rows order by commit_id",
    "entries": "select commit_id, kind, key from entries order by all",
    "blobs": "select hash from raw.blobs order by hash",
}
# What changes files, and two places in the middle of the copy; the rest lies between two of these.
STEPS = ("attach", "detach", "insert into fresh.raw.spans", "insert into fresh.raw.turns")
_killed_at = 0
_steps: list[str] = []


def step(label: str) -> None:
    _steps.append(label)
    if len(_steps) == _killed_at:
        os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._db = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, statement: Any, *parameters: Any) -> duckdb.DuckDBPyConnection:
        if isinstance(statement, str) and statement.startswith(STEPS):
            step(" ".join(statement.split())[:30])
        return self._db.execute(statement, *parameters)

    def close(self) -> None:
        step("close")
        self._db.close()


def watch() -> None:
    connect, rename = duckdb.connect, Path.rename
    duckdb.connect = lambda *args, **more: Watched(connect(*args, **more))  # type: ignore[assignment]

    def watched(path: Path, target: Path) -> Path:
        step(f"rename {target.suffix}")
        return rename(path, target)

    Path.rename = watched  # type: ignore[method-assign, assignment]


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


def collect(settings: Settings, killed_at: int, log: Path) -> None:
    global _killed_at
    _killed_at = killed_at
    plan = retention.plan(settings, 0, keep_durable=False)
    watch()
    retention.collect(settings, plan, patience=5)
    log.write_text(json.dumps(_steps))


def tell(settings: Settings, log: Path) -> None:
    with Store(settings).reading() as db:
        facts: dict[str, Any] = {name: db.execute(question).fetchall() for name, question in FACTS.items()}
    archive = str(settings.archive / "*" / "spans.parquet")
    names = (
        duckdb.sql(f"select distinct session_id from read_parquet('{archive}')").fetchall() if _has_archive(settings) else []
    )
    facts["archived"] = names
    log.write_text(json.dumps(facts))


def _has_archive(settings: Settings) -> bool:
    return any(not folder.name.endswith(".tmp") for folder in settings.archive.glob("*"))


def told(settings: Settings, log: Path) -> str:
    return "" if in_child(lambda: tell(settings, log)) else log.read_text()


def attempt(template: Path, scratch: Path, killed_at: int, again: bool) -> tuple[int, str, str, list[str]]:
    """gc with a kill, perhaps gc again: how the first ended, what was there after each, and the steps of an unkilled first."""
    directory = scratch / f"killed-{killed_at}"
    shutil.copytree(template, directory)
    settings = Settings(directory=directory)
    log = scratch / f"log-{killed_at}"
    status = in_child(lambda: collect(settings, killed_at, log))
    steps = json.loads(log.read_text()) if status == 0 else []
    after = told(settings, log)
    if again:
        in_child(lambda: collect(settings, 0, log))
    last = told(settings, log) if again else ""
    shutil.rmtree(directory)
    return status, after, last, steps


def main(template: Path, scratch: Path) -> None:
    before = told(Settings(directory=template), scratch / "log")
    _, expected, _, labels = attempt(template, scratch, 0, again=False)
    print(json.dumps({"steps": labels, "before": json.loads(before), "after": json.loads(expected)}), flush=True)

    def every_other(first: int) -> None:
        for number in range(first, len(labels) + 1, 2):
            # Once something was renamed, the next gc finds what this one left.
            again = any(label.startswith("rename") for label in labels[: number - 1])
            status, after, last, _ = attempt(template, scratch, number, again)
            line = json.dumps([number, status, _which(after, before, expected), not again or last == expected])
            os.write(1, f"{line}\n".encode())

    other = os.fork()
    every_other(1 if other else 2)
    if other:
        os.waitpid(other, 0)


def _which(found: str, *known: str) -> str:
    """Which of the two stores this is. A session may be in the archive and in the store; never in neither."""
    rest = [{**json.loads(facts), "archived": []} for facts in (found or "{}", *known)]
    return ["old", "new"][rest.index(rest[0], 1) - 1] if rest[0] in rest[1:] else found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
