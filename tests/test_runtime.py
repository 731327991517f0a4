"""Starting turnlog in a process: beside an application's own OpenTelemetry, disabled, forked, twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import commits, run_code, run_zero_code

pytestmark = pytest.mark.usefixtures("made_here")

WORK = """
@turnlog.tool
def work(n):
    return n
with turnlog.session("s"):
    work(1)
"""


def test_an_applications_own_provider_is_added_to_and_not_replaced(tmp_path: Path) -> None:
    done = run_code(
        f"""
import turnlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
mine = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(mine))
trace.set_tracer_provider(provider)
turnlog.init()
{WORK}
assert trace.get_tracer_provider() is provider
(span,) = mine.get_finished_spans()
print(span.attributes["session.id"], span.attributes["turnlog.commit.outcome"])
""",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("s ok\n", "")
    assert commits(tmp_path) == [(1, "tool", "work", "ok")]


def test_a_provider_that_the_application_sets_later_wins_and_is_followed(tmp_path: Path) -> None:
    done = run_code(
        f"""
import turnlog
turnlog.init()
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
provider = TracerProvider()
trace.set_tracer_provider(provider)
assert trace.get_tracer_provider() is provider
{WORK}
""",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert commits(tmp_path) == [(1, "tool", "work", "ok")]


def test_init_twice_records_once(tmp_path: Path) -> None:
    run_code(f"import turnlog\nturnlog.init()\nturnlog.init()\n{WORK}", tmp_path)
    assert commits(tmp_path) == [(1, "tool", "work", "ok")]


def test_init_after_shutdown_records_again_and_not_in_between(tmp_path: Path) -> None:
    run_code(f"import turnlog\nturnlog.init()\n{WORK}\nturnlog.shutdown()\n{WORK}\nturnlog.init()\n{WORK}", tmp_path)
    assert commits(tmp_path) == [(1, "tool", "work", "ok"), (2, "tool", "work", "ok")]


def test_the_kill_switch_leaves_no_trace(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    run_code(f"import turnlog\nturnlog.init()\n{WORK}", directory, TURNLOG_DISABLED="1")
    assert not directory.exists()


def test_a_directory_that_cannot_be_written_costs_telemetry_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_code(f"import turnlog\nturnlog.init()\n{WORK}\nwork(2)\nprint('done')", tmp_path / "file" / "below")
    assert done.stdout == "done\n"
    assert len(done.stderr.splitlines()) == 1
    assert "turnlog cannot write its journal" in done.stderr


def test_a_forked_child_records_into_its_own_journal(tmp_path: Path) -> None:
    run_code(
        """
import os, turnlog
turnlog.init()
@turnlog.tool
def work(n):
    return n
with turnlog.session("s"), turnlog.turn(input="x"):
    work(1)
    child = os.fork()
    work(2 if child else 3)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
""",
        tmp_path,
    )
    assert commits(tmp_path) == [(1, "tool", "work", "ok")] * 3


def test_threads_of_two_sessions_at_once_are_in_the_turns_that_start_them(tmp_path: Path) -> None:
    run_code(
        """
import threading, turnlog
turnlog.init()
both_run = threading.Barrier(2)
@turnlog.tool
def work(n):
    both_run.wait(10)
def converse(session):
    with turnlog.session(session):
        for n in range(2):
            with turnlog.turn(input="x"):
                worker = threading.Thread(target=work, args=(n,))
                worker.start()
                worker.join()
workers = [threading.Thread(target=converse, args=(session,)) for session in ("one", "two")]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
""",
        tmp_path,
    )
    assert [commits(tmp_path, session) for session in ("one", "two")] == [
        [(1, "tool", "work", "ok"), (2, "tool", "work", "ok")]
    ] * 2


def test_starting_up_imports_no_duckdb(tmp_path: Path) -> None:
    done = run_code(f"import sys, turnlog\nturnlog.init()\n{WORK}\nprint('duckdb' in sys.modules)", tmp_path)
    assert done.stdout == "False\n"


def test_reading_imports_no_opentelemetry(tmp_path: Path) -> None:
    done = run_code("import sys, turnlog.queries\nprint([m for m in sys.modules if m.startswith('opentelemetry')])", tmp_path)
    assert done.stdout == "[]\n"


def test_a_large_backlog_is_loaded_by_the_process_itself(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    done = run_code(
        """
import os, time, turnlog
turnlog.init()
@turnlog.tool
def work(n):
    return n
with turnlog.session("s"):
    for n in range(9000):
        work(n)
store, give_up = os.path.join(os.environ["TURNLOG_DIR"], "store.duckdb"), time.monotonic() + 60
while not os.path.exists(store) and time.monotonic() < give_up:
    time.sleep(0.02)
print(os.path.exists(store))
""",
        directory,
        TURNLOG_LOAD_INTERVAL="0.2",
    )
    assert done.stdout == "True\n"
    assert len(commits(directory)) == 9000


def test_the_exporter_alone_derives_what_it_is_given(tmp_path: Path) -> None:
    run_code(
        """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from turnlog.exporter import TurnlogExporter
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(TurnlogExporter()))
attributes = {
    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write_file", "session.id": "theirs",
    "gen_ai.tool.call.arguments": '{"path": "a.py", "content": "x"}',
}
provider.get_tracer("theirs").start_span("execute_tool write_file", attributes=attributes).end()
provider.shutdown()
""",
        tmp_path,
    )
    assert commits(tmp_path, "theirs") == [(1, "tool", "write_file", "ok")]


def test_zero_code_records_beside_another_exporter(tmp_path: Path) -> None:
    done = run_zero_code("examples/plain_opentelemetry.py", tmp_path, "turnlog,console")
    assert "Together they cost 42." in done.stdout
    assert '"name": "chat scripted"' in done.stdout
    assert commits(tmp_path) == [(1, "decision", "", "ok"), (1, "tool", "add", "ok"), (1, "decision", "", "ok")]


def test_zero_code_without_our_exporter_writes_nothing_here(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    done = run_zero_code("examples/plain_opentelemetry.py", directory, "console")
    assert '"turnlog.decision.choice": "call add"' in done.stdout
    assert not directory.exists()


def test_zero_code_works_without_a_distro(tmp_path: Path) -> None:
    none = {"OTEL_PYTHON_DISTRO": "none", "OTEL_PYTHON_CONFIGURATOR": "none"}
    done = run_zero_code("examples/plain_opentelemetry.py", tmp_path, "turnlog", **none)
    assert done.stdout == "Together they cost 42.\n"
    assert commits(tmp_path) == [(1, "decision", "", "ok"), (1, "tool", "add", "ok"), (1, "decision", "", "ok")]


def test_a_setting_that_makes_no_sense_is_said(tmp_path: Path) -> None:
    done = run_code(f"import turnlog\nturnlog.init()\n{WORK}", tmp_path, TURNLOG_CAPTURE="bogus", TURNLOG_PATIENCE="abc")
    assert done.stderr.splitlines() == [
        "turnlog: TURNLOG_CAPTURE=bogus is none of none, summary, full: no content is kept",
        "turnlog: TURNLOG_PATIENCE=abc is no positive number: taken as 10",
    ]


def test_what_is_written_is_private(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    run_code(f"import turnlog\nturnlog.init()\n{WORK}", directory)
    assert len(commits(directory)) == 1
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (directory, *directory.iterdir())}
    assert modes == {"store": "0o700", "journal": "0o700", "store.duckdb": "0o600", "store.lock": "0o600"}
