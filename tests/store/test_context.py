"""Contexts, what left them, and what the model can still see: rows in and rows out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store.story import Story, added, change, evicted, message_hash, message_key, touch
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load

NEVER = 2**63 - 1
STUB = {"call": "call-3", "keys": ["result:call-3"]}


class First(Story):
    """One process: a trimmed history, a sub-agent that trims its own, a fork, a cleared result, a file that is read again."""

    def first_half(self) -> None:
        self.agent("agent1", "s", "t1", "write a parser")
        self.say("c1", "t1", "call read_file", "First the grammar.", added(-5, "system", "be brief"), USER)
        self.tool("read1", "s", "t1", "read_file", touch("read", "a.md"), tool_call_id="call-1", output_summary="expr := term")
        self.say("c2", "t1", "call write_file", "", self.said(20, "c1", "file:a.md"), result(30, "call-1", "file:a.md"))
        self.tool(
            "write1", "s", "t1", "write_file", touch("write", "p.py", "h1"), tool_call_id="call-2", output_summary="wrote it"
        )
        self.say("c3", "t1", "answer", "Done.", self.said(40, "c2"), result(50, "call-2", "file:p.py"))
        self.agent("agent2", "s", "t2", "now test it")
        self.say("c4", "t2", "call fetch", "", self.said(60, "c3"), added(70, "user", "now test it"), *evicted(20, 30))
        gone = (f"message:{message_key('assistant', 'c1')}", f"decision:{self.spans['c1']}", "result:call-1", "file:a.md")
        self.evict("trim", "s", "t2", "c4", "trimmed", *gone)

    def second_half(self) -> None:
        source = change("source", "https://x", "", action="fetch", evidence="declared")
        self.tool("fetch", "s", "t2", "fetch", source, tool_call_id="call-3", output_summary="a page")
        self.tool(
            "delegate", "s", "t2", "delegate", tool_call_id="call-4", outcome="error", error_type="E", status_message="no"
        )
        self.say("n1", "t2", "answer", "Hm.", added(10, "user", "summarise"), lineage="N", inside="delegate")
        self.say("n2", "t2", "answer", "Hm?", added(20, "user", "again"), *evicted(10), lineage="N", inside="delegate")
        self.evict("nested", "s", "t2", "n2", "trimmed", f"message:{message_key('user', 'summarise')}")
        self.say("c5", "t2", "answer", "It works.", self.said(80, "c4"), result(90, "call-3", "source:https://x"))
        self.agent("agent3", "s", "t3", "read it again")
        self.say("fork", "t3", "answer", "Linted.", USER, added(70, "user", "now lint it"), lineage="F")
        self.say("c6", "t3", "call read_file", "", *evicted(90), added(91, "tool", "cleared", **STUB), self.said(95, "c5"))
        self.evict("clear", "s", "t3", "c6", "cleared", "result:call-3", "source:https://x")
        self.tool("read2", "s", "t3", "read_file", touch("read", "a.md"), tool_call_id="call-5", output_summary="expr := term")
        self.say("c7", "t3", "answer", "Read.", self.said(100, "c6"), result(110, "call-5", "file:a.md"))
        self.say("other", "u1", "answer", "Hi.", USER, session="o", lineage="O")

    def say(self, label: str, turn: str, choice: str, text: str, *changes: dict[str, Any], **more: Any) -> None:
        fields = {"session": "s", "lineage": "L", "choice": choice, "output_summary": text, **more}
        self.chat(label, turn=turn, context=changes, **fields)

    def said(self, at: int, label: str, *keys: str) -> dict[str, Any]:
        """What a model call of this process said, as a message: its label stands for its text."""
        return added(at, "assistant", label, **{"from": self.spans[label]}, keys=[f"decision:{self.spans[label]}", *keys])


class Second(First):
    """Another process that goes on with less: the first question, and the answer of turn 1, whoever gave it."""

    def whole(self) -> None:
        self.agent("agent4", "s", "t4", "go on")
        self.say("d1", "t4", "answer", "Going on.", *SHORTER, lineage="M")
        self.say("d2", "t4", "answer", "Gone.", added(40, "user", "more"), lineage="M")


USER = added(10, "user", "write a parser")
SHORTER = (added(-5, "system", "be kind"), USER, added(20, "assistant", "c3"), added(30, "user", "go on"))


def result(at: int, call: str, *keys: str) -> dict[str, Any]:
    return added(at, "tool", call, call=call, keys=[f"result:{call}", *keys])


class Answers:
    def __init__(self, db: duckdb.DuckDBPyConnection, *stories: Story) -> None:
        self._db = db
        self.labels = {commit: label for story in stories for label, commit in story.ids.items()}
        self.spans = {span: label for story in stories for label, span in story.spans.items()}
        texts = ("write a parser", "now test it", "summarise", "again", "now lint it", "go on", "more")
        self.texts = {message_key("user", text): text for text in texts}
        self.texts |= {message_key("assistant", label): f"said in {label}" for label in stories[0].spans}

    def __call__(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows with the story's own words where they have ids, span ids and keys of messages."""
        names = self.labels | self.spans | self.texts
        return [tuple(names.get(value, value) for value in row) for row in self._db.execute(statement).fetchall()]


@pytest.fixture(scope="module", params=["journals", "store", "half of each"])
def ask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    settings = Settings(directory=Path(tmp_path_factory.mktemp("contexts")))
    first = First(settings)
    first.first_half()
    if request.param == "half of each":
        load(settings, patience=1)
    first.second_half()
    second = Second(settings, after=100)
    second.whole()
    if request.param == "store":
        load(settings, patience=1)
    with Store(settings).reading() as db:
        yield Answers(db, first, second)
    first.writer.close()
    second.writer.close()


def test_message_sources(ask: Answers) -> None:
    found = "select position, commit_id, turn, tool, summary from message_sources where session_id = 's' and lineage = 'L'"
    assert ask(f"{found} and position in (20, 30, 40, 91) order by position") == [
        (20, "c1", 1, "", "call read_file - First the grammar."),
        (30, "read1", 1, "read_file", "expr := term"),
        (40, "c2", 1, "", "call write_file"),
        (91, "fetch", 2, "fetch", "a page"),
    ]


def test_message_sources_of_ids_that_come_again(tmp_path: Path) -> None:
    settings = Settings(directory=tmp_path)
    story = First(settings)
    for number in (1, 2):
        story.tool(f"run{number}", "s", f"t{number}", "run", tool_call_id="call-0", output_summary=f"result {number}")
        story.say(f"c{number}", f"t{number}", "answer", "", added(number * 10, "tool", f"result {number}", call="call-0"))
    with Store(settings).reading() as db:
        assert db.execute("select position, commit_id, summary from message_sources order by 1").fetchall() == [
            (10, story.ids["run1"], "result 1"),
            (20, story.ids["run2"], "result 2"),
        ]
        assert db.execute("select summary, introduced_in from context_messages order by position").fetchall() == [
            ("result 1", 1),
            ("result 2", 2),
        ]
    story.writer.close()


def test_context_messages(ask: Answers) -> None:
    columns = "position, role, tool_call_id, tool_commit, decision_commit, tool, summary, introduced_in"
    interval = "added_commit, added_turn, evicted_commit, evicted_turn"
    assert ask(f"select {columns}, {interval} from context_messages where session_id = 's' and lineage = 'L' order by 1") == [
        (-5, "system", "", "", "", "", "be brief", 1, "c1", 1, "", 0),
        (10, "user", "", "", "", "", "write a parser", 1, "c1", 1, "", 0),
        (20, "assistant", "", "", "c1", "", "call read_file - First the grammar.", 1, "c2", 1, "c4", 2),
        (30, "tool", "call-1", "read1", "", "read_file", "expr := term", 1, "c2", 1, "c4", 2),
        (40, "assistant", "", "", "c2", "", "call write_file", 1, "c3", 1, "", 0),
        (50, "tool", "call-2", "write1", "", "write_file", "wrote it", 1, "c3", 1, "", 0),
        (60, "assistant", "", "", "c3", "", "Done.", 1, "c4", 2, "", 0),
        (70, "user", "", "", "", "", "now test it", 2, "c4", 2, "", 0),
        (80, "assistant", "", "", "c4", "", "call fetch", 2, "c5", 2, "", 0),
        (90, "tool", "call-3", "fetch", "", "fetch", "a page", 2, "c5", 2, "c6", 3),
        (91, "tool", "call-3", "fetch", "", "fetch", "", 2, "c6", 3, "", 0),
        (95, "assistant", "", "", "c5", "", "It works.", 2, "c6", 3, "", 0),
        (100, "assistant", "", "", "c6", "", "call read_file", 3, "c7", 3, "", 0),
        (110, "tool", "call-5", "read2", "", "read_file", "expr := term", 3, "c7", 3, "", 0),
    ]
    resumed = "select position, decision_commit, summary, introduced_in, added_turn from context_messages where lineage = 'M'"
    assert ask(f"{resumed} order by position") == [
        (-5, "", "be kind", 4, 4),
        (10, "", "write a parser", 1, 4),
        (20, "c3", "Done.", 1, 4),
        (30, "", "go on", 4, 4),
        (40, "", "more", 4, 4),
    ]
    times = "select added_ns, evicted_ns from context_messages where session_id = 's' and message_hash = "
    starts = ask("select commit_id, started_ns from commits where lineage <> ''")
    start = dict(starts)
    assert ask(f"{times}'{message_hash('assistant', 'c1')}'") == [(start["c2"], start["c4"])]
    assert ask(f"{times}'{message_hash('user', 'now test it')}'") == [(start["c4"], NEVER)]


def test_context_entries(ask: Answers) -> None:
    found = "select position, kind, key from context_entries where session_id = 's' and lineage = 'L' and position in"
    assert ask(f"{found} (10, 20, 30, 90, 91) order by position, kind") == [
        (10, "message", "write a parser"),
        (20, "decision", "c1"),
        (20, "file", "a.md"),
        (20, "message", "said in c1"),
        (30, "file", "a.md"),
        (30, "result", "call-1"),
        (90, "result", "call-3"),
        (90, "source", "https://x"),
        (91, "result", "call-3"),
    ]


def test_lineages(ask: Answers) -> None:
    assert ask("select lineage, depth, is_nested from lineages('s') order by started_ns") == [
        ("L", 0, 0),
        ("N", 1, 1),
        ("F", 0, 0),
        ("M", 0, 0),
    ]
    assert ask("select lineage, is_nested from lineages('o')") == [("O", 0)]
    assert ask("from lineages('missing')") == []


def test_resumptions(ask: Answers) -> None:
    assert ask("select session_id, lineage, resumed_lineage, turn, commit_id from resumptions") == [("s", "M", "L", 4, "d1")]


TRIMMED = [
    ("message", "said in c1", "call read_file - First the grammar.", "assistant", "", "c1", 1, "transient"),
    ("decision", "c1", "call read_file - First the grammar.", "assistant", "", "c1", 1, "durable"),
    ("result", "call-1", "expr := term", "tool", "read_file", "read1", 1, "transient"),
    ("file", "a.md", "read by read_file", "tool", "read_file", "read1", 1, "durable"),
]
CLEARED = [
    ("result", "call-3", "a page", "tool", "fetch", "fetch", 2, "transient"),
    ("source", "https://x", "fetch by fetch", "tool", "fetch", "fetch", 2, "transient"),
]
LOST_AT_RESTART = [
    ("decision", "c2", "call write_file", "assistant", "", "c2", 1, "durable"),
    ("decision", "c4", "call fetch", "assistant", "", "c4", 2, "durable"),
    ("decision", "c5", "It works.", "assistant", "", "c5", 2, "durable"),
    ("decision", "c6", "call read_file", "assistant", "", "c6", 3, "durable"),
    ("file", "a.md", "read by read_file", "tool", "read_file", "read2", 3, "durable"),
    ("file", "p.py", "write by write_file", "tool", "write_file", "write1", 1, "durable"),
    ("message", "now test it", "now test it", "user", "", "", 2, "transient"),
    ("message", "said in c2", "call write_file", "assistant", "", "c2", 1, "transient"),
    ("message", "said in c4", "call fetch", "assistant", "", "c4", 2, "transient"),
    ("message", "said in c5", "It works.", "assistant", "", "c5", 2, "transient"),
    ("message", "said in c6", "call read_file", "assistant", "", "c6", 3, "transient"),
    ("result", "call-2", "wrote it", "tool", "write_file", "write1", 1, "transient"),
    ("result", "call-3", "a page", "tool", "fetch", "fetch", 2, "transient"),
    ("result", "call-5", "expr := term", "tool", "read_file", "read2", 3, "transient"),
]


def test_session_flags(ask: Answers) -> None:
    assert ask("from session_flags") == [("s", 3, 0)], "trimmed, trimmed in a nested call, and cleared"


def test_evictions(ask: Answers) -> None:
    what = "kind, key, summary, role, tool, source_commit, introduced_in, tier"

    def left(where: str, order: str) -> list[tuple[Any, ...]]:
        return ask(f"select {what} from evictions where session_id = 's' and {where} order by {order}")

    assert ask("select session_id, turn, commit_id, reason, lineage, count(*) from evictions group by all order by 2, 5") == [
        ("s", 2, "trim", "trimmed", "L", 4),
        ("s", 2, "nested", "trimmed", "N", 1),
        ("s", 3, "clear", "cleared", "L", 2),
        ("s", 4, "d1", "resumed", "M", 14),
    ]
    assert left("turn = 2 and lineage = 'L'", "sequence") == TRIMMED
    assert left("turn = 3", "sequence") == CLEARED
    assert sorted(left("turn = 4", "sequence")) == LOST_AT_RESTART
    times = "select count(*) from evictions as e join commits as c using (session_id, commit_id) where e.evicted_at "
    assert ask(
        f"{times} = case when c.kind = 'eviction' then c.committed_at else make_timestamp(c.started_ns // 1000) end"
    ) == [(21,)]


def test_context_at(ask: Answers) -> None:
    def seen(turn: int) -> list[tuple[Any, ...]]:
        return ask(f"select position, role, key, summary, tool, turn, source_commit from context_at('s', {turn}) order by 1")

    def numbered(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return [(number, *row) for number, row in enumerate(rows, 1)]

    start = [
        ("system", message_key("system", "be brief"), "be brief", "", 1, ""),
        ("user", "write a parser", "write a parser", "", 1, ""),
    ]
    said_in_1 = [
        ("assistant", "said in c2", "call write_file", "", 1, "c2"),
        ("tool", message_key("tool", "call-2"), "wrote it", "write_file", 1, "write1"),
    ]
    assert seen(1) == numbered(
        *start,
        ("assistant", "said in c1", "call read_file - First the grammar.", "", 1, "c1"),
        ("tool", message_key("tool", "call-1"), "expr := term", "read_file", 1, "read1"),
        *said_in_1,
    )
    assert seen(2) == numbered(
        *start,
        *said_in_1,
        ("assistant", "said in c3", "Done.", "", 1, "c3"),
        ("user", "now test it", "now test it", "", 2, ""),
        ("assistant", "said in c4", "call fetch", "", 2, "c4"),
        ("tool", message_key("tool", "call-3"), "a page", "fetch", 2, "fetch"),
    )
    assert [row[0] for row in seen(3)] == list(range(1, 12))
    assert [row[3] for row in seen(4)] == ["be kind", "write a parser", "Done.", "go on", "more"]
    which = "select distinct lineage, commit_id from context_at"
    assert [ask(f"{which}('s', {turn})") for turn in (1, 2, 3, 4)] == [
        [("L", "c3")],
        [("L", "c5")],
        [("L", "c7")],
        [("M", "d2")],
    ]
    assert ask("from context_at('s', 5)") == ask("from context_at('missing', 1)") == []


def test_context_at_of_a_turn_whose_model_calls_all_run_in_tools(tmp_path: Path) -> None:
    settings = Settings(directory=tmp_path)
    story = First(settings)
    story.tool("serve", "s", "t1", "serve")
    story.say("c1", "t1", "answer", "Hi.", USER, inside="serve")
    story.tool("ask", "s", "t1", "ask", inside="c1")
    story.say("n1", "t1", "answer", "Ho.", added(10, "user", "deeper"), lineage="N", inside="ask")
    with Store(settings).reading() as db:
        assert db.execute("select lineage, depth, is_nested from lineages('s') order by 1").fetchall() == [
            ("L", 1, 0),
            ("N", 2, 1),
        ]
        assert db.execute("select summary, lineage from context_at('s', 1)").fetchall() == [("write a parser", "L")]
    story.writer.close()


def test_out_of_context(ask: Answers) -> None:
    def out(turn: int) -> list[tuple[Any, ...]]:
        rows = ask(f"select kind, key, turn, introduced_in, reason, commit_id from out_of_context('s', {turn})")
        return sorted(rows, key=str)

    trimmed = [
        ("decision", "c1", 2, 1, "trimmed", "trim"),
        ("file", "a.md", 2, 1, "trimmed", "trim"),
        ("message", "said in c1", 2, 1, "trimmed", "trim"),
        ("result", "call-1", 2, 1, "trimmed", "trim"),
    ]
    cleared = [("result", "call-3", 3, 2, "cleared", "clear"), ("source", "https://x", 3, 2, "cleared", "clear")]
    read_again = trimmed[1]
    assert out(1) == []
    assert out(2) == trimmed
    assert out(3) == sorted([row for row in trimmed + cleared if row != read_again], key=str)
    at_restart = [(kind, key, 4, since, "resumed", "d1") for kind, key, _, _, _, _, since, _ in LOST_AT_RESTART]
    still_out = [row for row in out(3) if row[:2] != ("result", "call-3")]
    assert out(4) == sorted(at_restart + still_out, key=str)


def test_an_evicted_entry_leaves_the_state_only_if_it_is_transient(tmp_path: Path) -> None:
    settings = Settings(directory=tmp_path)
    story = Story(settings)
    source = change("source", "https://x", "", action="fetch", evidence="declared")
    story.note("set", "s", "t1", touch("write", "p.py", "h1"), source, change("decision", "db", "sqlite"))
    entries = (("file", "p.py"), ("source", "https://x"), ("decision", "db"))
    story.note("gone", "s", "t2", *(change(kind, key, "", "evict") for kind, key in entries))
    with Store(settings).reading() as db:
        kept = "select kind, key, value, turn from"
        durable = [("decision", "db", "sqlite", 1), ("file", "p.py", "h1", 1)]
        assert db.execute(f"{kept} state order by kind").fetchall() == durable
        assert db.execute(f"{kept} state_at('s', 2) order by kind").fetchall() == durable
        assert db.execute(f"{kept} state_at('s', 1) order by kind").fetchall() == [*durable, ("source", "https://x", "", 1)]
        changed = "select kind, key, change, turn, commit_id from"
        removed = [("source", "https://x", "removed", 2, story.ids["gone"])]
        assert db.execute(f"{changed} turn_diffs where turn = 2").fetchall() == removed
        assert db.execute(f"{changed} turn_diff('s', 1, 2)").fetchall() == removed
        told = "select kind, summary, introduced_in, reason, lineage from"
        assert db.execute(f"{told} evictions order by kind").fetchall() == [
            ("decision", "sqlite", 1, "", ""),
            ("file", "write", 1, "", ""),
            ("source", "fetch", 1, "", ""),
        ]
        assert db.execute("select key from out_of_context('s', 2) order by key").fetchall() == [
            ("db",),
            ("https://x",),
            ("p.py",),
        ]
    story.writer.close()


def test_unresolved_failures(tmp_path: Path) -> None:
    settings = Settings(directory=tmp_path)
    story = Story(settings)
    failed = {"outcome": "error", "error_type": "E", "status_message": "no"}
    story.tool("again", "s", "t1", "fetch", input_hash="h1", **failed)
    story.tool("never", "s", "t1", "fetch", input_hash="h2", **failed)
    story.chat("busy", "s", "t1", input_hash="h3", **failed)
    story.tool("twice", "s", "t1", "run", input_hash="h1", **failed)
    story.tool("better", "s", "t2", "fetch", input_hash="h1")
    story.chat("fine", "s", "t2", input_hash="h4")
    story.tool("thrice", "s", "t2", "run", input_hash="h1", **{**failed, "outcome": "timeout"})
    story.chat("down", "o", "t3", input_hash="h4", **failed)
    with Store(settings).reading() as db:
        columns = "commit_id, session_id, turn, kind, tool, outcome, error, error_message, input_hash"
        assert db.execute(f"select {columns} from unresolved_failures order by failed_ns").fetchall() == [
            (story.ids["never"], "s", 1, "tool", "fetch", "error", "E", "no", "h2"),
            (story.ids["thrice"], "s", 2, "tool", "run", "timeout", "E", "no", "h1"),
            (story.ids["down"], "o", 1, "decision", "", "error", "E", "no", "h4"),
        ]
    story.writer.close()
