"""Every view and macro, rows in and rows out: the same from journals alone, from the store, and from some of each."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store.story import SECOND, START, Story, change, touch
from turnlog import queries
from turnlog.errors import TurnlogError
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load
from turnlog.store.schema import questions

CHOOSE_SQLITE: dict[str, Any] = {"decision_about": "db", "choice": "sqlite", "delta": [change("decision", "db", "sqlite")]}
CHOOSE_DUCKDB: dict[str, Any] = {
    "decision_about": "db",
    "choice": "duckdb",
    "reason": "columns",
    "reason_source": "stated",
    "alternatives": ["sqlite", "postgres"],
    "delta": [change("decision", "db", "duckdb")],
}
WANTS_WRITE: dict[str, Any] = {
    "choice": "call write_file",
    "reason": "it is needed",
    "reason_source": "stated",
    "input_tokens": 10,
    "output_tokens": 5,
    "cached_tokens": 4,
    "delta": [change("decision", "d1", "call write_file")],
}


class Told(Story):
    """Two sessions. In `s`: three turns with files, decisions, a pending action, failures and a call that still runs."""

    def first_half(self) -> None:
        self.row(record="loss", start_ns=START, name="journal not writable", lost=4)
        self.agent("agent1", "s", "t1", "write it")
        self.chat("decide1", "s", "t1", **WANTS_WRITE)
        self.tool("write1", "s", "t1", "write_file", touch("write", "a.py", "h1"), touch("write", "c.py", "h2"))
        self.tool("read1", "s", "t1", "read_file", touch("read", "b.py"))
        self.note("ask", "s", "t1", change("pending", "p1", "deploy"))
        self.agent("agent2", "s", "t2", "again")
        self.tool("late", "s", "t2", "write_file", outcome="timeout", error_type="TimeoutError", status_message="slow")

    def second_half(self) -> None:
        source = change("source", "https://x", "", action="fetch", evidence="declared")
        self.tool("fetch", "s", "t2", "fetch", source)
        self.chat("failed", "s", "t2", outcome="error", error_type="RateLimitError", request_model="n", choice="")
        self.span("sqlite", "s", "t2", commit_kind="decision", **CHOOSE_SQLITE)
        self.agent("agent3", "s", "t3", "finish")
        self.span("duckdb", "s", "t3", commit_kind="decision", **CHOOSE_DUCKDB)
        self.tool("write3", "s", "t3", "write_file", touch("write", "a.py", "h3"))
        self.tool("delete3", "s", "t3", "delete_file", touch("delete", "c.py"))
        self.note("resolve", "s", "t3", change("pending", "p1", "done", "drop"), change("pending", "p2", "announce"))
        self.span("slow", "s", "t3", ends=False, operation="execute_tool", tool="run_tests")
        self.tool("other", "o", "t9", "write_file", touch("write", "z.py", "h9"))
        self.row(record="loss", start_ns=START + SECOND, name="journal not writable", lost=3)
        self.span("request", "nobody", "", lost=2)


class Answers:
    def __init__(self, db: duckdb.DuckDBPyConnection, told: Told) -> None:
        self._db = db
        self.ids = told.ids

    def __call__(self, statement: str) -> list[tuple[Any, ...]]:
        return self._db.execute(statement).fetchall()


@pytest.fixture(scope="module", params=["journals", "store", "half of each"])
def ask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    settings = Settings(directory=Path(tmp_path_factory.mktemp("told")))
    told = Told(settings)
    told.first_half()
    if request.param == "half of each":
        load(settings, patience=1)
    told.second_half()
    if request.param == "store":
        load(settings, patience=1)
    with Store(settings).reading() as db:
        yield Answers(db, told)
    told.writer.close()


def at(label_number: int, half: int = 1) -> datetime:
    """The time of a span by its place in the story: its start, or half a second later its end."""
    seconds = START // SECOND + label_number + half / 2
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def test_sessions(ask: Answers) -> None:
    hidden = "started_ns, last_active_ns, last_turn_ns, last_said_ns"
    assert ask(f"select * exclude ({hidden}) from sessions order by session_id") == [
        ("o", "idle", False, "", at(17, 0), at(17), 1, 1, 0, 0, 0, 0, 1),
        ("s", "active", False, "coder", at(1, 0), at(16, 0), 3, 12, 2, 1, 10, 5, 15),
    ]


def test_session_standings(ask: Answers) -> None:
    keys = dict(ask("select session_id, session_key from session_rows"))
    some = [keys["o"], keys["nobody"]]
    assert ask(f"from session_standings({some})") == ask("from sessions where session_id = 'o'")
    assert ask(f"from session_standings({[keys['s']]})") == ask("from sessions where session_id = 's'")


def test_totals(ask: Answers) -> None:
    assert ask("from totals") == [(2, 16, 13, 2)]


def test_scopes(ask: Answers) -> None:
    assert ask("select scope, spans, commits from scopes") == [("test", 18, 14)]


def test_turns(ask: Answers) -> None:
    assert ask("select * exclude (started_ns, ended_ns) from turns order by session_id, turn") == [
        ("o", 1, "t9", "", "", "", at(17, 0), at(17), 1, 1, 0, 0),
        ("s", 1, "t1", "write it", "", "", at(1, 0), at(5), 4, 2, 0, 0),
        ("s", 2, "t2", "again", "", "", at(6, 0), at(10), 4, 2, 2, 0),
        ("s", 3, "t3", "finish", "", "", at(11, 0), at(16, 0), 5, 3, 0, 1),
    ]


def test_a_turn_is_answered_by_its_run_or_else_by_the_model_call_that_nothing_came_after(settings: Settings) -> None:
    def says(text: str) -> dict[str, str]:
        return {"choice": "answer", "output_summary": text}

    story = Story(settings)
    story.span("stated", "s", "t1", operation="invoke_agent", turn_input="one", turn_output="First.")
    story.chat("c1", "s", "t1", **says("1"))
    story.chat("c2", "s", "t2", choice="call search", output_summary="I look it up.")
    story.tool("search", "s", "t2", "search")
    story.chat("c3", "s", "t2", **says("Second."))
    story.note("afterwards", "s", "t2", change("fact", "f", "v"))
    story.tool("agent", "s", "t3", "ask_agent", end_ns=START + 60 * SECOND)
    story.chat("c4", "s", "t3", inside="agent", **says("said to the tool"))
    story.span("runs", "s", "t4", ends=False, operation="execute_tool", tool="ask_agent")
    story.chat("c5", "s", "t4", inside="runs", **says("said to a tool that runs"))
    story.chat("c6", "s", "t5", **says("Fifth."))
    story.span("passed on", "s", "t5", operation="invoke_agent", turn_output="Fifth.")
    with Store(settings).reading() as db:
        found = db.execute("select output_summary, answer_commit from turns order by turn").fetchall()
    assert found == [("First.", ""), ("Second.", story.ids["c3"]), ("", ""), ("", ""), ("Fifth.", story.ids["c6"])]


def test_commits(ask: Answers) -> None:
    columns = "commit_id, committed_at, turn, kind, tool, outcome, error, error_message, choice, duration_ms, sequence"
    found = ask(f"select {columns} from commits where session_id = 's' order by started_ns")
    labels = ["decide1", "write1", "read1", "ask", "late", "fetch", "failed", "sqlite"]
    labels += ["duckdb", "write3", "delete3", "resolve", "slow"]
    assert [row[0] for row in found] == [ask.ids[label] for label in labels]
    assert [row[1:] for row in found] == [
        (at(2), 1, "decision", "", "ok", "", "", "call write_file", 500.0, 0),
        (at(3), 1, "tool", "write_file", "ok", "", "", "", 500.0, 1),
        (at(4), 1, "tool", "read_file", "ok", "", "", "", 500.0, 2),
        (at(5), 1, "note", "", "ok", "", "", "", 500.0, 3),
        (at(7), 2, "tool", "write_file", "timeout", "TimeoutError", "slow", "", 500.0, 0),
        (at(8), 2, "tool", "fetch", "ok", "", "", "", 500.0, 1),
        (at(9), 2, "decision", "", "error", "RateLimitError", "", "", 500.0, 2),
        (at(10), 2, "decision", "", "ok", "", "", "sqlite", 500.0, 3),
        (at(12), 3, "decision", "", "ok", "", "", "duckdb", 500.0, 0),
        (at(13), 3, "tool", "write_file", "ok", "", "", "", 500.0, 1),
        (at(14), 3, "tool", "delete_file", "ok", "", "", "", 500.0, 2),
        (at(15), 3, "note", "", "ok", "", "", "", 500.0, 3),
        (at(16, 0), 3, "tool", "run_tests", "in_flight", "", "", "", 0.0, 0),
    ]


def test_entries(ask: Answers) -> None:
    columns = "turn, op, kind, key, value, tier, action, evidence, tool"
    assert ask(f"select {columns} from entries where session_id = 's' order by changed_ns, sequence") == [
        (1, "set", "decision", "d1", "call write_file", "durable", "", "", ""),
        (1, "set", "tool", "write_file", "ok", "transient", "", "", "write_file"),
        (1, "set", "file", "a.py", "h1", "durable", "write", "declared", "write_file"),
        (1, "set", "file", "c.py", "h2", "durable", "write", "declared", "write_file"),
        (1, "set", "tool", "read_file", "ok", "transient", "", "", "read_file"),
        (1, "set", "file", "b.py", "", "durable", "read", "declared", "read_file"),
        (1, "set", "pending", "p1", "deploy", "durable", "", "", ""),
        (2, "set", "tool", "write_file", "timeout", "transient", "", "", "write_file"),
        (2, "set", "tool", "fetch", "ok", "transient", "", "", "fetch"),
        (2, "set", "source", "https://x", "", "transient", "fetch", "declared", "fetch"),
        (2, "set", "decision", "db", "sqlite", "durable", "", "", ""),
        (3, "set", "decision", "db", "duckdb", "durable", "", "", ""),
        (3, "set", "tool", "write_file", "ok", "transient", "", "", "write_file"),
        (3, "set", "file", "a.py", "h3", "durable", "write", "declared", "write_file"),
        (3, "set", "tool", "delete_file", "ok", "transient", "", "", "delete_file"),
        (3, "drop", "file", "c.py", "", "durable", "delete", "declared", "delete_file"),
        (3, "drop", "pending", "p1", "done", "durable", "", "", ""),
        (3, "set", "pending", "p2", "announce", "durable", "", "", ""),
    ]


def test_state_at(ask: Answers) -> None:
    def state(turn: int) -> list[tuple[Any, ...]]:
        return ask(f"select kind, key, value, turn from state_at('s', {turn}) order by kind, key")

    first = [
        ("decision", "d1", "call write_file", 1),
        ("file", "a.py", "h1", 1),
        ("file", "c.py", "h2", 1),
        ("pending", "p1", "deploy", 1),
        ("tool", "read_file", "ok", 1),
        ("tool", "write_file", "ok", 1),
    ]
    assert state(0) == []
    assert state(1) == first
    assert state(2) == [
        first[0],
        ("decision", "db", "sqlite", 2),
        *first[1:4],
        ("source", "https://x", "", 2),
        ("tool", "fetch", "ok", 2),
        first[4],
        ("tool", "write_file", "timeout", 2),
    ]
    assert state(99) == state(3)


def test_state(ask: Answers) -> None:
    assert ask("select session_id, kind, key, value, turn, commit_id from state order by session_id, kind, key") == [
        ("o", "file", "z.py", "h9", 1, ask.ids["other"]),
        ("o", "tool", "write_file", "ok", 1, ask.ids["other"]),
        ("s", "decision", "d1", "call write_file", 1, ask.ids["decide1"]),
        ("s", "decision", "db", "duckdb", 3, ask.ids["duckdb"]),
        ("s", "file", "a.py", "h3", 3, ask.ids["write3"]),
        ("s", "pending", "p2", "announce", 3, ask.ids["resolve"]),
        ("s", "source", "https://x", "", 2, ask.ids["fetch"]),
        ("s", "tool", "delete_file", "ok", 3, ask.ids["delete3"]),
        ("s", "tool", "fetch", "ok", 2, ask.ids["fetch"]),
        ("s", "tool", "read_file", "ok", 1, ask.ids["read1"]),
        ("s", "tool", "write_file", "ok", 3, ask.ids["write3"]),
    ]


def test_working_set(ask: Answers) -> None:
    everything = [
        ("file", "a.py", "write", "declared", "", 3, 2, "write_file", ask.ids["write3"], at(13)),
        ("file", "b.py", "read", "declared", "", 1, 1, "read_file", ask.ids["read1"], at(4)),
        ("file", "c.py", "delete", "declared", "", 3, 2, "delete_file", ask.ids["delete3"], at(14)),
        ("source", "https://x", "fetch", "declared", "", 2, 1, "fetch", ask.ids["fetch"], at(8)),
    ]
    assert ask("from working_set('s', 3) order by kind, key") == everything
    assert ask("select key, touches from working_set('s', 2) order by key") == [("a.py", 1), ("c.py", 1), ("https://x", 1)]
    assert ask("select key from working_set('s', 1) order by key") == [("a.py",), ("c.py",)]
    assert ask("from working_set('missing', 5)") == []


def test_files_modified(ask: Answers) -> None:
    assert ask("from files_modified('s', 5) order by path") == [
        ("a.py", "write", "declared", "", 3, 2, "write_file", ask.ids["write3"], at(13)),
        ("c.py", "delete", "declared", "", 3, 2, "delete_file", ask.ids["delete3"], at(14)),
    ]
    assert ask("select path from files_modified('o', 5)") == [("z.py",)]


def test_decisions(ask: Answers) -> None:
    columns = "commit_id, decided_at, session_id, turn, about, choice, reason, reason_source, alternatives, model"
    assert ask(f"select {columns} from decisions order by decided_ns") == [
        (ask.ids["decide1"], at(2), "s", 1, "", "call write_file", "it is needed", "stated", "[]", "m"),
        (ask.ids["sqlite"], at(10), "s", 2, "db", "sqlite", "", "", "[]", ""),
        (ask.ids["duckdb"], at(12), "s", 3, "db", "duckdb", "columns", "stated", '["sqlite","postgres"]', ""),
    ]


CHANGED_IN_3 = [
    ("decision", "db", "changed", "sqlite", "duckdb", "duckdb"),
    ("file", "a.py", "changed", "h1", "h3", "write3"),
    ("file", "c.py", "removed", "h2", "", "delete3"),
    ("pending", "p1", "removed", "deploy", "", "resolve"),
    ("pending", "p2", "added", "", "announce", "resolve"),
    ("tool", "delete_file", "added", "", "ok", "delete3"),
    ("tool", "write_file", "changed", "timeout", "ok", "write3"),
]


def test_turn_diff(ask: Answers) -> None:
    def diff(a: int, b: int) -> list[tuple[Any, ...]]:
        rows = ask(
            f"select kind, key, change, before_value, after_value, commit_id from turn_diff('s', {a}, {b}) order by kind, key"
        )
        labels = {commit: label for label, commit in ask.ids.items()}
        return [(*row[:5], labels.get(row[5], "")) for row in rows]

    assert diff(2, 3) == CHANGED_IN_3
    assert diff(1, 2) == [
        ("decision", "db", "added", "", "sqlite", "sqlite"),
        ("source", "https://x", "added", "", "", "fetch"),
        ("tool", "fetch", "added", "", "ok", "fetch"),
        ("tool", "write_file", "changed", "ok", "timeout", "late"),
    ]
    assert diff(2, 2) == []
    backwards = {"added": "removed", "removed": "added", "changed": "changed"}
    for a, b in ((0, 1), (1, 2), (2, 3), (0, 3)):
        assert [(*row[:2], backwards[row[2]], row[4], row[3]) for row in diff(b, a)] == [row[:5] for row in diff(a, b)]


def test_turn_diff_of_a_file_that_nobody_had_recorded_is_the_same_backwards(settings: Settings) -> None:
    story = Story(settings)
    story.tool("begin", "s", "t1", "begin")
    story.tool("delete", "s", "t2", "delete_file", touch("delete", "old.py"), touch("delete", "again.py"))
    story.tool("write", "s", "t2", "write_file", touch("write", "again.py", "h1"))
    story.tool("delete", "s", "t3", "delete_file", touch("delete", "again.py"), touch("delete", "old.py"))
    with Store(settings).reading() as db:

        def files(a: int, b: int) -> list[tuple[Any, ...]]:
            columns = "key, change, before_value, after_value, action"
            return db.execute(f"select {columns} from turn_diff('s', {a}, {b}) where kind = 'file' order by key").fetchall()

        assert files(1, 2) == [("again.py", "added", "", "h1", "write"), ("old.py", "removed", "", "", "delete")]
        assert files(2, 1) == [("again.py", "removed", "h1", "", ""), ("old.py", "added", "", "", "")]
        assert files(2, 3) == [("again.py", "removed", "h1", "", "delete"), ("old.py", "removed", "", "", "delete")]
        assert files(3, 2) == [("again.py", "added", "", "h1", "write"), ("old.py", "added", "", "", "")]
        assert files(1, 3) == [("old.py", "removed", "", "", "delete")]
        assert files(3, 1) == [("old.py", "added", "", "", "")]


def test_turn_diffs(ask: Answers) -> None:
    columns = "kind, key, change, before_value, after_value, commit_id"
    labels = {commit: label for label, commit in ask.ids.items()}
    found = ask(f"select {columns} from turn_diffs where session_id = 's' and turn = 3 order by kind, key")
    assert [(*row[:5], labels[row[5]]) for row in found] == CHANGED_IN_3
    assert ask("select turn, count(*) from turn_diffs where session_id = 's' group by turn order by turn") == [
        (1, 6),
        (2, 4),
        (3, 7),
    ]


def test_failures(ask: Answers) -> None:
    columns = "commit_id, failed_at, session_id, turn, kind, tool, outcome, error, error_message"
    assert ask(f"select {columns} from failures order by failed_ns") == [
        (ask.ids["late"], at(7), "s", 2, "tool", "write_file", "timeout", "TimeoutError", "slow"),
        (ask.ids["failed"], at(9), "s", 2, "decision", "", "error", "RateLimitError", ""),
    ]


def test_pending_actions(ask: Answers) -> None:
    assert ask("from pending_actions order by status") == [
        ("s", 3, "in_flight", ask.ids["slow"], "run_tests", ask.ids["slow"], START + 16 * SECOND, 0.0),
        ("s", 3, "pending", "p2", "announce", ask.ids["resolve"], START + 15 * SECOND + SECOND // 2, 0.0),
    ]


def test_tool_stats(ask: Answers) -> None:
    assert ask("from tool_stats order by session_id, tool") == [
        ("o", "write_file", 1, 1, 0, 0, 0, 500.0, 500.0),
        ("s", "delete_file", 1, 1, 0, 0, 0, 500.0, 500.0),
        ("s", "fetch", 1, 1, 0, 0, 0, 500.0, 500.0),
        ("s", "read_file", 1, 1, 0, 0, 0, 500.0, 500.0),
        ("s", "write_file", 3, 2, 0, 1, 0, 500.0, 500.0),
    ]


def test_token_usage(ask: Answers) -> None:
    assert ask("from token_usage order by turn, model") == [
        ("s", 1, "m", 1, 10, 5, 4, 0),
        ("s", 2, "n", 1, 0, 0, 0, 0),
    ]


def test_losses(ask: Answers) -> None:
    assert ask("from losses order by reason") == [
        ("journal not writable", 7, at(1, 0)),
        ("value too large", 2, at(18, 0)),
    ]


def test_span_parents(settings: Settings) -> None:
    story = Story(settings)
    story.tool("calls", "s", "t1", "delegate")
    story.chat("asks", "s", "t1", inside="calls")
    trace, outer, inner = f"{1:032x}", story.spans["calls"], story.spans["asks"]
    with Store(settings).reading() as db:
        assert db.execute("from span_parents('s') order by span_id").fetchall() == [
            (trace, outer, "", story.ids["calls"]),
            (trace, inner, outer, ""),
        ]
    story.writer.close()


def test_first_input(ask: Answers) -> None:
    assert ask("from first_input('s')") == [(1, "write it", "")]


def test_last_step(ask: Answers) -> None:
    assert ask("from last_step('s')") == [(3, ask.ids["slow"], at(16, 0), "tool", "run_tests", "in_flight", "", "", "", "")]


def test_standing_decisions(ask: Answers) -> None:
    columns = "commit_id, turn, about, choice, reason, alternatives, model, is_step"
    assert ask(f"select {columns} from standing_decisions('s') order by decided_ns") == [
        (ask.ids["decide1"], 1, "", "call write_file", "it is needed", "[]", "m", 1),
        (ask.ids["duckdb"], 3, "db", "duckdb", "columns", '["sqlite","postgres"]', "", 0),
    ]


def test_touches_by_turn(ask: Answers) -> None:
    assert ask("from touches_by_turn('s', 2) order by turn, key") == [
        ("source", "https://x", 2, "fetch", "declared", 1),
        ("file", "a.py", 3, "write", "declared", 1),
        ("file", "c.py", 3, "delete", "declared", 1),
    ]


def test_turn_bars(ask: Answers) -> None:
    assert ask(
        "select * exclude (session_id, started_at, ended_at, started_ns) from turn_bars where session_id = 's' order by turn"
    ) == [
        (1, "write it", "", 4500.0, 500.0, 1000.0, 4, 2, 0, 0, 0, 0, 1, 1, 0, 0, 0),
        (2, "again", "", 4500.0, 500.0, 1000.0, 4, 2, 2, 0, 0, 0, 1, 1, 0, 0, 0),
        (3, "finish", "", 5000.0, 0.0, 1000.0, 5, 3, 0, 0, 1, 0, 1, 1, 1, 0, START + 16 * SECOND),
    ]


def test_state_hash(ask: Answers) -> None:
    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    entries = ask("select kind, key, value, tier, action, evidence, turn from state where session_id = 's'")
    each = sorted(digest("".join(digest(str(part)) for part in entry)) for entry in entries)
    assert ask("from state_hash('s')") == [(f"sha256:{digest(''.join(each))}", 9)]


def test_search(ask: Answers) -> None:
    found = "select commit_id, turn, kind, place, excerpt from search('s', 'write', '', '', '') order by ended_ns"
    assert ask(found) == [
        (ask.ids["decide1"], 1, "decision", "choice", "call write_file"),
        (ask.ids["write1"], 1, "tool", "tool", ""),
        (ask.ids["late"], 2, "tool", "tool", ""),
        (ask.ids["write3"], 3, "tool", "tool", ""),
    ]
    assert ask("select session_id, place from search('', 'h9', '', '', '')") == [("o", "changes")]
    assert ask("select place, excerpt from search('s', 'slow', 'write', '', '')") == [("error", "TimeoutError slow")]
    assert ask("from search('s', 'slow', 'nowhere', '', '')") == []


@pytest.mark.parametrize("term", ['"', " ", ' "', '" ', '""'])
def test_search_has_no_rows_for_quotes_and_blanks_alone(settings: Settings, term: str) -> None:
    story = Story(settings)
    story.tool("look", "s", "t1", "look", input_summary='to the "north"', output_summary='"" no  land')
    with Store(settings).reading() as db:
        found = [
            db.execute("select place from search('', ?, ?, '', '')", terms).fetchall()
            for terms in ([term, ""], ["north", term], ['"north"', "no  land"])
        ]
    story.writer.close()
    assert found == [[], [], [("input",)]]


def test_a_phrase_is_within_one_field(settings: Settings) -> None:
    story = Story(settings)
    story.tool("look", "s", "t1", "look", input_summary="to the north", output_summary="no land")
    with Store(settings).reading() as db:
        phrases = ("the north", "no land", "look to", "north no")
        found = {phrase: db.execute("select place from search('', ?, '', '', '')", [phrase]).fetchall() for phrase in phrases}
    story.writer.close()
    assert found == {"the north": [("input",)], "no land": [("output",)], "look to": [], "north no": []}


@pytest.mark.parametrize("text", ['"', 'north "', '" "', '""'])
def test_a_lone_quote_is_no_word(settings: Settings, text: str) -> None:
    story = Story(settings)
    story.tool("look", "s", "t1", "look", input_summary='to the "north"', output_summary="no land")
    with Store(settings).reading() as db:
        with pytest.raises(TurnlogError, match="quotes with nothing in them are no word"):
            queries.search(db, text)
        assert [found.place for word in ('"no land"', '"north"', 'the "north') for found in queries.search(db, word)] == [
            "output",
            "input",
            "input",
        ]
    story.writer.close()


def test_consecutive_calls(ask: Answers) -> None:
    columns = "turn_id, commit_id, tool, before_tool, before_that_tool, failed"
    assert ask(
        f"select {columns} from consecutive_calls where session_id = 's' and turn_id <> 't1' order by commit_id"
    ) == sorted(
        [
            ("t2", ask.ids["late"], "write_file", "", "", 1),
            ("t2", ask.ids["fetch"], "fetch", "write_file", "", 0),
            ("t3", ask.ids["write3"], "write_file", "", "", 0),
            ("t3", ask.ids["delete3"], "delete_file", "write_file", "", 0),
            ("t3", ask.ids["slow"], "run_tests", "delete_file", "write_file", 0),
        ],
        key=lambda row: row[1],
    )


def test_recorded_calls(ask: Answers) -> None:
    columns = "commit_id, call_kind, tool, outcome, error, inside"
    assert ask(f"select {columns} from recorded_calls('s') where turn = 2 order by started_ns") == [
        (ask.ids["late"], "tool", "write_file", "timeout", "TimeoutError", ""),
        (ask.ids["fetch"], "tool", "fetch", "ok", "", ""),
        (ask.ids["failed"], "model", "", "error", "RateLimitError", ""),
        (ask.ids["sqlite"], "told", "", "ok", "", ""),
    ]
    assert ask("select count(*) from recorded_calls('s') where turn = 3") == [(4,)]


def test_writers(ask: Answers) -> None:
    assert ask("select pid, since_ns, last_ns from writers('s')") == [(os.getpid(), START + SECOND, START + 16 * SECOND)]


def test_every_question_of_the_core_is_asked_in_this_folder(ask: Answers) -> None:
    helpers = {"turn_numbers", "state_changes"}
    here = "".join(path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py")))
    assert {question.name for question in questions()} - helpers <= set(re.findall(r"^def test_(\w+)\(", here, re.MULTILINE))
    for question in questions():
        given = {"p_session": "'s'", "p_session_a": "'s'", "p_session_b": "'o'", "p_commit": "'x'"}
        given |= {f"p_term_{which}": "'x'" for which in "abcd"} | {"p_keys": "[1]"}
        arguments = ", ".join(given.get(name, "1") for name in re.findall(r"p_\w+", question.parameters))
        assert ask(f"select count(*) from {question.name}{f'({arguments})' if arguments else ''}")
        assert question.row
