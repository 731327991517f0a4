"""SQL that somebody typed into a browser, in a child process that the system itself bounds.

`store.sandbox` keeps a statement from writing and reading elsewhere; but one scalar call can ignore both DuckDB's memory limit
and its interrupt. A child with limits of the operating system cannot.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from typing import Any, NamedTuple

from turnlog.errors import StatementRefused
from turnlog.settings import Settings

SECONDS = 10
MEMORY = 512 * 1024**2
# Code, threads' stacks and reserved address space count too, not only what the database takes.
_ADDRESS_SPACE = 4 * 1024**3
_MOST_BYTES = 4 * 1024 * 1024


class Result(NamedTuple):
    columns: list[str]
    rows: list[list[Any]]
    more: bool
    seconds: float


def ask_bounded(settings: Settings, statement: str, *, rows: int) -> Result:
    started = time.monotonic()
    # -P: a duckdb.py in the folder where the page was started is nobody's database.
    child = [sys.executable, "-P", "-m", "turnlog.web.bounded", str(rows)]
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            child,
            input=statement.encode("utf-8", "replace"),
            capture_output=True,
            timeout=SECONDS + 5,
            check=False,
            env={**os.environ, "TURNLOG_DIR": str(settings.directory)},
        )
    except subprocess.TimeoutExpired:
        raise StatementRefused(f"the statement ran for {SECONDS} s and was stopped. Narrow it: a session, a limit.") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        if done.returncode < 0:
            raise StatementRefused("the statement took more time or memory than it may, and was stopped. Narrow it.") from None
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise StatementRefused(f"the statement could not be run: {said[-1]}") from None
    if "refused" in answer:
        raise StatementRefused(str(answer["refused"]))
    return Result(answer["columns"], answer["rows"], answer["more"], time.monotonic() - started)


def _main() -> None:
    from turnlog import queries
    from turnlog.cli.render import to_json
    from turnlog.errors import TurnlogError
    from turnlog.settings import read_settings
    from turnlog.store import sandbox

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS * 2, SECONDS * 2))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    settings, most = read_settings(), int(sys.argv[1])
    statement = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        with queries.reading(settings) as db:
            db.execute(f"set memory_limit = '{MEMORY // 1024**2}MiB'")
            db.execute("set threads = 2")
            sandbox.lock_down(db, settings.archive)
            found = sandbox.answer(db, statement, rows=most, seconds=SECONDS)
        answer = to_json({"columns": found.columns, "rows": found.rows, "more": found.more}).encode()
        if len(answer) > _MOST_BYTES:
            raise StatementRefused(
                f"the answer is over {_MOST_BYTES // 1024**2} MB. Ask for fewer columns, or use: turnlog sql"
            )
    except TurnlogError as error:
        answer = to_json({"refused": str(error)}).encode()
    except MemoryError:
        answer = to_json({"refused": "the statement needs more memory than it may have. Narrow it."}).encode()
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    _main()
