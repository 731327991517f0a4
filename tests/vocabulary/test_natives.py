"""The spans that a framework makes by itself become the log that ours writes of the same run, but for what is listed here."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from frameworks.scenario import CALLS, SESSION, TURNS, expected
from frameworks.test_conformance import missing
from programs import ROOT, commits, run
from turnlog import queries
from turnlog.otlp import JSON, decode
from turnlog.received import ReceivedSpan
from turnlog.settings import Settings
from vocabulary.test_peers import Lacks, Row, label, log, received, take, turns

HERE = Path(__file__).parent
SCENARIO = ROOT / "tests" / "frameworks" / "scenario.py"
ASKS = tuple(f"{turn} call {CALLS[text][0].name}" for turn, text in enumerate(TURNS, 1) if CALLS[text])
RUNS = tuple(f"{turn} {call.name}" for turn, text in enumerate(TURNS, 1) for call in CALLS[text])
ANSWERS = tuple(f"{turn} answer" for turn, text in enumerate(TURNS, 1) if text != "hang")

LACKS: dict[str, Lacks] = {
    "pydantic_ai": {
        "a tool's result does not say that it is an error": (("2 answer", "3 answer"), ("input_hash",)),
        "a failure has the type of what tells the model of it": (("2 fail",), ("error",)),
        "an answer that was not read to its end is an answer": (("6 ",), ("outcome", "error", "choice", "decided")),
    },
    "google_adk": {
        "a call that was given up has no id, which ours takes for one": (("7 hang",), ("tool_call_id",)),
        "a tool that timed out has an error without words": (("3 wait",), ("outcome", "error", "output_summary", "delta")),
    },
    "agent_framework": {
        "a tool's result does not say that it is an error": (("2 answer",), ("input_hash",)),
        "in one process, ours leaves it to the agent's span whose a call is": ((*ASKS, *RUNS, *ANSWERS), ("agent",)),
    },
    "claude_agent_sdk": {
        "a request does not say what was in its context": ((*ASKS, *ANSWERS), ("input_hash", "message_count")),
        "nor what it was asked": ((*ASKS, "6 answer"), ("input_summary",)),
        "a failure is one of a tool": (("2 fail",), ("error",)),
        "whatever it was": (("3 wait",), ("outcome", "error", "error_message", "output_summary", "delta")),
    },
}
# What says nothing of what was said: outcomes of tools that only their results tell.
QUIET: dict[str, dict[str, str]] = {
    "pydantic_ai": {"wait": "error"},
    "google_adk": {"wait": "ok", "hang": "ok"},
    "agent_framework": {"hang": "ok"},
    "claude_agent_sdk": {"wait": "error"},
}


def recorded(name: str, folder: Path, *more: str) -> list[ReceivedSpan]:
    if reason := missing(name):
        pytest.skip(reason)
    done = run(sys.executable, "-W", "ignore", HERE / "natives.py", name, *more, directory=folder / "none")
    return [received(span) for span in json.loads(done.stdout)]


@pytest.mark.parametrize("name", LACKS)
def test_a_frameworks_own_spans_become_the_log_that_we_write_of_the_same_run(name: str, tmp_path: Path) -> None:
    theirs, own = take(recorded(name, tmp_path), tmp_path / "theirs"), tmp_path / "own"
    run(*(sys.executable, "-m", "turnlog", "run", sys.executable, SCENARIO, name), directory=own, TURNLOG_OBSERVE="off")
    rows, ours = log(theirs), [row for row in log(own) if row["kind"] != "lifecycle"]
    rows, ours = sorted(rows, key=_side_by_side), sorted(ours, key=_side_by_side)
    differs = {(label(our), key) for row, our in zip(rows, ours, strict=True) for key in row if row[key] != our[key]}
    assert differs == {(commit, key) for found, keys in LACKS[name].values() for commit in found for key in keys}
    left = [turn[:2] if turn[1] == "leave" else turn for turn in turns(own)]
    assert [turn[:2] if turn[1] == "leave" else turn for turn in turns(theirs)] == left


def _side_by_side(row: Row) -> tuple[int, str]:
    """Calls that ran at once, or while the answer that asked for them still came in, in the order of their asking."""
    return row["turn"], row["tool_call_id"] or ""


@pytest.mark.parametrize("name", QUIET)
def test_without_content_the_same_commits_are_there(name: str, tmp_path: Path) -> None:
    theirs = take(recorded(name, tmp_path, "quiet"), tmp_path / "theirs")
    told = [(turn, kind, tool, QUIET[name].get(tool, outcome)) for turn, kind, tool, outcome in expected(False, False)]
    assert sorted(commits(theirs)) == sorted(told)
    assert [row["choice"] for row in log(theirs) if row["kind"] == "decision"] == [
        row["choice"] for row in _decisions_of_scenario()
    ]
    assert not any(row["decided"] is False for row in log(theirs) if row["kind"] == "tool")


def _decisions_of_scenario() -> list[dict[str, str]]:
    rows = []
    for text in TURNS:
        rows += [{"choice": f"call {CALLS[text][0].name}"}] if CALLS[text] else []
        rows += [{"choice": "answer"}] if text != "hang" else []
    return rows


def test_files_that_claude_code_changes_are_known(tmp_path: Path) -> None:
    spans = recorded("claude_agent_sdk", tmp_path, str(tmp_path))
    store = take(spans, tmp_path / "theirs")
    with queries.reading(Settings(directory=store)) as db:
        (session,) = queries.sessions(db)
        found = sorted(file[:3] for file in queries.files_modified(db, session.session_id, last_turns=1))
    assert found == [
        (str(tmp_path / "copy.md"), "write", "declared"),
        (str(tmp_path / "note.md"), "write", "declared"),
    ]
    assert [(row["tool"], row["outcome"]) for row in log(store) if row["kind"] == "tool"] == [
        ("Write", "ok"),
        ("Edit", "ok"),
        ("Read", "error"),
        ("Bash", "ok"),
    ]


def test_the_vercel_ai_sdks_spans_become_a_log_without_the_stream_that_was_left(tmp_path: Path) -> None:
    """It never ends the spans of a stream that is aborted. A streamed answer is over after the tools that it asked for."""
    spans = decode((HERE / "recorded" / "vercel_ai.json").read_bytes(), JSON).spans
    take(spans, tmp_path)
    left = TURNS.index("leave") + 1
    told = [(turn - (turn > left), *rest) for turn, *rest in expected(False, False) if turn != left]
    assert sorted(commits(tmp_path, SESSION)) == sorted(told)
    assert [turn for turn, *_ in commits(tmp_path, SESSION)] == [turn for turn, *_ in told]
    said = [
        (turn, text, "" if text == "hang" else "That is all that there is to say.")
        for turn, text in enumerate((text for text in TURNS if text != "leave"), 1)
    ]
    assert sorted(turns(tmp_path)) == said
    rows = log(tmp_path)
    assert {row["agent"] for row in rows} == {"tester"}
    assert [(row["tool"], row["input_summary"], row["output_summary"], row["error"]) for row in rows if row["turn"] == 3] == [
        ("", "wait", "I do as told: wait.", ""),
        ("wait", '{"seconds":60}', "The operation was aborted due to timeout", "TimeoutError"),
        ("", "", "That is all that there is to say.", ""),
    ]
    assert not any(row["decided"] is False for row in rows if row["kind"] == "tool")
    with queries.reading(Settings(directory=tmp_path)) as db:
        (session,) = queries.sessions(db)
        assert (session.session_id, session.tokens_in, session.tokens_out) == (SESSION, 143, 91)


def test_without_a_session_in_its_metadata_what_was_said_before_names_it(tmp_path: Path) -> None:
    spans = decode((HERE / "recorded" / "vercel_ai.json").read_bytes(), JSON).spans
    metadata = "ai.telemetry.metadata.sessionId"
    unnamed = [{key: value for key, value in span.attributes.items() if key != metadata} for span in spans]
    take([replace(span, attributes=said) for span, said in zip(spans, unnamed, strict=True)], tmp_path)
    assert [turn for turn, *_ in sorted(turns(tmp_path))] == [1, 2, 3, 4, 5, 6, 7]


def test_what_was_said_stays_out_of_the_journal(tmp_path: Path) -> None:
    take(decode((HERE / "recorded" / "vercel_ai.json").read_bytes(), JSON).spans, tmp_path)
    with queries.reading(Settings(directory=tmp_path)) as db:
        kept = db.execute("select attributes::varchar, events::varchar from span_rows").fetchall()
    assert not any("I do as told" in text for row in kept for text in row if text)
