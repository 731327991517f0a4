"""`turnlog export`: to files, to the standard output, to an endpoint, and back again with `turnlog import`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from cli.history import Turnlog, start_call
from cli.terminal import Terminal
from endpoint import Endpoint, Reply, partly, serving
from programs import environment, run
from recording import Recording, assistant, user
from turnlog import otlp, queries
from turnlog.received import ReceivedSpan
from turnlog.receiver import guard_for, receiving
from turnlog.settings import Settings, read_settings


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as found:
        yield found


def decoded(path: Path) -> list[ReceivedSpan]:
    return [span for line in path.read_bytes().splitlines() for span in otlp.decode(line, otlp.JSON).spans]


def sessions_of(spans: list[ReceivedSpan]) -> set[Any]:
    return {span.attributes["session.id"] for span in spans}


def test_the_newest_session_is_written_as_otlp_json(recorded: Settings, turnlog: Turnlog, tmp_path: Path) -> None:
    out = tmp_path / "spans.jsonl"
    assert turnlog("export", "-o", str(out)) == (0, f"12 spans of 1 session written to {out}\n", "")
    assert len(decoded(out)) == 12
    assert sessions_of(decoded(out)) == {"demo"}
    assert oct(out.stat().st_mode & 0o777) == "0o600"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("spans")] == ["spans.jsonl"]


def test_the_standard_output_takes_only_the_spans(recorded: Settings, tmp_path: Path) -> None:
    done = run(sys.executable, "-m", "turnlog", "export", "demo-old", directory=recorded.directory)
    (tmp_path / "out").write_text(done.stdout)
    assert sessions_of(decoded(tmp_path / "out")) == {"demo-old"}
    assert done.stderr == "2 spans of 1 session\n"


def test_sessions_and_times_choose(recorded: Settings, turnlog: Turnlog, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def exported(*words: str) -> set[Any]:
        assert turnlog("export", *words, "-o", str(out)).code == 0
        return sessions_of(decoded(out))

    assert (
        exported("--all")
        == exported("--since", "1h")
        == exported("--since", "60m")
        == exported("demo", "demo-o")
        == {"demo", "demo-old"}
    )
    assert exported("demo-old") == {"demo-old"}
    assert exported("--since", "2020-01-01", "--until", "2020-02-01T10:00Z") == set()
    with queries.reading(recorded) as db:
        began = queries.session_of(db, "demo").started_at.replace(tzinfo=UTC).isoformat()
    assert exported("--until", began) == {"demo-old"}
    assert exported("--since", began) == {"demo"}


def test_parquet_goes_to_a_folder(recorded: Settings, turnlog: Turnlog, tmp_path: Path) -> None:
    done = turnlog("export", "--format", "parquet", "-o", str(tmp_path / "out"))
    table = [line.split() for line in done.out.splitlines()]
    assert [row[:2] for row in table[:-1]] == [
        ["FILE", "ROWS"],
        ["sessions.parquet", "1"],
        ["turns.parquet", "3"],
        ["spans.parquet", "12"],
        ["commits.parquet", "9"],
        ["entries.parquet", "11"],
        ["contexts.parquet", "2"],
        ["lifecycle.parquet", "0"],
        ["blobs.parquet", "0"],
    ]
    assert done.out.splitlines()[-1] == f"12 spans of 1 session in {tmp_path / 'out'}"
    told = json.loads(turnlog("export", "--all", "--format", "parquet", "-o", str(tmp_path / "out"), "--json").out)
    files = {Path(file["path"]).name: file["rows"] for file in told.pop("files")}
    assert (files["sessions.parquet"], files["spans.parquet"]) == (2, 14)
    assert told == {"sessions": 2, "spans": 14, "unfinished": 0, "format": "parquet", "to": str(tmp_path / "out")}


def test_what_has_not_ended_is_left_out_and_said(recorded: Settings, turnlog: Turnlog, tmp_path: Path) -> None:
    recording = Recording(recorded)
    start_call(recording, "run_tests", path="tests")
    out = tmp_path / "out"
    lines = turnlog("export", "-o", str(out)).out.splitlines()
    assert lines == [f"12 spans of 1 session written to {out}", "1 span left out: not ended"]
    assert json.loads(turnlog("export", "-o", str(out), "--json").out)["unfinished"] == 1
    recording.close()


def test_history_is_sent_to_an_endpoint(recorded: Settings, turnlog: Turnlog, endpoint: Endpoint) -> None:
    done = turnlog("export", "--all", "--to", endpoint.url, "--header", "Authorization: Bearer t:1", "--header", "X-Tenant:a")
    assert done == (0, f"14 spans of 2 sessions sent to {endpoint.url}/v1/traces\n", "")
    assert len(endpoint.taken) == 14
    assert [endpoint.asked[0].headers[name] for name in ("authorization", "x-tenant")] == ["Bearer t:1", "a"]


def test_what_the_endpoint_refuses_is_said_and_fails(recorded: Settings, turnlog: Turnlog, endpoint: Endpoint) -> None:
    endpoint.replies = [partly(2, "too old")]
    done = turnlog("export", "--to", endpoint.url)
    assert (done.code, done.err) == (1, "turnlog: 2 of these spans were refused there: too old\n")
    endpoint.replies = [Reply(503, {"retry-after": "0"}), partly(1, "")]
    done = turnlog("export", "--to", endpoint.url, "--json")
    assert (done.code, json.loads(done.out)) == (
        1,
        {
            "sessions": 1,
            "spans": 12,
            "unfinished": 0,
            "format": "otlp",
            "to": f"{endpoint.url}/v1/traces",
            "sent": 12,
            "rejected": 1,
            "reason": "",
            "retries": 1,
        },
    )


def test_an_export_that_stops_says_how_to_go_on(recorded: Settings, turnlog: Turnlog, endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(400)]
    done = turnlog("export", "--to", endpoint.url)
    said, command = done.err.rstrip("\n").split(" The rest: ")
    assert (done.code, done.out) == (1, "")
    assert said == f"turnlog: {endpoint.url}/v1/traces refused the spans: 400 Bad Request. 0 of 12 spans went out."
    assert turnlog(*shlex.split(command)[1:]).out == f"12 spans of 1 session sent to {endpoint.url}/v1/traces\n"


def test_how_to_go_on_keeps_the_options_and_no_secret(recorded: Settings, turnlog: Turnlog, endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(400)]
    words = ("--to", endpoint.url, "--header", "Authorization: Bearer secret", "--patience", "7.5", "--json")
    said, command = turnlog("export", *words).err.rstrip("\n").split(" The rest, with --header again: ")
    assert "secret" not in said + command
    assert command.endswith(f" --to {endpoint.url} --patience 7.5 --json")


def test_headers_come_from_opentelemetrys_variables_too(
    recorded: Settings, turnlog: Turnlog, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t:1, X-Tenant = a")
    assert turnlog("export", "--to", endpoint.url, "--header", "x-tenant: b").code == 0
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "authorization=Bearer%20t:2,x-bad=a%0Ab,nothing")
    assert turnlog("export", "--to", endpoint.url).code == 0
    sent = [{name: asked.headers.get(name) for name in ("authorization", "x-tenant", "x-bad")} for asked in endpoint.asked]
    assert sent == [
        {"authorization": "Bearer t:1", "x-tenant": "b", "x-bad": None},
        {"authorization": "Bearer t:2", "x-tenant": None, "x-bad": None},
    ]
    left_out = "a part of OTEL_EXPORTER_OTLP_TRACES_HEADERS is no header like name=value: left out"
    assert read_settings().problems == (left_out, left_out)


def test_a_turnlog_that_asks_for_a_token_is_sent_one(
    recorded: Settings, elsewhere: Settings, turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "a-token-of-24-characters"
    with receiving(elsewhere, guard_for("127.0.0.1", token), "127.0.0.1", 0) as receiver:
        refused = turnlog("export", "--to", receiver.url)
        assert refused.code == 1
        assert 'Give the token with --header "Authorization: Bearer TOKEN". 0 of 12 spans went out.' in refused.err
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization=Bearer%20{token}")
        assert turnlog("export", "--to", receiver.url).code == 0


def test_an_output_without_room_is_one_line(recorded: Settings) -> None:
    for words in (("export",), ("log",)):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "turnlog", *words],
                env=environment(recorded.directory),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        said = "turnlog: there is no room left to write to: make some, or write elsewhere\n"
        assert (done.returncode, done.stderr) == (1, said)


def test_progress_is_shown_on_a_terminal_and_gone_in_the_end(recorded: Settings, endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(503, {"retry-after": "0.1"})]
    with Terminal("export", "--to", endpoint.url, settings=recorded) as terminal:
        terminal.expect("0 of 12 spans")
        terminal.expect("503 Service Unavailable; again in 0.1 s")
        assert terminal.all().rpartition("\x1b[K")[2] == f"12 spans of 1 session sent to {endpoint.url}/v1/traces\n"
    with Terminal("export", settings=recorded) as terminal:
        terminal.expect("this would fill the terminal")
        assert terminal.wait() == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "127.0.0.1:4318"], "'127.0.0.1:4318' is not a URL like http://127.0.0.1:4318"),
        (["--to", "http://h:99999"], "'http://h:99999' is not a URL like http://127.0.0.1:4318"),
        (["--to", "http://me:secret@h"], "a password in a URL is easily shown: use --header"),
        (["--to", "http://h", "--header", "secret"], 'a header looks like "Name: value"'),
        (["--to", "http://h", "--header", "A: b\nC: d"], 'a header looks like "Name: value"'),
        (["--to", "http://h", "-o", "x"], "not allowed with argument"),
        (["--to", "http://h", "--format", "parquet"], "--to sends OTLP"),
        (["--patience", "3"], "belong to --to URL"),
        (["--since", "yesterday"], "'yesterday' is not a time like 2026-11-01, 2026-11-01T09:30, 45m, 12h or 30d"),
        (["--since", "1h", "--until", "2h"], "--until is before --since: nothing is in between"),
        (["--all", "demo"], "name no session and no time with it"),
        (["--format", "parquet"], "name a folder with -o"),
        (["--json"], "name a file with -o"),
    ],
)
def test_a_contradiction_is_a_usage_error(recorded: Settings, turnlog: Turnlog, words: list[str], said: str) -> None:
    done = turnlog("export", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err and "secret@" not in done.err


def test_a_session_or_a_file_that_cannot_be_is_one_line(recorded: Settings, turnlog: Turnlog, tmp_path: Path) -> None:
    assert turnlog("export", "nobody", "-o", str(tmp_path / "out")) == (
        1,
        "",
        "turnlog: there is no session 'nobody'. Nearest: demo-old, demo.\n",
    )
    said = f"turnlog: there is no folder {tmp_path / 'missing'} to write out in\n"
    assert turnlog("export", "-o", str(tmp_path / "missing" / "out")) == (1, "", said)
    said = f"turnlog: {tmp_path} is a folder: name a file in it, or let it take Parquet files with --format parquet.\n"
    assert turnlog("export", "-o", str(tmp_path)) == (1, "", said)
    said = "turnlog: /dev/null is no folder, and Parquet is several files: name a folder with -o.\n"
    assert turnlog("export", "--format", "parquet", "-o", "/dev/null") == (1, "", said)
    said = "turnlog: there is no room left to write to: make some, or write elsewhere\n"
    assert turnlog("export", "-o", "/dev/full") == (1, "", said)
    assert turnlog("export", "-o", "/dev/null").out == "12 spans of 1 session written to /dev/null\n"
    assert not Path("/dev/null").is_file()


def answers(settings: Settings) -> dict[str, list[Any]]:
    """What the store tells, without the ids of commits: those are made of the process that recorded them, or received them."""
    views = ("commits", "entries", "turns", "sessions", "decisions", "failures", "lifecycle", "context_messages", "evictions")
    same = r"columns(lambda c: not regexp_matches(c, 'commit(_id)?$|^process_key$'))"
    with queries.reading(settings) as db:
        return {view: db.execute(f"select {same} from {view} order by all").fetchall() for view in views}


@pytest.fixture
def elsewhere(tmp_path: Path) -> Settings:
    return Settings(directory=tmp_path / "elsewhere")


@pytest.fixture
def lived(recorded: Settings, turnlog: Turnlog) -> Settings:
    """The history, with something that left a context, and what a person said of it."""
    recording = Recording(recorded)
    with recording.agent("shorten it", conversation="demo"):
        recording.chat([user("first"), assistant("one"), user("second")], [assistant("two")])
        recording.chat([user("second"), assistant("two"), user("third")], [assistant("three")])
    recording.journal.close()
    recording.close()
    for word in ("pause", "unpause", "close", "pin"):
        assert turnlog(word, "demo").code == 0
    found = answers(recorded)
    assert all(found.values()), {view: len(rows) for view, rows in found.items()}
    return recorded


def test_what_is_imported_elsewhere_tells_the_same(
    lived: Settings, elsewhere: Settings, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert turnlog("export", "--all", "-o", str(first)).code == 0
    monkeypatch.setenv("TURNLOG_DIR", str(elsewhere.directory))
    assert turnlog("import", str(first)).code == 0
    assert answers(elsewhere) == answers(lived)
    assert turnlog("export", "--all", "-o", str(second)).code == 0
    assert sorted(decoded(second), key=lambda span: span.key) == sorted(decoded(first), key=lambda span: span.key)


def test_what_is_sent_to_another_turnlog_tells_the_same_and_twice_is_once(
    lived: Settings, elsewhere: Settings, turnlog: Turnlog
) -> None:
    with receiving(elsewhere, guard_for("127.0.0.1"), "127.0.0.1", 0) as receiver:
        for _ in range(2):
            done = turnlog("export", "--all", "--to", receiver.url)
            assert (done.code, done.err) == (0, "")
    assert answers(elsewhere) == answers(lived)


def test_an_empty_store_says_so(settings: Settings, turnlog: Turnlog, tmp_path: Path) -> None:
    assert turnlog("export", "-o", str(tmp_path / "out")).err == f"turnlog: {queries.NOTHING_YET}\n"
    assert turnlog("export", "--all", "-o", str(tmp_path / "out")) == (1, "", f"turnlog: {queries.NOTHING_YET}\n")
