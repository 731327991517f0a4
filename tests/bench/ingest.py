"""How fast spans get into the journal and from there into DuckDB, against the usual ways of getting them there.

`python tests/bench/ingest.py [--quick]`. Ways are interleaved and every ratio is taken inside one round. Ours do more than
the others: they keep sessions, turns, deltas and a rollup, and load exactly once.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import duckdb
import orjson
from measure import print_machine, print_table, spread
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from turnlog import semconv
from turnlog.background import WORTH_LOADING
from turnlog.content import ContentPolicy
from turnlog.identity import Sessions
from turnlog.journal.reader import journal_bytes
from turnlog.journal.writer import JournalWriter
from turnlog.operation import Operation
from turnlog.processor import SessionProcessor
from turnlog.settings import Settings
from turnlog.store.loader import load, load_once

Way = Callable[[Path, int], float]

_BATCH = 8


class _Discard(SpanExporter):
    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def _emit(provider: TracerProvider, count: int) -> float:
    """Tool calls with arguments and a result, as an instrumentation starts and ends them."""
    tracer = provider.get_tracer("bench")
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: "execute_tool",
        semconv.GEN_AI_TOOL_NAME: "write_file",
        semconv.GEN_AI_TOOL_TYPE: "function",
    }
    text = "def parse(source):\n    return list(tokens(source))\n" * 8
    began = time.perf_counter()
    for number in range(count):
        content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: {"path": f"src/module_{number % 40}.py", "content": text}}
        operation = Operation.start("execute_tool write_file", attributes, content, tracer=tracer)
        operation.set(content={semconv.GEN_AI_TOOL_CALL_RESULT: "wrote 400 characters"})
        operation.end()
    return time.perf_counter() - began


def plain_spans(folder: Path, count: int) -> float:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(_Discard()))
    return _emit(provider, count)


def through_processor(folder: Path, count: int) -> float:
    settings = Settings(directory=folder)
    journal = JournalWriter(settings)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SessionProcessor(ContentPolicy(settings), Sessions(), journal))
    seconds = _emit(provider, count)
    journal.close()
    return seconds


def writer_alone(folder: Path, count: int) -> float:
    """Two rows a span, start and end, ready made: the price of the writes."""
    rows = [orjson.dumps(row) + b"\n" for row in itertools.islice(corpus.session_rows(1), 400)]
    journal = JournalWriter(Settings(directory=folder))
    began = time.perf_counter()
    for number in range(count):
        row = rows[number % len(rows)]
        journal.append(row)
        journal.append(row)
    seconds = time.perf_counter() - began
    journal.close()
    return seconds


def loader(folder: Path, count: int) -> float:
    settings = Settings(directory=folder)
    _make_store(settings)
    corpus.write_sessions(settings, range(1, 1 + _sessions(count)), _BATCH)
    began = time.perf_counter()
    report = load(settings, 30)
    seconds = time.perf_counter() - began
    assert report.rows >= count and not report.set_aside
    return seconds


def loader_in_background(folder: Path, count: int) -> float:
    """As the background thread loads a living process's journal: as much as it waits for, the store opened each time."""
    settings = Settings(directory=folder)
    _make_store(settings)
    journal = JournalWriter(settings)
    seconds, loaded, done = 0.0, 0, 0
    for number in range(1, 1 + _sessions(count)):
        rows = [orjson.dumps(row) + b"\n" for row in corpus.session_rows(number)]
        journal.append(b"".join(rows), len(rows))
        done += len(rows)
        if journal_bytes(settings.journals) - loaded >= WORTH_LOADING or done >= count:
            began = time.perf_counter()
            load_once(settings, 30)
            seconds += time.perf_counter() - began
            loaded = journal_bytes(settings.journals)
    journal.close()
    return seconds


def insert_each(folder: Path, count: int) -> float:
    """A primary key, four indexes, an INSERT and a commit for every span, on a connection that is never let go."""
    return _insert_rows(folder, count, "insert", reopened=False)


def upsert_each(folder: Path, count: int) -> float:
    """The same with INSERT OR REPLACE, as the exporters we found write it."""
    return _insert_rows(folder, count, "insert or replace", reopened=False)


def upsert_each_reopened(folder: Path, count: int) -> float:
    """As those exporters run behind a SimpleSpanProcessor: the file is opened for every export, so others can have it."""
    return _insert_rows(folder, count, "insert or replace", reopened=True)


def _insert_rows(folder: Path, count: int, verb: str, *, reopened: bool) -> float:
    file = str(folder / "rows.duckdb")
    columns = ("span_id", "trace_id", "parent_id", "session_id", "name", "span_kind", "start_ns", "end_ns", "status")
    db = duckdb.connect(file)
    db.execute(
        "create table spans (span_id varchar primary key, trace_id varchar, parent_id varchar, session_id varchar,"
        " name varchar, span_kind varchar, start_ns bigint, end_ns bigint, status varchar, attributes json)"
    )
    for column in ("trace_id", "session_id", "name", "start_ns"):
        db.execute(f"create index by_{column} on spans ({column})")
    began = time.perf_counter()
    for row in _rows(count):
        if reopened:
            db.close()
            db = duckdb.connect(file)
        rest = {key: value for key, value in row.items() if key not in columns}
        values = [*(row[column] for column in columns), orjson.dumps(rest).decode()]
        db.execute(f"{verb} into spans values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    db.close()
    return time.perf_counter() - began


def appender(folder: Path, count: int) -> float:
    """DuckDB's appender into one table with the typed columns that our views need, no key, no index."""
    names = sorted({key for row in corpus.session_rows(1) for key in row})
    numbers = {"start_ns", "end_ns", "commit_sequence", "input_tokens", "output_tokens"}
    rows = list(_rows(count))
    with duckdb.connect(str(folder / "appended.duckdb")) as db:
        columns = ", ".join(f"{name} {'bigint' if name in numbers else 'varchar'}" for name in names)
        db.execute(f"create table spans ({columns})")
        began = time.perf_counter()
        with db.appender("spans") as target:
            for number, row in enumerate(rows, 1):
                values = (row.get(name) for name in names)
                target.append_row(*(orjson.dumps(v).decode() if isinstance(v, list | dict) else v for v in values))
                if number % 512 == 0:
                    target.flush()
    return time.perf_counter() - began


def _make_store(settings: Settings) -> None:
    corpus.write_sessions(settings, range(1))
    load(settings, 30)


def _sessions(count: int) -> int:
    return -(-count // corpus.SPANS_PER_SESSION)


def _rows(count: int) -> Any:
    every = itertools.chain.from_iterable(corpus.session_rows(number) for number in range(_sessions(count)))
    return itertools.islice(every, count)


def _measure(ways: dict[Way, int], rounds: int) -> dict[Way, list[float]]:
    """Spans per second, per way and round."""
    rates: dict[Way, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, count in ways.items():
            folder = Path(tempfile.mkdtemp())
            try:
                rates[way].append(count / way(folder, count))
            finally:
                shutil.rmtree(folder)
    return rates


def _print(title: str, rates: dict[Way, list[float]], counts: dict[Way, int], bases: tuple[Way, ...]) -> None:
    head = ("way", "spans", "spans/s", "µs/span", *(f"times {base.__name__}" for base in bases))
    rows = [
        [
            way.__name__,
            f"{counts[way]:,}",
            spread(found),
            f"{1e6 / statistics.median(found):,.0f}",
            *(spread(mine / theirs for mine, theirs in zip(found, rates[base], strict=True)) for base in bases),
        ]
        for way, found in rates.items()
    ]
    print_table(title, head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print_machine()
    rounds = 3 if quick else 7
    spans = 2_000 if quick else 10_000
    counts: dict[Way, int] = {plain_spans: spans, through_processor: spans, writer_alone: spans}
    _print("Into the journal", _measure(counts, rounds), counts, (plain_spans,))
    sessions = 24 if quick else 80
    counts = {
        upsert_each_reopened: 40,
        upsert_each: 300,
        insert_each: 300,
        appender: 2_000 if quick else 6_000,
        loader_in_background: sessions * corpus.SPANS_PER_SESSION,
        loader: sessions * corpus.SPANS_PER_SESSION,
    }
    rates = _measure(counts, rounds)
    _print("Into DuckDB", rates, counts, (upsert_each_reopened, upsert_each, insert_each, appender))
    print_machine()


if __name__ == "__main__":
    main()
