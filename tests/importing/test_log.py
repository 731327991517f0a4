"""What is in the log after an import: the same as if turnlog had been there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from importing.reading import TRANSCRIPTS, given_file
from turnlog import queries
from turnlog.importing.loading import Progress, found_files, load_files
from turnlog.settings import Settings

CLAUDE = "08838aae-8089-576b-a5a5-6c469f49fd9a"
CODEX = "01a1e542-1f0d-7282-9b90-93f6bec2ad26"

Rows = list[tuple[int, str, str, str, str]]


def load(settings: Settings, *paths: Path) -> None:
    files = found_files(map(str, paths))
    for read in load_files(files, settings, "", Progress.over(files), lambda _: None):
        assert (read.error, read.bad_count) == ("", 0)


def log(settings: Settings, session: str) -> Rows:
    """Turn, kind, tool, outcome and id of every commit, oldest first."""
    with queries.reading(settings) as db:
        found = queries.log(db, session, limit=1000)
    return [(each.turn, each.kind, each.tool, each.outcome, each.span_id) for each in reversed(found)]


def test_a_session_of_claude_code_has_its_commits(settings: Settings) -> None:
    load(settings, TRANSCRIPTS / "claude_code")
    assert [row[:4] for row in log(settings, CLAUDE)] == [
        (1, "decision", "", "ok"),
        (1, "tool", "Write", "ok"),
        (1, "decision", "", "ok"),
        (2, "decision", "", "ok"),
        (2, "tool", "Edit", "ok"),
        (2, "tool", "Bash", "ok"),
        (2, "decision", "", "ok"),
        (3, "decision", "", "ok"),
        (3, "tool", "Bash", "error"),
        (3, "decision", "", "ok"),
        (4, "decision", "", "ok"),
        (4, "decision", "", "ok"),
        (4, "tool", "Read", "ok"),
        (4, "decision", "", "ok"),
        (4, "tool", "Agent", "ok"),
        (4, "decision", "", "ok"),
        (5, "eviction", "", "ok"),
        (5, "decision", "", "ok"),
        (6, "decision", "", "error"),
        (7, "decision", "", "ok"),
        (7, "tool", "Write", "ok"),
        (7, "decision", "", "ok"),
    ]
    with queries.reading(settings) as db:
        turns = [(turn.turn, turn.input_summary, turn.output_summary) for turn in queries.turns(db, CLAUDE)]
        context = [(message.role, message.summary[:12]) for message in queries.context(db, CLAUDE, 7)]
        session = queries.session_of(db, CLAUDE)
    assert turns[-1] == (1, "write", "Done.")
    assert (session.agent, session.tokens_in, session.tokens_out) == ("claude-code", 143, 91)
    assert [role for role, _ in context] == [
        *("user", "assistant"),
        *["user"] * 4,
        *("assistant", "user", "user"),
        *("assistant", "tool"),
    ]


def test_a_session_of_codex_has_its_commits(settings: Settings) -> None:
    load(settings, TRANSCRIPTS / "codex")
    assert [row[:4] for row in log(settings, CODEX)] == [
        (1, "decision", "", "ok"),
        (1, "tool", "exec_command", "ok"),
        (1, "decision", "", "ok"),
        (2, "decision", "", "ok"),
        (2, "tool", "exec_command", "error"),
        (2, "decision", "", "ok"),
        (3, "decision", "", "ok"),
        (3, "tool", "apply_patch", "error"),
        (3, "decision", "", "ok"),
    ]
    with queries.reading(settings) as db:
        files = [(each.path, each.last_action) for each in queries.files_modified(db, CODEX, 3)]
    assert files == [("out.txt", "write")]


def test_importing_again_adds_nothing(settings: Settings) -> None:
    load(settings, TRANSCRIPTS)
    before = [log(settings, session) for session in (CLAUDE, CODEX)]
    load(settings, TRANSCRIPTS)
    assert [log(settings, session) for session in (CLAUDE, CODEX)] == before


def test_a_session_that_went_on_since_gets_only_what_is_new(settings: Settings, tmp_path: Path) -> None:
    (whole,) = (TRANSCRIPTS / "claude_code").glob("*/*.jsonl")
    lines = whole.read_bytes().splitlines(keepends=True)
    third = next(index for index, line in enumerate(lines) if b'"content":"fail"}' in line)
    other = Settings(directory=tmp_path / "at once")
    growing = tmp_path / "project" / whole.name
    growing.parent.mkdir()
    inner = growing.with_suffix("") / "subagents"
    inner.mkdir(parents=True)
    for path in (whole.with_suffix("") / "subagents").iterdir():
        (inner / path.name).write_bytes(path.read_bytes())
    growing.write_bytes(b"".join(lines[:third]))
    load(settings, growing)
    assert {row[0] for row in log(settings, CLAUDE)} == {1, 2}
    growing.write_bytes(whole.read_bytes())
    load(settings, growing)
    load(other, whole)
    assert log(settings, CLAUDE) == log(other, CLAUDE)


def test_an_import_that_was_interrupted_goes_on(settings: Settings, tmp_path: Path) -> None:
    files = found_files([str(TRANSCRIPTS)])
    interrupted = load_files(files, settings, "", Progress.over(files), lambda _: None)
    next(interrupted)
    interrupted.close()  # type: ignore[attr-defined]
    load(settings, TRANSCRIPTS)
    other = Settings(directory=tmp_path / "at once")
    load(other, TRANSCRIPTS)
    for session in (CLAUDE, CODEX):
        assert log(settings, session) == log(other, session)


@pytest.mark.parametrize("name", ["claude_code", "codex"])
def test_a_transcript_and_the_same_spans_as_otlp_give_the_same_log(
    name: str, settings: Settings, tmp_path: Path, make_lines: Callable[[Path, Path], None]
) -> None:
    other = Settings(directory=tmp_path / "otlp")
    make_lines(TRANSCRIPTS / name, tmp_path / "spans.jsonl")
    load(settings, TRANSCRIPTS / name)
    load(other, tmp_path / "spans.jsonl")
    session = {"claude_code": CLAUDE, "codex": CODEX}[name]
    assert log(settings, session) == log(other, session)


@pytest.fixture
def make_lines() -> Callable[[Path, Path], None]:
    """The spans of transcripts as lines of OTLP."""

    def value(held: object) -> dict[str, object]:
        if isinstance(held, bool):
            return {"boolValue": held}
        if isinstance(held, int):
            return {"intValue": str(held)}
        return {"stringValue": held if isinstance(held, str) else json.dumps(held, default=list)}

    def make(folder: Path, into: Path) -> None:
        with into.open("w") as out:
            for path in found_files([str(folder)]):
                for span in given_file(Path(path)).spans:
                    one = {
                        "traceId": span.trace_id,
                        "spanId": span.span_id,
                        "parentSpanId": span.parent_id,
                        "name": span.name,
                        "startTimeUnixNano": str(span.start_ns),
                        "endTimeUnixNano": str(span.end_ns),
                        "status": {"code": 2, "message": span.status_message} if span.status == "error" else {},
                        "attributes": [{"key": key, "value": value(held)} for key, held in span.attributes.items()],
                    }
                    resource = {"attributes": [{"key": key, "value": value(held)} for key, held in span.resource.items()]}
                    scoped = {"scope": {"name": span.scope}, "spans": [one]}
                    out.write(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}) + "\n")

    return make
