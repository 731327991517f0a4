"""A session that goes on beside the receiver to which another machine has sent it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from programs import run_code, running
from turnlog import queries
from turnlog.settings import Settings

_SENDER = """
import time, turnlog
from opentelemetry import trace
from pathlib import Path
turnlog.init(session="s", instrument=False)
for fact in ("there", "late"):
    with turnlog.turn(fact):
        turnlog.note(fact, key="fact")
    trace.get_tracer_provider().force_flush()
    while fact == "there" and not Path("taken over").exists():
        time.sleep(0.05)
print("done", flush=True)
"""
_RESUMED = """
import turnlog
try:
    turnlog.resume("s")
except turnlog.SessionLeased as error:
    print(str(error).partition(" since ")[0])
state = turnlog.resume("s", take_over=True)
print(state.turn, [fact.value for fact in state.facts])
with turnlog.turn("here"):
    turnlog.note("here", key="fact")
"""


def test_a_session_that_another_machine_sent_goes_on_here_and_its_sender_is_fenced(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    with running(sys.executable, "-m", "turnlog", "serve", "--port", "0", directory=here) as receiver:
        assert receiver.stdout is not None
        endpoint = next(word for word in receiver.stdout.readline().split() if word.startswith("http")).rstrip(",")
        sent = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
        with running(sys.executable, "-c", _SENDER, directory=there, cwd=tmp_path, **sent) as sender:
            assert sender.stdout is not None
            wait_for(here, 1)
            said = run_code(_RESUMED, here).stdout.splitlines()
            (tmp_path / "taken over").touch()
            assert sender.stdout.readline() == "done\n"
            wait_for(here, 3)
    assert said == ["session s is being written by another process", "1 ['there']"]
    with queries.reading(Settings(directory=here)) as db:
        assert [fact.value for fact in queries.session_state(db, "s").facts] == ["here"]
        fenced = db.execute("select turn from commits where kind = 'note' and fenced <> ''").fetchall()
    assert fenced == [(3,)]


def wait_for(directory: Path, notes: int) -> None:
    deadline = time.monotonic() + 60
    while (found := noted(directory)) < notes:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def noted(directory: Path) -> int:
    with queries.reading(Settings(directory=directory)) as db:
        return int(db.execute("select count(*) from commits where kind = 'note'").fetchall()[0][0])
