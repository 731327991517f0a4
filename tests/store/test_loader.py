"""Loading: every row once, whatever is killed when; what cannot be loaded is set aside alone and counted."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from recording import Recording
from store.story import START, Story, touch
from turnlog.journal.frame import encode_frame
from turnlog.journal.reader import list_journals
from turnlog.journal.writer import JournalWriter
from turnlog.semconv import GEN_AI_TOOL_NAME
from turnlog.settings import Capture, Settings
from turnlog.store import Store, loader
from turnlog.store.loader import LoadReport, load, load_once
from turnlog.store.lock import is_awaited


def ask(settings: Settings, statement: str) -> list[tuple[Any, ...]]:
    with Store(settings).reading() as db:
        return db.execute(statement).fetchall()


def stored(settings: Settings, statement: str) -> list[tuple[Any, ...]]:
    with Store(settings).writing(patience=1) as db:
        return db.execute(statement).fetchall()


def tell(settings: Settings, session: str = "s", tools: int = 3) -> Story:
    story = Story(settings)
    for n in range(tools):
        story.tool(f"tool{n}", session, "t1", "write_file", touch("write", f"{n}.py"))
    return story


def test_loading_twice_changes_nothing_more(settings: Settings) -> None:
    tell(settings).writer.close()
    assert load(settings, patience=1) == LoadReport(rows=7, finished_journals=1)
    before = stored(settings, "from raw.spans order by start_ns")
    assert load(settings, patience=1) == LoadReport()
    assert stored(settings, "from raw.spans order by start_ns") == before
    assert len(before) == 3


def test_a_journal_is_deleted_when_it_is_loaded_and_its_writer_gone_and_not_before(settings: Settings) -> None:
    story = tell(settings)
    load(settings, patience=1)
    assert len(list_journals(settings.journals)) == 1
    story.tool("more", "s", "t1", "t")
    story.writer.close()
    load(settings, patience=1)
    assert list_journals(settings.journals) == []
    assert stored(settings, "select count(*) from raw.spans") == [(4,)]
    assert stored(settings, "from raw.journals") == []


def test_a_running_call_is_in_flight_then_interrupted_when_its_process_is_gone(settings: Settings) -> None:
    story = tell(settings, tools=1)
    story.span("agent", "s", "t1", ends=False, operation="invoke_agent")
    story.span("running", "s", "t1", ends=False, operation="execute_tool", tool="slow")
    story.span("asking", "s", "t1", ends=False, operation="generate_content")
    columns = "select kind, tool, outcome, error from commits order by started_ns"
    in_flight = [("tool", "slow", "in_flight", ""), ("decision", "", "in_flight", "")]
    assert ask(settings, columns)[1:] == in_flight
    load(settings, patience=1)
    assert ask(settings, columns)[1:] == in_flight
    bars = "select in_flight, interrupted, is_running, duration_ms from turn_bars"
    assert ask(settings, "select status, in_flight from sessions") == [("active", 2)]
    assert [row[:3] for row in ask(settings, bars)] == [(2, 0, 1)]
    story.writer.close()
    load(settings, patience=1)
    interrupted = [("tool", "slow", "interrupted", "interrupted"), ("decision", "", "interrupted", "interrupted")]
    assert ask(settings, columns)[1:] == interrupted
    ((*counts, lasted),) = ask(settings, bars)
    assert counts == [0, 2, 0]
    assert [(lasted,)] == ask(settings, "select (max(ended_ns) - min(started_ns)) / 1e6 from commits where session_id = 's'")
    assert ask(settings, "select count(*) from raw.open_spans") == [(0,)]
    assert ask(settings, "select key, value from state where kind = 'tool' order by key") == [
        ("slow", "interrupted"),
        ("write_file", "ok"),
    ]
    assert ask(settings, "select commits, failures, spans from sessions") == [(3, 2, 4)]
    assert ask(settings, "select gone from raw.processes") == [(True,)]


def test_a_call_that_ends_in_the_tail_is_no_longer_in_flight(settings: Settings, recording: Recording) -> None:
    running = recording.start("execute_tool", attributes={GEN_AI_TOOL_NAME: "slow"})
    load(settings, patience=1)
    outcomes = "select outcome from commits"
    assert ask(settings, outcomes) == [("in_flight",)]
    running.end()
    assert ask(settings, outcomes) == [("ok",)]
    load(settings, patience=1)
    assert ask(settings, outcomes) == [("ok",)]


def test_a_process_that_closed_its_journal_and_writes_on_has_every_span_once(settings: Settings, recording: Recording) -> None:
    with recording.agent("q", conversation="c"):
        running = recording.start("execute_tool", attributes={GEN_AI_TOOL_NAME: "slow"})
        never = recording.start("execute_tool", attributes={GEN_AI_TOOL_NAME: "never"})
        recording.journal.close()
        load(settings, patience=1)
        assert ask(settings, "select outcome, count(*) from commits group by all") == [("interrupted", 2)]
        running.end()
        expected = [("never", "interrupted"), ("slow", "ok")]
        columns = "select tool, outcome from commits order by tool"
        assert ask(settings, columns) == expected
        load(settings, patience=1)
        assert ask(settings, columns) == expected
    recording.journal.close()
    load(settings, patience=1)
    assert ask(settings, columns) == expected
    assert ask(settings, "select commits, failures, spans from sessions") == [(2, 1, 3)]
    assert ask(settings, "select key, value from entries order by key") == expected
    assert never.span.is_recording()


def test_a_writer_that_rotates_while_journals_are_listed_is_not_taken_for_dead(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(replace(settings, rotate_bytes=1))
    story.span("running", "s", "t1", ends=False, operation="execute_tool", tool="slow")
    listings = 0
    glob = Path.glob

    def listed_then_rotated(folder: Path, pattern: str) -> Iterator[Path]:
        nonlocal listings
        found = list(glob(folder, pattern))
        listings += pattern == "*.journal"
        if listings == 2:
            story.tool("next", "s", "t1", "t")
        return iter(found)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", listed_then_rotated)
        load_once(settings, patience=1)
    assert listings == 3
    assert ask(settings, "select outcome from commits order by started_ns") == [("in_flight",), ("ok",)]
    story.writer.close()


def test_a_seeded_program_that_runs_twice_has_both_runs(settings: Settings) -> None:
    stories = [tell(settings) for _ in range(2)]
    assert list(stories[0].ids) == list(stories[1].ids)
    for story in stories:
        story.writer.close()
    load(settings, patience=1)
    assert ask(settings, "select count(*), count(distinct commit_id), count(distinct span_id) from commits") == [(6, 6, 3)]


def test_blobs_are_stored_once_whoever_writes_them(settings: Settings) -> None:
    full = replace(settings, capture=Capture.FULL)
    for _ in range(2):
        recording = Recording(full)
        recording.tool("t", {"q": 1}, "same")
        recording.close()
    assert ask(settings, "select text from raw.blobs order by text") == [("same",), ('{"q":1}',)]
    load(settings, patience=1)
    recording = Recording(full)
    recording.tool("t", {"q": 1}, "new")
    recording.close()
    assert ask(settings, "select text from raw.blobs order by text") == [("new",), ("same",), ('{"q":1}',)]
    load(settings, patience=1)
    assert ask(settings, "select text from raw.blobs order by text") == [("new",), ("same",), ('{"q":1}',)]


def test_losses_that_a_writer_counted_can_be_asked_for(unmade: Settings) -> None:
    unmade.directory.write_text("in the way")
    writer = JournalWriter(unmade)
    for _ in range(3):
        writer.append(b"{}\n")
    unmade.directory.unlink()
    writer._retry_at = 0.0
    writer.report_loss("failed at deriving a commit")
    expected = [("failed at deriving a commit", 1), ("journal not writable", 3)]
    for _ in range(2):
        assert ask(unmade, "select reason, lost from losses order by reason") == expected
        load(unmade, patience=1)
    writer.close()


def damaged(settings: Settings) -> Path:
    """A finished journal of three tools, with the middle one's end still whole."""
    story = tell(settings)
    story.writer.close()
    (path,) = settings.journals.iterdir()
    return path


def test_corrupt_bytes_in_the_middle_cost_their_frame_only(settings: Settings) -> None:
    path = damaged(settings)
    data = bytearray(path.read_bytes())
    place = data.index(b"1.py")
    data[place] ^= 0xFF
    path.write_bytes(data)
    report = load(settings, patience=1)
    assert (report.rows, report.set_aside, report.finished_journals) == (6, 1, 1)
    assert ask(settings, "select key from entries where kind = 'file' order by key") == [("0.py",), ("2.py",)]
    assert ask(settings, "select reason, lost from losses") == [("unreadable journal bytes set aside", 1)]
    (kept,) = settings.set_aside.iterdir()
    assert b".py" in kept.read_bytes()
    assert ask(settings, "select outcome from commits order by started_ns") == [("ok",), ("interrupted",), ("ok",)]


def test_a_torn_last_frame_is_set_aside_when_its_writer_is_gone(settings: Settings) -> None:
    path = damaged(settings)
    os.truncate(path, path.stat().st_size - 10)
    report = load(settings, patience=1)
    assert (report.rows, report.set_aside) == (6, 1)
    assert ask(settings, "select outcome from commits order by started_ns") == [("ok",), ("ok",), ("interrupted",)]


@pytest.mark.parametrize("garbage", [b"", b"not a journal", os.urandom(100_000)], ids=["empty", "text", "noise"])
def test_a_file_that_is_no_journal_is_set_aside_and_costs_no_other(settings: Settings, garbage: bytes) -> None:
    tell(settings).writer.close()
    (settings.journals / "zzz.000000.journal").write_bytes(garbage)
    report = load(settings, patience=1)
    assert (report.rows, report.finished_journals) == (7, 2)
    assert ask(settings, "select count(*) from commits") == [(3,)]
    assert ask(settings, "select coalesce(sum(lost), 0) from losses") == [(1 if garbage else 0,)]
    assert list_journals(settings.journals) == []


REFUSED = [
    b"{\n",
    b'{"record":"end","start_ns":"soon"}\n',
    b'{"record":"end","start_ns":1,"input_tokens":"many"}\n',
    b"[1]\n",
    b"{}\n",
    b'\xff\xfe{"record"\n',
]


@pytest.mark.parametrize("refused", REFUSED)
def test_a_row_that_no_statement_takes_is_set_aside_alone(settings: Settings, refused: bytes) -> None:
    story = tell(settings, tools=2)
    story.writer.append(refused)
    story.tool("after", "s", "t1", "t")
    assert ask(settings, "select count(*) from commits") == [(3,)]
    report = load(settings, patience=1)
    assert (report.rows, report.set_aside, len(report.reasons)) == (7, 1, 1)
    assert ask(settings, "select count(*) from commits") == [(3,)]
    assert ask(settings, "select lost from losses") == [(1,)]
    (kept,) = settings.set_aside.iterdir()
    assert kept.read_bytes() == refused
    story.writer.close()
    assert load(settings, patience=1) == LoadReport(finished_journals=1)


def test_a_delta_that_is_none_costs_its_operations_only(settings: Settings) -> None:
    story = Story(settings)
    for delta in ('{"op":"set"}', "text", [1, None, {"op": "set", "kind": "fact", "key": "k"}], None):
        story.span(f"{delta}", "s", "t", commit_kind="note", delta=delta)
    load(settings, patience=1)
    assert ask(settings, "select count(*) from commits") == [(4,)]
    assert ask(settings, "select kind, key, value from entries where key <> ''") == [("fact", "k", "")]
    story.writer.close()


def test_fifty_megabytes_and_broken_unicode_load(settings: Settings, recording: Recording) -> None:
    span = recording.tracer.start_span("a\ud800", attributes={"huge": "x" * 50_000_000, "bytes": b"\xff", "s": "\udcff"})
    span.end()
    recording.tool("t", {"path": "\ud800"}, "\udfff" * 10)
    load(settings, patience=1)
    assert ask(settings, "select reason, lost from losses") == [("value too large", 1)]
    assert ask(settings, "select name from span_rows order by name") == [("a?",), ("execute_tool",)]


def test_sessions_and_their_totals_agree_with_the_spans_after_many_loads(settings: Settings) -> None:
    stories = [Story(settings) for _ in range(3)]
    for n in range(30):
        story = stories[n % 3]
        outcome = "error" if n % 7 == 0 else "ok"
        story.tool(f"tool{n}", f"s{n % 4}", f"t{n % 4}.{n % 2}", "t", outcome=outcome, input_tokens=n)
        if n % 5 == 0:
            load(settings, patience=1)
    for story in stories:
        story.writer.close()
    load(settings, patience=1)
    counted = (
        "select s.session_id, count(*), count(*) filter (where outcome <> 'ok'), sum(input_tokens), "
        "count(distinct turn_id) from span_rows as s group by all order by all"
    )
    rolled_up = "select session_id, commits, failures, tokens_in, turns from sessions order by all"
    assert ask(settings, rolled_up) == ask(settings, counted)
    assert ask(settings, "select count(*), count(distinct session_key) from raw.sessions") == [(4, 4)]
    assert ask(settings, "select count(*), count(distinct process_key) from raw.processes") == [(3, 3)]


def test_loads_are_taken_in_bounded_chunks_and_all_of_it_comes_in(settings: Settings) -> None:
    writer = JournalWriter(settings)
    row: dict[str, Any] = {"record": "end", "session_id": "s", "turn_id": "t", "name": "n", "trace_id": "x"}
    for first in range(0, 40_000, 1000):
        lines = [orjson.dumps({**row, "span_id": str(n), "start_ns": START + n}) for n in range(first, first + 1000)]
        writer.append(b"\n".join(lines) + b"\n", 1000)
    writer.close()
    (journal,) = list_journals(settings.journals)
    with Store(settings).reading() as db:
        assert db.execute("select count(*), count(distinct span_id) from raw.spans").fetchall() == [(40_000, 40_000)]
    report = LoadReport()
    begin = time.monotonic()
    while load_once(settings, 1, report):
        assert time.monotonic() - begin < 60
    assert report.rows == 40_001
    assert ask(settings, "select count(*), count(distinct span_id) from raw.spans") == [(40_000, 40_000)]
    assert not journal.path.exists()


def test_a_loader_keeps_the_file_while_nobody_waits_and_lets_go_after_the_chunk_at_hand_for_a_reader(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = tell(settings, tools=8)
    monkeypatch.setattr(loader, "take_chunk", functools.partial(loader.take_chunk, most_rows=4))
    report = LoadReport()
    assert load_once(settings, 1, report) is False
    assert report.rows == 17
    for n in range(4):
        story.tool(f"more{n}", "s", "t1", "t")
    stage = loader.stage
    answers: list[list[tuple[Any, ...]]] = []
    reader = threading.Thread(
        target=lambda: answers.append(ask(replace(settings, patience=30), "select count(*) from commits"))
    )

    def stage_while_awaited(*arguments: Any) -> None:
        reader.start()
        while not is_awaited(settings.lock):
            time.sleep(0.001)
        stage(*arguments)

    report = LoadReport()
    with monkeypatch.context() as patch:
        patch.setattr(loader, "stage", stage_while_awaited)
        assert load_once(settings, 1, report) is True
    reader.join()
    assert (report.rows, answers) == (4, [[(12,)]])
    load(settings, patience=1)
    assert stored(settings, "select count(*) from raw.spans") == [(12,)]
    story.writer.close()


def test_a_load_ends_although_a_writer_goes_on_for_ever(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tell(settings, "gone")
    gone.writer.close()
    story = tell(settings)
    stage = loader.stage

    def stage_while_written(*arguments: Any) -> None:
        story.tool(f"more{time.time_ns()}", "s", "t1", "t")
        stage(*arguments)

    monkeypatch.setattr(loader, "stage", stage_while_written)
    monkeypatch.setattr(loader, "_HOLD", 0.0)
    assert load(settings, patience=1) == LoadReport(rows=14, finished_journals=1)
    story.writer.close()


def test_a_stillborn_journal_is_removed_after_a_while(settings: Settings) -> None:
    tell(settings).writer.close()
    old, young = settings.journals / "a.000000.tmp", settings.journals / "b.000000.tmp"
    for path in (old, young):
        path.write_bytes(encode_frame(b"{}\n", 1)[:10])
    os.utime(old, (1, 1))
    load(settings, patience=1)
    assert (old.exists(), young.exists()) == (False, True)


def test_the_agent_of_a_session_is_the_first_that_took_part_however_it_was_loaded(settings: Settings) -> None:
    for name in ("b", "a", "c"):
        story = Story(settings)
        story.span(name, "s", "t", operation="invoke_agent", agent=name)
        story.writer.close()
        time.sleep(0.001)
        assert ask(settings, "select agent from sessions") == [("b",)]
        load(settings, patience=1)
    assert ask(settings, "select agent from sessions") == [("b",)]
