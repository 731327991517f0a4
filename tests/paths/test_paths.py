"""One agent, four ways to the store, one commit log: in its own process, over OTLP, through the collector, and as others
record it. What a convention cannot carry is listed here with its reason.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from programs import run, run_zero_code
from stack import build
from stack.parts import Collector, Serve, eventually
from turnlog import queries
from turnlog.settings import Settings
from vocabulary.agent import SESSION

PROGRAM = Path(__file__).parent / "agent.py"
COLUMNS = (
    *("session_id", "turn", "kind", "tool", "input_hash", "input_summary", "output_hash", "output_summary"),
    *("outcome", "error", "error_message", "delta", "choice", "reason", "input_tokens", "output_tokens", "model", "agent"),
    "tool_call_id",
)
LOG = f"select span_id, {', '.join(COLUMNS)} from commits order by ended_ns, sequence"
FOREIGN = ("openinference.instrumentation.langchain", "openinference.instrumentation.openai")
LABELS = ["1 call write_file", "1 write_file", "1 answer", "2 call publish", "2 publish", "2 answer"]
# What OpenInference has no words for.
NOT_TOLD = {"state": "a checkpoint is LangGraph's own, not a run of anything"}
# Which column of which commit differs when OpenInference tells it.
TOLD_OTHERWISE = {
    ("1 write_file", "delta"): "nobody sees from afar that the file was not there before: it is declared, not observed",
}

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


def installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def only(*names: str) -> Mapping[str, str]:
    """Of all instrumentations that are installed beside us, those whose names begin so."""
    found = {entry.name for entry in entry_points(group="opentelemetry_instrumentor")}
    return {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": ",".join(sorted(name for name in found if not name.startswith(names)))}


def send(endpoint: str, folder: Path, *peers: str) -> None:
    """The agent as a user without a store runs it: OpenTelemetry's launcher, its SDK and its exporter."""
    folder.mkdir()
    run_zero_code(
        PROGRAM,
        folder / "store",
        "otlp",
        cwd=folder,
        OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
        TOLD_BY=" ".join(peers),
        **only(*([] if peers else ["turnlog_"])),
    )
    assert not (folder / "store").exists()


@contextmanager
def served(folder: Path) -> Iterator[Serve]:
    """A receiver that is stopped at the end as an operator stops it."""
    serve = Serve(folder)
    with serve.running():
        yield serve
        assert serve.process is not None
        serve.process.send_signal(signal.SIGTERM)
        assert serve.process.wait(60) == 0, serve.log.read_text()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the agent's own process."""
    folder = tmp_path_factory.mktemp("recorded")
    run(sys.executable, "-m", "turnlog", "run", sys.executable, PROGRAM, directory=folder / "store", cwd=folder)
    return folder / "store"


def test_the_log_is_the_agents_own(recorded: Path) -> None:
    rows = log(recorded)
    assert [label(row) for row in rows if row["kind"] not in NOT_TOLD] == LABELS
    assert {row["session_id"] for row in rows} == {SESSION}


def test_an_sdk_that_sends_to_the_receiver_makes_the_same_log(recorded: Path, tmp_path: Path) -> None:
    with served(tmp_path) as serve:
        send(serve.endpoint, tmp_path / "agent")
    assert log(serve.directory) == log(recorded)
    assert span_count(serve.directory) == span_count(recorded)


def test_a_collector_in_between_changes_nothing(recorded: Path, tmp_path: Path) -> None:
    try:
        otelcol = build.binary("otelcol")
    except build.Missing as missing:
        pytest.skip(str(missing))
    with served(tmp_path) as serve:
        collector = Collector(otelcol, tmp_path, turnlog=serve.endpoint)
        with collector.running():
            send(collector.endpoint, tmp_path / "agent")
            eventually(lambda: span_count(serve.directory) >= span_count(recorded), what="the spans")
    assert log(serve.directory) == log(recorded)
    assert span_count(serve.directory) == span_count(recorded)


def test_what_openinference_sends_makes_the_same_log_but_for_what_it_cannot_say(recorded: Path, tmp_path: Path) -> None:
    if missing := [module for module in FOREIGN if not installed(module)]:
        pytest.skip(f"needs {missing[0]}: `python tests/frameworks/environments.py beside-test`")
    with served(tmp_path) as serve:
        send(serve.endpoint, tmp_path / "agent", *FOREIGN)
    rows = log(serve.directory)
    expected = [row for row in log(recorded) if row["kind"] not in NOT_TOLD]
    assert [label(row) for row in rows] == LABELS
    differs = {(label(row), key) for row, own in zip(rows, expected, strict=True) for key in row if row[key] != own[key]}
    assert differs == set(TOLD_OTHERWISE)
