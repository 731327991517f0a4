"""Running a program as a user would, and reading afterwards what turnlog kept of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog import queries
from turnlog.settings import Settings

ROOT = Path(__file__).parent.parent


def environment(directory: Path, **more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("TURNLOG_", "OTEL_"))}
    return {**kept, "TURNLOG_DIR": str(directory), "NO_COLOR": "1", **more}


def run(
    *command: str | Path,
    directory: Path,
    cwd: Path = ROOT,
    code: int = 0,
    stdin: str = "",
    timeout: float = 120,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command],
        env=environment(directory, **more),
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def run_code(code: str, directory: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-c", code, directory=directory, **more)


@contextmanager
def running(*command: str | Path, directory: Path, cwd: Path = ROOT, **more: str) -> Iterator[subprocess.Popen[str]]:
    """A program that runs meanwhile, and is killed if it still does."""
    with subprocess.Popen(
        [str(part) for part in command],
        env=environment(directory, **more),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


@contextmanager
def running_code(code: str, directory: Path, **more: str) -> Iterator[subprocess.Popen[str]]:
    with running(sys.executable, "-c", code, directory=directory, **more) as program:
        yield program


def run_zero_code(program: str, directory: Path, exporters: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Under OpenTelemetry's own launcher, with only traces on."""
    return run(
        Path(sys.executable).parent / "opentelemetry-instrument",
        sys.executable,
        program,
        directory=directory,
        OTEL_TRACES_EXPORTER=exporters,
        OTEL_METRICS_EXPORTER="none",
        OTEL_LOGS_EXPORTER="none",
        **more,
    )


def commits(directory: Path, session: str = "") -> list[tuple[int, str, str, str]]:
    """Turn, kind, tool and outcome of a session's commits, oldest first."""
    with queries.reading(Settings(directory=directory)) as db:
        found = queries.log(db, queries.find_session(db, session), limit=100_000)
    return [(commit.turn, commit.kind, commit.tool, commit.outcome) for commit in reversed(found)]
