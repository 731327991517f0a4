"""What goes out is what was recorded, all of it once, and an endpoint that is slow, full or away gets it too."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest
from google.rpc.status_pb2 import Status

from endpoint import Endpoint as Receiving
from endpoint import Reply, partly, serving
from recording import Recording, assistant, user
from store.story import SECOND, START, Story, added, evicted
from turnlog import queries, semconv
from turnlog.exporting.parquet import write_parquet
from turnlog.exporting.selection import Extent, Selection, extent
from turnlog.exporting.sending import Endpoint, SendingFailed, Sent
from turnlog.exporting.spans import ended_spans, windows
from turnlog.otlp.sdk import from_sdk
from turnlog.received import ReceivedSpan
from turnlog.settings import Capture, Settings
from turnlog.store.loader import load

TRACE = "0af7651916cd43dd8448eb211c80319c"
ALL = Selection()
_AS_JSON = (semconv.COMMIT_DELTA, semconv.CONTEXT_CHANGES)


def read(settings: Settings, selection: Selection = ALL, rows: int = 4096) -> list[ReceivedSpan]:
    with queries.reading(settings) as db:
        parts = windows(db, selection, rows)
    return [span for spans in ended_spans(settings, parts) for span in spans]


def measured(settings: Settings, selection: Selection = ALL) -> Extent:
    with queries.reading(settings) as db:
        return extent(db, selection)


def comparable(span: ReceivedSpan) -> ReceivedSpan:
    """Without what a store cannot tell from absent, with JSON text as what it says, and without its process."""
    attributes = {
        key: orjson.loads(value) if key in _AS_JSON else value
        for key, value in span.attributes.items()
        if value not in ("", 0, []) or value is False
    }
    return replace(span, attributes=attributes, events=list(span.events), links=list(span.links), resource={})


def talk(recording: Recording) -> None:
    """Two turns with everything that a span can carry: a decision, files, an error, contexts that grow and shrink, links."""
    with recording.agent("write a parser", conversation="demo"):
        usage = {semconv.GEN_AI_USAGE_INPUT_TOKENS: 12, semconv.GEN_AI_REQUEST_TEMPERATURE: 0.0, "application.flag": False}
        asked = [user("write a parser")]
        recording.chat(asked, [assistant("Grammar first.", "read_file")], **usage)
        recording.tool("read_file", {"path": "grammar.md"}, "expr := term")
        recording.tool("write_file", {"path": "parser.py", "content": "pass"}, "wrote 4 characters")
        recording.chat([*asked, assistant("Grammar first.", "read_file")], [assistant("Done.")])
    with recording.agent("test it", conversation="demo") as agent:
        agent.span.add_event("noticed", {"count": 3, "names": ["a", "b"]})
        recording.tool("run_tests", {"path": "tests"}, error=TimeoutError("no end in sight"))
        recording.chat([user("test it")], [assistant("It hangs.")])


def test_a_span_goes_out_with_all_that_it_was_recorded_with(recording: Recording, settings: Settings) -> None:
    talk(recording)
    recorded = sorted((from_sdk(span) for span in recording.spans), key=lambda span: (span.end_ns, span.start_ns, span.span_id))
    assert [comparable(span) for span in read(settings)] == [comparable(span) for span in recorded]
    load(settings, patience=1)
    assert [comparable(span) for span in read(settings)] == [comparable(span) for span in recorded]


def test_a_process_goes_out_as_the_resource_of_its_spans(settings: Settings) -> None:
    for folder in ("/w", "/v"):
        story = Story(settings, after=1 if folder == "/v" else 0)
        story.writer.resource = {"process.working_directory": folder, "service.name": "coder"}
        story.agent(folder, "s", f"turn of {folder}", "do it")
        story.writer.close()
    first, second = read(settings)
    process = {"host.name": story.writer.process.host, "process.pid": story.writer.process.pid, "service.name": "coder"}
    assert first.resource == {**process, "process.working_directory": "/w"}
    assert second.resource == {**process, "process.working_directory": "/v"}


def test_what_changed_in_a_context_goes_out_as_it_was_told(settings: Settings) -> None:
    changes = [*evicted(1), added(0, "user", "hello"), added(2, "tool", "42", call="c1", keys=["file:a.py"])]
    changes[-1]["from"] = "00f067aa0ba902b7"
    story = Story(settings)
    story.chat("chat", "s", "t", context=changes, lineage="L")
    (span,) = read(settings)
    assert orjson.loads(span.attributes[semconv.CONTEXT_CHANGES]) == changes


@pytest.fixture
def stories(settings: Settings) -> Settings:
    """Two sessions in turn, ten spans each and one that ends with another; a call that was cut short, and one that runs."""
    story = Story(settings)
    for number in range(10):
        for session in ("a", "b"):
            story.note(f"{session}{number}", session, f"{session} turn")
    story.span("tie", "a", "a turn", start_ns=START + 5 * SECOND, end_ns=START + 6 * SECOND + SECOND // 2)
    story.tool("cut", "a", "a turn", "run_tests", ends=False)
    story.writer.close()
    load(settings, patience=1)
    running = Story(settings, after=30)
    running.tool("runs", "b", "b turn", "run_tests", ends=False)
    return settings


def test_windows_together_are_every_span_that_has_ended_once(stories: Settings) -> None:
    whole = read(stories)
    assert [span.end_ns for span in whole] == sorted(span.end_ns for span in whole)
    assert sorted(span.name for span in whole) == sorted(
        [f"{session}{number}" for number in range(10) for session in "ab"] + ["tie"]
    )
    for rows in (2, 20, 21):
        assert read(stories, rows=rows) == whole


def test_what_has_not_ended_is_counted_and_stays(stories: Settings) -> None:
    assert measured(stories) == Extent(["a", "b"], 21, 2, 0)
    assert measured(stories, Selection(["b"])) == Extent(["b"], 10, 1, 0)
    assert {span.name for span in read(stories)} & {"cut", "runs"} == set()


def test_adjacent_times_share_nothing_and_leave_nothing_out(stories: Settings) -> None:
    middle = START + 7 * SECOND + SECOND // 2
    before, after = read(stories, Selection(until_ns=middle)), read(stories, Selection(since_ns=middle))
    assert before + after == read(stories)
    assert (before[-1].end_ns, after[0].end_ns) == (middle - SECOND, middle)
    assert [span.name for span in read(stories, Selection(["b"], START, middle))] == ["b0", "b1", "b2"]
    assert read(stories, Selection(["nobody"])) == []


def test_the_store_is_free_while_spans_go_out(stories: Settings) -> None:
    with queries.reading(stories) as db:
        parts = windows(db, Selection(), 5)
    for _ in ended_spans(stories, parts):
        load(stories, patience=0)


@pytest.fixture
def endpoint() -> Iterator[Receiving]:
    with serving() as found:
        yield found


def spans(number: int) -> list[ReceivedSpan]:
    return [ReceivedSpan(TRACE, f"{index + 1:016x}", "", f"span {index}", START, START + index + 1) for index in range(number)]


def send(endpoint: Receiving, number: int = 3, patience: float = 5.0, **headers: str) -> Sent:
    to = Endpoint(endpoint.url, headers, patience)
    try:
        to.send(spans(number))
    finally:
        to.close()
    return to.sent


def names(taken: list[Any]) -> list[str]:
    return [span.name for span in taken]


def test_spans_are_sent_in_gzipped_batches_over_one_connection(endpoint: Receiving) -> None:
    assert send(endpoint, 1100, authorization="Bearer t") == Sent(1100)
    assert [len(request.spans) for request in endpoint.asked] == [512, 512, 76]
    assert names(endpoint.taken) == [f"span {index}" for index in range(1100)]
    assert len({request.connection for request in endpoint.asked}) == 1
    request = endpoint.asked[0]
    assert request.path == "/v1/traces"
    kept = ("content-type", "content-encoding", "authorization")
    assert [request.headers[name] for name in kept] == ["application/x-protobuf", "gzip", "Bearer t"]


@pytest.mark.parametrize("path", ["", "/", "/v1/traces", "/v1/traces/"])
def test_an_endpoint_may_be_named_with_its_path_or_without(endpoint: Receiving, path: str) -> None:
    to = Endpoint(endpoint.url + path, {}, 1)
    to.send(spans(1))
    to.close()
    assert [request.path for request in endpoint.asked] == ["/v1/traces"]


def test_a_path_before_that_of_traces_is_kept(endpoint: Receiving) -> None:
    to = Endpoint(f"{endpoint.url}/api/otel?tenant=a", {}, 1)
    to.send(spans(1))
    to.close()
    assert [request.path for request in endpoint.asked] == ["/api/otel/v1/traces?tenant=a"]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_full_endpoint_gets_the_batch_again(endpoint: Receiving, status: int) -> None:
    endpoint.replies = [Reply(status, {"retry-after": "0"}), Reply(status, {"retry-after": "0"})]
    assert send(endpoint) == Sent(3, retries=2)
    assert names(endpoint.taken) == names(spans(3))


def test_an_endpoint_says_when_to_come_again(endpoint: Receiving) -> None:
    told: list[str] = []
    endpoint.replies = [
        Reply(503, {"retry-after": "0.2"}),
        Reply(429, {"retry-after": formatdate(time.time() - 5, usegmt=True)}),
    ]
    to = Endpoint(endpoint.url, {}, 5, told.append)
    to.send(spans(1))
    to.close()
    assert told == ["503 Service Unavailable; again in 0.2 s", "429 Too Many Requests; again in 0.0 s"]


def test_who_asks_for_more_time_than_there_is_gets_nothing_more(endpoint: Receiving) -> None:
    endpoint.replies = [Reply(503, {"retry-after": "600"})]
    asks = r"has not taken the spans for 5 s \(503 Service Unavailable, and asks to wait for 600 s\)"
    with pytest.raises(SendingFailed, match=asks):
        send(endpoint)
    assert len(endpoint.asked) == 1


def test_an_endpoint_that_comes_back_gets_the_batch() -> None:
    with serving() as away:
        port = away.server_port
    to = Endpoint(f"http://127.0.0.1:{port}", {}, 20)
    sending = threading.Thread(target=to.send, args=(spans(2),))
    sending.start()
    time.sleep(0.2)
    with serving(port) as endpoint:
        sending.join()
        to.close()
        assert names(endpoint.taken) == names(spans(2))
    assert to.sent.spans == 2 and to.sent.retries >= 1


def test_an_endpoint_that_stays_away_is_named() -> None:
    with serving() as away:
        url = away.url
    with pytest.raises(SendingFailed, match=rf"^{url}/v1/traces has not taken the spans for 0.1 s \(Connection refused\)\.$"):
        Endpoint(url, {}, 0.1).send(spans(1))


def test_spans_that_are_refused_one_by_one_are_counted(endpoint: Receiving) -> None:
    endpoint.replies = [
        partly(2, "no trace id"),
        Reply(200, {"content-type": "application/json"}, b'{"partialSuccess":{"rejectedSpans":"1"}}'),
    ]
    assert send(endpoint, 600) == Sent(600, rejected=3, reason="no trace id")


def test_a_batch_that_is_too_large_goes_in_parts(endpoint: Receiving) -> None:
    endpoint.most_spans = 2
    assert send(endpoint, 5) == Sent(5)
    assert names(endpoint.taken) == names(spans(5))
    endpoint.most_spans = 0
    assert send(endpoint, 2) == Sent(2, rejected=2, reason="413 Request Entity Too Large")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(400, {}, Status(message="not OTLP").SerializeToString()), "400 Bad Request not OTLP"),
        (
            Reply(401, {"content-type": "application/json; charset=utf-8"}, b'{"code":16,"message":"a token, please"}'),
            '401 Unauthorized a token, please. Give the token with --header "Authorization: Bearer TOKEN"',
        ),
        (Reply(404, {"content-type": "text/plain"}, b"404 page not found\n"), "404 Not Found 404 page not found"),
        (Reply(500, {"content-type": "text/html"}, b"<html>"), "500 Internal Server Error"),
    ],
)
def test_what_is_refused_for_good_is_not_sent_again(endpoint: Receiving, reply: Reply, said: str) -> None:
    endpoint.replies = [reply]
    with pytest.raises(SendingFailed) as refused:
        send(endpoint)
    assert str(refused.value) == f"{endpoint.url}/v1/traces refused the spans: {said}."
    assert len(endpoint.asked) == 1


def ask(folder: Path, question: str) -> list[tuple[Any, ...]]:
    """A question about the files, each under its own name."""
    with duckdb.connect() as db:
        for path in folder.glob("*.parquet"):
            db.execute(f"create view {path.stem} as from '{path}'")
        return db.execute(question).fetchall()


def parquet(settings: Settings, folder: Path, selection: Selection = ALL) -> dict[str, int]:
    with queries.reading(settings) as db:
        found = write_parquet(db, selection, extent(db, selection), folder)
    return {file.path.stem: file.rows for file in found}


def test_parquet_has_a_file_of_every_relation_and_what_did_not_end(stories: Settings, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    written = parquet(stories, out)
    assert written == {
        "sessions": 2,
        "turns": 2,
        "spans": 23,
        "commits": 22,
        "entries": 1,
        "contexts": 0,
        "lifecycle": 0,
        "blobs": 0,
    }
    assert {path.name for path in out.iterdir()} == {f"{name}.parquet" for name in written}
    assert {oct(path.stat().st_mode & 0o777) for path in out.iterdir()} == {"0o600"}
    unfinished = ask(
        out, "select session_id, turn, name, outcome from spans where outcome in ('in_flight', 'interrupted') order by 1"
    )
    assert unfinished == [("a", 1, "cut", "interrupted"), ("b", 1, "runs", "in_flight")]


def test_commits_and_entries_are_what_the_views_give(recording: Recording, settings: Settings, tmp_path: Path) -> None:
    talk(recording)
    parquet(settings, tmp_path / "out")
    with queries.reading(settings) as db:
        for view in ("commits", "entries"):
            assert ask(tmp_path / "out", f"from {view} order by all") == db.execute(f"from {view} order by all").fetchall()
            columns = f"select column_name, column_type from (describe from {view})"
            assert ask(tmp_path / "out", columns) == db.execute(columns).fetchall()


def test_parquet_of_a_time_has_what_was_then(stories: Settings, tmp_path: Path) -> None:
    middle = START + 7 * SECOND + SECOND // 2
    first = parquet(stories, tmp_path / "first", Selection(["a"], until_ns=middle))
    second = parquet(stories, tmp_path / "second", Selection(["a"], since_ns=middle))
    assert (first["spans"], second["spans"]) == (4, 8)
    assert (first["turns"], second["turns"]) == (1, 1)
    assert ask(tmp_path / "first", "select distinct session_id from spans") == [("a",)]
    assert parquet(stories, tmp_path / "none", Selection(since_ns=2 * START))["sessions"] == 0


def test_captured_content_goes_to_parquet_once_however_often_it_was_seen(make_recording: Any, tmp_path: Path) -> None:
    recording = make_recording(capture=Capture.FULL)
    talk(recording)
    talk(recording)
    settings = recording.settings
    written = parquet(settings, tmp_path / "out")
    assert written["blobs"] == measured(settings).blobs > 0
    assert ask(tmp_path / "out", "select count(distinct hash) from blobs") == [(written["blobs"],)]
    of_result = "select distinct b.text from commits as c join blobs as b on b.hash = c.output_hash where c.tool = 'read_file'"
    assert ask(tmp_path / "out", of_result) == [("expr := term",)]


def test_files_are_replaced_whole_or_not_at_all(stories: Settings, tmp_path: Path) -> None:
    parquet(stories, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.parquet")}
    (tmp_path / "mine.txt").write_text("stays")
    with queries.reading(stories) as db, pytest.raises(ZeroDivisionError):
        write_parquet(db, Selection(["a"]), extent(db, Selection(["a"])), tmp_path, lambda what: 1 // ("blobs" not in what))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.parquet")} == before
    assert parquet(stories, tmp_path, Selection(["a"]))["spans"] == 12
    assert {path.name for path in tmp_path.iterdir()} - set(before) == {"mine.txt", "turnlog"}
