"""An agent that others record has the log that we write of it, row for row, but for what is listed here with its reason."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from programs import run
from turnlog import queries
from turnlog.intake import Intake
from turnlog.received import ReceivedEvent, ReceivedLink, ReceivedSpan
from turnlog.settings import Settings

HERE = Path(__file__).parent
PROGRAM = HERE / "agent.py"
# What tells one run from another, not what was recorded of it.
OF_A_RUN = {"commit_id", "committed_at", "session_id", "duration_ms", "trace_id", "span_id", "decision_id"}
MORE = ("cached_tokens", "reasoning_tokens", "message_count", "source_kind", "verified")
ROWS = ["1 call write_file", "1 write_file", "1 answer", "2 call publish", "2 publish", "2 answer"]
MODEL_CALLS = ("1 call write_file", "1 answer", "2 call publish", "2 answer")

Row = dict[str, Any]
# Per reason: which commits differ, and in what.
Lacks = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
NO_REASONING: Lacks = {"no word for reasoning tokens": (("2 answer",), ("reasoning_tokens",))}
NO_WORD_FOR_ERRORS: Lacks = {"a tool's result does not say that it is an error": (("2 answer",), ("input_hash",))}


class Peer(NamedTuple):
    """`records`: the modules of its instrumentors, or a file that they wrote where they need SDKs that are too old for us."""

    library: str
    records: str
    lacks: Lacks = {}  # noqa: RUF012 - a default, never changed


PEERS = {
    "openinference-anthropic": Peer("anthropic", "openinference.instrumentation.anthropic"),
    "openllmetry-anthropic": Peer("anthropic", "opentelemetry.instrumentation.anthropic", NO_REASONING),
    "otel-anthropic": Peer("anthropic", "opentelemetry.instrumentation.genai.anthropic"),
    "openinference-langchain": Peer("langchain", "openinference.instrumentation.langchain"),
    "openinference-openai": Peer("openai", "openinference.instrumentation.openai"),
    "openllmetry-langchain": Peer(
        "langchain",
        "opentelemetry.instrumentation.langchain",
        NO_WORD_FOR_ERRORS | NO_REASONING,
    ),
    "openllmetry-openai": Peer("openai", "opentelemetry.instrumentation.openai"),
    "otel-langchain": Peer("langchain", "opentelemetry.instrumentation.genai.langchain", NO_WORD_FOR_ERRORS),
    "otel-openai": Peer("openai", "opentelemetry.instrumentation.genai.openai"),
    "otel-langchain-and-openai": Peer(
        "langchain",
        "opentelemetry.instrumentation.genai.langchain+opentelemetry.instrumentation.genai.openai",
        NO_WORD_FOR_ERRORS,
    ),
    "older-openllmetry-langchain": Peer(
        "langchain",
        "older/openllmetry-langchain.json",
        NO_WORD_FOR_ERRORS | NO_REASONING | {"no word for why a model stopped": (MODEL_CALLS, ("output_hash",))},
    ),
    "older-openllmetry-openai": Peer("openai", "older/openllmetry-openai.json"),
}
# The switch is off unless somebody asks, in OpenTelemetry's own; the others' is on.
WITH_CONTENT = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}
WITHOUT_CONTENT = {
    "openinference-langchain": {"OPENINFERENCE_HIDE_INPUTS": "true", "OPENINFERENCE_HIDE_OUTPUTS": "true"},
    "openllmetry-langchain": {"TRACELOOP_TRACE_CONTENT": "false"},
    "otel-langchain": {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"},
}


def missing(peer: Peer) -> str:
    needed = ("langchain", "langchain_openai") if peer.library == "langchain" else (peer.library,)
    for module in (*needed, *([] if peer.records.endswith(".json") else peer.records.split("+"))):
        try:
            found = find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"needs {module}: `python tests/frameworks/environments.py beside-test`"
    return ""


def log(directory: Path) -> list[Row]:
    """The commits of the one session in a store, oldest first, by what was recorded."""
    with queries.reading(Settings(directory=directory)) as db:
        (session,) = queries.sessions(db)
        commits = reversed(queries.log(db, session.session_id, limit=100))
        found = db.execute(f"select span_id, {', '.join(MORE)} from span_rows").fetchall()
        more = {span_id: dict(zip(MORE, values, strict=True)) for span_id, *values in found}
        rows = []
        for commit in commits:
            row = {key: value for key, value in commit._asdict().items() if key not in OF_A_RUN}
            row["delta"] = commit.delta.replace(commit.span_id, "itself")
            row["decided"] = "itself" if commit.decision_id == commit.span_id else bool(commit.decision_id)
            rows.append(row | more[commit.span_id])
        return rows


def turns(directory: Path) -> list[tuple[int, str, str]]:
    with queries.reading(Settings(directory=directory)) as db:
        (session,) = queries.sessions(db)
        return [(turn.turn, turn.input_summary, turn.output_summary) for turn in queries.turns(db, session.session_id)]


def label(row: Row) -> str:
    return f"{row['turn']} {row['tool'] or row['choice']}"


def received(span: Row) -> ReceivedSpan:
    events, links = span.pop("events"), span.pop("links")
    return ReceivedSpan(
        **span, events=[ReceivedEvent(*event) for event in events], links=[ReceivedLink(*link) for link in links]
    )


def take(spans: Sequence[ReceivedSpan], directory: Path) -> Path:
    intake = Intake(Settings(directory=directory))
    intake.take(spans)
    intake.settle(everything=True)
    intake.close()
    return directory


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The store that our own instrumentation fills. It sees files change, as nobody can from afar: that is off."""

    @functools.cache
    def ours(library: str) -> Path:
        folder = tmp_path_factory.mktemp("ours")
        run(sys.executable, PROGRAM, library, "turnlog", folder, directory=folder / "store", TURNLOG_OBSERVE="off")
        return folder / "store"

    return ours


def recorded(peer: Peer, folder: Path, **content: str) -> list[ReceivedSpan]:
    if peer.records.endswith(".json"):
        printed = (HERE / peer.records).read_text()
    else:
        command = (sys.executable, "-W", "ignore", PROGRAM, peer.library, peer.records, folder)
        printed = run(*command, directory=folder / "none", **(content or WITH_CONTENT)).stdout
    return [received(span) for span in json.loads(printed)]


@pytest.mark.parametrize("name", PEERS)
def test_what_a_peer_records_becomes_the_log_that_we_write_of_the_same_run(
    name: str, ours: Callable[[str], Path], tmp_path: Path
) -> None:
    peer = PEERS[name]
    if reason := missing(peer):
        pytest.skip(reason)
    theirs, own = take(recorded(peer, tmp_path), tmp_path / "store"), ours(peer.library)
    rows, expected = log(theirs), log(own)
    assert [label(row) for row in rows] == [label(row) for row in expected] == ROWS
    differs = {(label(row), key) for row, other in zip(rows, expected, strict=True) for key in row if row[key] != other[key]}
    assert differs == {(commit, key) for commits, keys in peer.lacks.values() for commit in commits for key in keys}
    assert turns(theirs) == turns(own)


@pytest.mark.parametrize(("name", "content"), WITHOUT_CONTENT.items(), ids=list(WITHOUT_CONTENT))
def test_without_content_there_are_turns_tools_outcomes_and_tokens(name: str, content: dict[str, str], tmp_path: Path) -> None:
    peer = PEERS[name]
    if reason := missing(peer):
        pytest.skip(reason)
    rows = log(take(recorded(peer, tmp_path, **content), tmp_path / "store"))
    assert [(row["turn"], row["kind"], row["tool"], row["error"], row["input_tokens"]) for row in rows] == [
        (1, "decision", "", "", 31),
        (1, "tool", "write_file", "", 0),
        (1, "decision", "", "", 52),
        (2, "decision", "", "", 70),
        (2, "tool", "publish", "ConnectionError", 0),
        (2, "decision", "", "", 90),
    ]
    assert {(row["input_hash"], row["attempt"]) for row in rows} == {("", 0)}


def test_model_calls_without_messages_are_counted_and_nothing_else(tmp_path: Path) -> None:
    """The first conventions said what was said in log records: their spans have only models and tokens."""
    spans = [received(span) for span in json.loads((HERE / "older" / "otel-openai-v2.json").read_text())]
    with queries.reading(Settings(directory=take(spans, tmp_path))) as db:
        found = [commit for session in queries.sessions(db) for commit in queries.log(db, session.session_id)]
    assert sorted((commit.kind, commit.model, commit.input_tokens, commit.output_tokens) for commit in found) == [
        ("decision", "scripted", 31, 7),
        ("decision", "scripted", 52, 3),
        ("decision", "scripted", 70, 7),
        ("decision", "scripted", 90, 7),
    ]
    assert {(commit.input_hash, commit.output_hash, commit.delta) for commit in found} == {("", "", "[]")}
