"""SQL that somebody typed into a browser, in a child process that the system itself bounds.

`store.sandbox` keeps a statement from writing and reading elsewhere; but one scalar call can ignore both DuckDB's memory limit
and its interrupt. A child with limits of the operating system cannot. It ends when its parent lets go of its input, also by
dying; its group is its own, so that Ctrl-C in the terminal reaches the parent alone.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from turnlog.errors import StatementRefused
from turnlog.settings import Settings

SECONDS = 10
MEMORY = 512 * 1024**2
AT_ONCE = 2
# Code, threads' stacks and what the answer takes on its way out count too, not only what the database takes.
_DATA = MEMORY + 384 * 1024**2
_ADDRESS_SPACE = 4 * 1024**3
_MOST_BYTES = 4 * 1024 * 1024
_LOOK = 0.2
_PATIENCE = 3.0

_places = threading.BoundedSemaphore(AT_ONCE)


class Result(NamedTuple):
    columns: list[str]
    rows: list[list[Any]]
    more: bool
    seconds: float


def ask_bounded(settings: Settings, statement: str, *, rows: int, given_up: Callable[[], bool] = lambda: False) -> Result:
    """`given_up`: whether nobody waits for the answer any more."""
    if not _places.acquire(timeout=_PATIENCE):
        raise StatementRefused(f"{AT_ONCE} statements run already. Try again when one of them has ended.")
    try:
        return _ask(settings, statement, rows, given_up)
    finally:
        _places.release()


def _ask(settings: Settings, statement: str, rows: int, given_up: Callable[[], bool]) -> Result:
    started = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - our own module
        # -P: a duckdb.py in the folder where the page was started is nobody's database.
        [sys.executable, "-P", "-m", "turnlog.web.bounded", str(rows)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "TURNLOG_DIR": str(settings.directory)},
    ) as child:
        try:
            said, complained = _listen(child, statement, started, given_up)
        finally:
            child.kill()
    try:
        answer = json.loads(said)
    except ValueError:
        if child.returncode < 0:
            raise StatementRefused("the statement took more time or memory than it may, and was stopped. Narrow it.") from None
        lines = complained.decode("utf-8", "replace").strip().splitlines() or [f"exit code {child.returncode}"]
        raise StatementRefused(f"the statement could not be run: {lines[-1]}") from None
    if "refused" in answer:
        raise StatementRefused(str(answer["refused"]))
    return Result(answer["columns"], answer["rows"], answer["more"], time.monotonic() - started)


def _listen(
    child: subprocess.Popen[bytes], statement: str, started: float, given_up: Callable[[], bool]
) -> tuple[bytes, bytes]:
    words = statement.encode("utf-8", "replace")
    # `communicate` would close the input, which tells the child to end.
    given, child.stdin = child.stdin, None
    if given is None:
        raise AssertionError("the child was given a pipe")
    with given:
        given.write(b"%d\n" % len(words) + words)
        given.flush()
        while True:
            try:
                return child.communicate(timeout=_LOOK)
            except subprocess.TimeoutExpired:
                if given_up():
                    raise StatementRefused("nobody waited for the answer any more, and the statement was stopped.") from None
                # The child stops by itself and says why, if it can.
                if time.monotonic() - started > SECONDS + _PATIENCE:
                    raise StatementRefused(
                        f"the statement ran for {SECONDS} s and was stopped. Narrow it: a session, a limit."
                    ) from None


def _main() -> None:
    from turnlog import queries
    from turnlog.cli.render import to_json
    from turnlog.errors import TurnlogError
    from turnlog.settings import read_settings
    from turnlog.store import sandbox

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS * 2, SECONDS * 2))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA, _DATA))
    settings, most = read_settings(), int(sys.argv[1])
    given = sys.stdin.buffer
    statement = given.read(int(given.readline())).decode("utf-8", "replace")
    threading.Thread(target=_end_with_parent, name="turnlog-parent", daemon=True).start()
    try:
        with queries.reading(settings) as db:
            db.execute(f"set memory_limit = '{MEMORY // 1024**2}MiB'")
            db.execute("set threads = 2")
            sandbox.lock_down(db, settings.archive)
            found = sandbox.answer(db, statement, rows=most, seconds=SECONDS)
        rows = [[_plain(value) for value in row] for row in found.rows]
        answer = to_json({"columns": found.columns, "rows": rows, "more": found.more}).encode()
        if len(answer) > _MOST_BYTES:
            raise StatementRefused(
                f"the answer is over {_MOST_BYTES // 1024**2} MB. Ask for fewer columns, or use: turnlog sql"
            )
    except TurnlogError as error:
        answer = to_json({"refused": str(error)}).encode()
    except MemoryError:
        answer = to_json({"refused": "the statement needs more memory than it may have. Narrow it."}).encode()
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def _plain(value: Any) -> Any:
    """What JSON has no form for, as DuckDB writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


if __name__ == "__main__":
    _main()
