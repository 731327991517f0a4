"""Exactly once: loaders killed at every step, and many processes that write, load, read and die at the same time."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from programs import ROOT, environment, run
from recording import Recording
from store.story import Story, touch
from turnlog.journal.reader import list_journals
from turnlog.settings import Capture, Settings
from turnlog.store import Store
from turnlog.store.loader import load


def test_a_loader_killed_before_any_of_its_steps_loses_and_doubles_nothing(settings: Settings, tmp_path: Path) -> None:
    template = replace(settings, capture=Capture.FULL)
    story = Story(template)
    for n in range(8):
        story.tool(f"tool{n}", f"s{n % 2}", f"t{n % 2}", "write_file", touch("write", f"{n}.py"), input_tokens=n)
    story.span("running", "s0", "t0", ends=False, operation="execute_tool", tool="slow")
    story.writer.close()
    (path,) = template.journals.iterdir()
    data = path.read_bytes()
    place = data.index(b"6.py")
    path.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
    recording = Recording(template)
    recording.tool("t", {"q": 1}, "r")
    recording.journal.append(b'{"record":"end","start_ns":"soon"}\n')
    recording.tool("t", {"q": 2}, "r")
    recording.close()
    unmade = replace(settings, directory=tmp_path / "unmade")
    shutil.copytree(template.journals, unmade.journals)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = ROOT / "tests" / "store" / "killing.py"
    directories = (template.directory, unmade.directory, scratch)
    done = run(sys.executable, program, *directories, directory=tmp_path / "unused", timeout=600)
    summary, *steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert summary["facts"] == {
        "spans": [["interrupted", 2, 2], ["ok", 9, 9]],
        "open": [[0]],
        "deltas": [["file", 7], ["tool", 11]],
        "sessions": summary["facts"]["sessions"],
        "turns": [[3]],
        "blobs": [[3, 3]],
        "losses": [[2]],
        "processes": [[2, 2, 2]],
        "journals": [[0]],
        "readers before": [[11, 11]],
        "files": [],
        "set aside": 2,
    }
    assert [row[1:] for row in summary["facts"]["sessions"] if row[0] in ("s0", "s1")] == [[5, 5, 2, 6], [4, 4, 0, 16]]
    made, making = summary["steps"], summary["making"]
    assert sorted(step[:2] for step in steps) == [[n, label] for n, label in enumerate([*making, *made], 1)]
    assert (len(made) > 20, bool(making)) == (True, True)
    assert [step for step in steps if step[2] != 9 or step[3] is not True] == []


class Crowd:
    """Processes of crowd.py in one directory; those still running when the test ends are killed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, *role: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, ROOT / "tests" / "store" / "crowd.py", *role],
            env=environment(self.settings.directory),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.running.append(process)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> bytes:
        process.kill()
        return self.finish(process)[0]

    def finish(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        """Close its stdin, which every role takes as the word to stop."""
        self.running.remove(process)
        return process.communicate(timeout=60)


@pytest.fixture
def crowd(settings: Settings) -> Iterator[Crowd]:
    found = Crowd(settings)
    yield found
    for process in list(found.running):
        found.kill(process)


def outcomes(settings: Settings) -> dict[str, dict[str, int]]:
    """Per writer, how its spans ended; every span has one row."""
    with Store(settings).writing(patience=60) as db:
        assert db.execute("select count(*) - count(distinct commit_id) from raw.spans").fetchall() == [(0,)]
        rows = db.execute(
            "select x.session_id, s.outcome, count(*), count(distinct s.span_id) from raw.spans as s "
            "join raw.sessions as x using (session_key) group by all"
        ).fetchall()
        totals = db.execute("select session_id, span_count from raw.sessions").fetchall()
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for session, outcome, count, distinct in rows:
        assert count == distinct
        found[session][outcome] = count
    assert {session: sum(ended.values()) for session, ended in found.items()} == dict(totals)
    return found


@pytest.mark.parametrize("pause", ["0.001", "0.02"], ids=["busy", "with pauses"])
def test_a_writer_that_rotates_under_a_loader_is_never_taken_for_dead(crowd: Crowd, settings: Settings, pause: str) -> None:
    writer, loaders = crowd.start("writer", "1", pause), [crowd.start("loader") for _ in range(2)]
    time.sleep(3)
    acknowledged, complaints = crowd.finish(writer)
    assert (complaints, [crowd.finish(loader) for loader in loaders]) == (b"", [(b"", b"")] * 2)
    load(settings, patience=60)
    assert len(acknowledged) > 30
    assert outcomes(settings) == {"w1": {"ok": len(acknowledged)}}
    assert list_journals(settings.journals) == []


def test_writers_loaders_and_readers_at_once_with_kills_lose_and_double_nothing(crowd: Crowd, settings: Settings) -> None:
    noise = random.Random(5)
    numbers = itertools.count()
    writers = {number: crowd.start("writer", str(number), "0.001") for number in itertools.islice(numbers, 4)}
    loaders = [crowd.start("loader") for _ in range(2)]
    readers = [crowd.start("reader") for _ in range(2)]
    acknowledged: dict[int, int] = {}
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        time.sleep(noise.uniform(0.1, 0.5))
        loader = noise.choice(loaders)
        crowd.kill(loader)
        loaders[loaders.index(loader)] = crowd.start("loader")
        if noise.random() < 0.3:
            number = noise.choice(list(writers))
            acknowledged[number] = len(crowd.kill(writers.pop(number)))
            number = next(numbers)
            writers[number] = crowd.start("writer", str(number), "0.001")
    answers = [crowd.finish(reader) for reader in readers]
    assert [complaints for _, complaints in answers] == [b"", b""]
    assert all(len(reads.split()) >= 2 for reads, _ in answers)
    for number, writer in writers.items():
        acknowledged[number] = len(crowd.kill(writer))
    for loader in loaders:
        crowd.kill(loader)
    load(settings, patience=60)
    found = outcomes(settings)
    assert {number for number, count in acknowledged.items() if count} <= {int(name[1:]) for name in found}
    for name, ended in found.items():
        # A writer that is killed between its write and its word has one more than it said.
        assert ended.get("ok", 0) - acknowledged[int(name[1:])] in (0, 1)
        assert ended.get("interrupted", 0) <= 5
    assert sum(acknowledged.values()) > 1000
    assert list_journals(settings.journals) == []
