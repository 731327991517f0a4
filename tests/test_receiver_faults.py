"""What the receiver has acknowledged is in the store once, whatever happens to it: killed under load, or its disk full."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from email.message import Message
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from programs import ROOT, environment
from sending import SPANS_PER_TURN, TURNS_PER_SESSION, acknowledged
from sent import two_turns
from stack import build
from stack.parts import Collector, Serve, _Process, eventually
from turnlog import queries
from turnlog.intake import Intake
from turnlog.settings import Settings

SENDER = ROOT / "tests" / "sending.py"
TURNS = 250
SENDERS = ("left", "right")
ALL = len(SENDERS) * TURNS * SPANS_PER_TURN


@contextmanager
def sending(endpoint: str, folder: Path) -> Iterator[tuple[list[subprocess.Popen[bytes]], list[Path]]]:
    """Two applications at work, and the files in which they note what was acknowledged."""
    files = [folder / f"{name}.txt" for name in SENDERS]
    with ExitStack() as stack:
        senders = []
        for name, file in zip(SENDERS, files, strict=True):
            command = [sys.executable, SENDER, endpoint, name, str(TURNS), file]
            sender = subprocess.Popen(command, env=environment(folder / "none"), stderr=subprocess.DEVNULL)
            stack.callback(sender.wait)
            stack.callback(sender.kill)
            senders.append(sender)
        yield senders, files


def kill_under_load(endpoint: str, folder: Path, *victims: _Process) -> set[tuple[str, str]]:
    """Kill and start again, one after the other, each when another share was acknowledged; what was acknowledged in the end."""
    with sending(endpoint, folder) as (senders, files):
        for nth, victim in enumerate(victims, 1):
            share = ALL * nth // (len(victims) + 1)
            eventually(lambda share=share: len(acknowledged(*files)) >= share, what=f"{share} spans")
            assert None in [sender.poll() for sender in senders]
            victim.kill()
            victim.start()
        eventually(lambda: all(sender.poll() == 0 for sender in senders), what="the end of the senders")
        return acknowledged(*files)


def stop(serve: Serve) -> None:
    assert serve.process is not None
    serve.process.send_signal(signal.SIGTERM)
    assert serve.process.wait(60) == 0, serve.log.read_text()


def stored(directory: Path) -> Counter[tuple[str, str]]:
    with queries.reading(Settings(directory=directory)) as db:
        return Counter(db.execute("select trace_id, span_id from raw.spans").fetchall())


def check_stored_once(directory: Path, safe: set[tuple[str, str]]) -> None:
    found = stored(directory)
    assert safe <= found.keys()
    assert set(found.values()) == {1}
    assert len(safe) == ALL
    check_log(directory)


def check_log(directory: Path) -> None:
    """Every turn has its three commits, once, in the session that its root names."""
    with queries.reading(Settings(directory=directory)) as db:
        found = db.execute("select session_id, turn, kind, tool, choice from commits order by session_id, ended_ns").fetchall()
    steps = (("decision", "", "call write"), ("tool", "write", ""), ("decision", "", "answer"))
    sessions = sorted(f"{name}-{number}" for name in SENDERS for number in range(TURNS // TURNS_PER_SESSION))
    assert found == [(session, turn + 1, *step) for session in sessions for turn in range(TURNS_PER_SESSION) for step in steps]


def test_what_was_acknowledged_is_stored_once_however_often_the_receiver_is_killed(tmp_path: Path) -> None:
    serve = Serve(tmp_path)
    with serve.running():
        safe = kill_under_load(serve.endpoint, tmp_path, serve, serve, serve)
        stop(serve)
    check_stored_once(serve.directory, safe)


def test_what_the_collector_acknowledged_is_stored_once_whoever_is_killed(tmp_path: Path) -> None:
    try:
        otelcol = build.binary("otelcol")
    except build.Missing as missing:
        pytest.skip(str(missing))
    serve = Serve(tmp_path)
    collector = Collector(otelcol, tmp_path, turnlog=serve.endpoint)
    with serve.running(), collector.running():
        safe = kill_under_load(collector.endpoint, tmp_path, serve, collector, serve)
        eventually(lambda: safe <= stored(serve.directory).keys(), what="what waits in the collector's queue")
        stop(serve)
    check_stored_once(serve.directory, safe)


def batch() -> ExportTraceServiceRequest:
    """A turn of one tool call, with a result of a size that fills disks."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    root = spans.add(trace_id=os.urandom(16), span_id=os.urandom(8), name="invoke_agent")
    tool = spans.add(trace_id=root.trace_id, span_id=os.urandom(8), parent_span_id=root.span_id, name="execute_tool")
    words = {"gen_ai.tool.name": "look", "gen_ai.tool.call.result": os.urandom(10_000).hex()}
    for span, more in ((root, {"session.id": "full"}), (tool, words)):
        span.start_time_unix_nano = time.time_ns()
        span.end_time_unix_nano = span.start_time_unix_nano + 1
        for key, value in {"gen_ai.operation.name": span.name, **more}.items():
            span.attributes.add(key=key).value.string_value = value
    return request


def ids(request: ExportTraceServiceRequest) -> list[str]:
    return [span.span_id.hex() for span in request.resource_spans[0].scope_spans[0].spans]


def post(endpoint: str, request: ExportTraceServiceRequest) -> tuple[int, Message]:
    asked = urllib.request.Request(
        f"{endpoint}/v1/traces", request.SerializeToString(), {"Content-Type": "application/x-protobuf"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {mount.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_answered_with_503_and_costs_nothing_that_was_acknowledged(small_disk: Path) -> None:
    serve = Serve(small_disk)
    refused = 0
    safe: list[str] = []
    with serve.running():
        while refused < 5:
            request = batch()
            status, headers = post(serve.endpoint, request)
            if status == 200:
                safe += ids(request)
            else:
                assert (status, headers["Retry-After"]) == (503, "1")
                refused += 1
        subprocess.run(["mount", "-o", "remount,size=60m", small_disk], check=True)
        again = batch()
        eventually(lambda: post(serve.endpoint, again)[0] == 200, what="room on the disk is used")
        stop(serve)
    found = stored(serve.directory)
    assert safe
    assert {span_id for _, span_id in found} == {*safe, *ids(again)}
    assert set(found.values()) == {1}


def test_what_could_not_be_derived_onto_a_full_disk_is_derived_when_there_is_room(small_disk: Path) -> None:
    settings = Settings(directory=small_disk / "store")
    intake = Intake(settings, quiet=0.0)
    intake.take(two_turns()[:4])
    intake.settle()
    intake.take(two_turns()[4:])
    with (small_disk / "rest").open("wb", buffering=0) as rest, suppress(OSError):
        while rest.write(bytes(4096)):
            pass
    intake.settle()
    intake.settle()
    assert len(stored(settings.directory)) == 4
    (small_disk / "rest").unlink()
    intake.settle()
    assert set(stored(settings.directory).values()) == {1}
    assert len(stored(settings.directory)) == 8
    intake.close()
    assert not list(settings.inbox.iterdir())
    with queries.reading(settings) as db:
        assert queries.losses(db) == []
