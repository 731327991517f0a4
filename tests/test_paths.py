"""One agent, four ways to the store, one commit log: in its own process, over OTLP, through the collector, and as others
record it. What a convention cannot carry is listed here with its reason.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from programs import ROOT, run, run_zero_code
from stack import build
from stack.parts import Collector, Serve, eventually
from turnlog import queries
from turnlog.settings import Settings

PROGRAM = ROOT / "tests" / "vocabulary" / "told.py"
COLUMNS = (
    *("session_id", "turn", "kind", "tool", "input_hash", "input_summary", "output_hash", "output_summary"),
    *("outcome", "error", "error_message", "delta", "choice", "reason", "input_tokens", "output_tokens", "model", "agent"),
    "tool_call_id",
)
LOG = f"select span_id, {', '.join(COLUMNS)} from commits order by ended_ns, sequence"
FOREIGN = ("openinference.instrumentation.langchain", "openinference.instrumentation.openai")
# Which column of which commit differs when OpenInference tells it, and why.
FORCED: dict[tuple[str, str], str] = {}

Row = dict[str, Any]


def log(directory: Path) -> list[Row]:
    """A store's commits, oldest first, without what tells one run from another."""
    with queries.reading(Settings(directory=directory)) as db:
        rows = []
        for span_id, *values in db.execute(LOG).fetchall():
            row = dict(zip(COLUMNS, values, strict=True))
            rows.append(row | {"delta": row["delta"].replace(span_id, "itself")})
        return rows


def span_count(directory: Path) -> int:
    with queries.reading(Settings(directory=directory)) as db:
        (count,) = db.execute("select count(*) from raw.spans").fetchall()[0]
        return int(count)


def label(row: Row) -> str:
    return f"{row['turn']} {row['tool'] or row['choice']}"


def only(*names: str) -> Mapping[str, str]:
    """Of all instrumentations that are installed beside us, those whose names begin so."""
    found = {entry.name for entry in entry_points(group="opentelemetry_instrumentor")}
    return {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": ",".join(sorted(name for name in found if not name.startswith(names)))}


def send(endpoint: str, directory: Path, *peers: str, **more: str) -> None:
    """The agent as a user without a store runs it: OpenTelemetry's launcher, its SDK and its exporter."""
    run_zero_code(
        PROGRAM,
        directory,
        "otlp",
        OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
        TOLD_BY=" ".join(peers),
        **more,
    )
    assert not directory.exists()


@contextmanager
def served(folder: Path) -> Iterator[Serve]:
    """A receiver that is told to stop, as an operator stops it, at the end."""
    serve = Serve(folder)
    with serve.running():
        yield serve
        assert serve.process is not None
        serve.process.send_signal(signal.SIGTERM)
        assert serve.process.wait(60) == 0, serve.log.read_text()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the agent's own process."""
    directory = tmp_path_factory.mktemp("recorded") / "store"
    run(sys.executable, "-m", "turnlog", "run", sys.executable, PROGRAM, directory=directory)
    return directory
