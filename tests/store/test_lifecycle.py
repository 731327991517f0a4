"""The lifecycle of sessions, how each stands, and what is open in it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest

from store.story import SECOND, START, Story, added, change
from turnlog.errors import IllegalTransition
from turnlog.journal.transition import transition_row
from turnlog.journal.writer import JournalWriter
from turnlog.semconv import LifecycleState
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load
from turnlog.transitions import LEGAL, refuse_illegal

Rows = list[tuple[Any, ...]]
Ask = Callable[[str], Rows]


class Life(Story):
    def say(self, label: str, session: str, state: str, turn: str = "", **fields: Any) -> None:
        self.span(label, session, turn, commit_kind="lifecycle", lifecycle_state=state, **fields)

    def die(self, settings: Settings, seconds: int) -> None:
        """The process is gone; so many seconds into the story it wrote for the last time."""
        self.writer.close()
        (journal,) = settings.journals.glob(f"{self.writer.process.id}.*")
        os.utime(journal, ns=(START, START + seconds * SECOND))
        load(settings, patience=1)


@pytest.fixture(params=["journals", "store", "some of each"])
def tell(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Callable[..., Ask]]:
    """Tell a story in steps, which are loaded or not, and ask about it."""
    with_db: list[Any] = []

    def telling(*steps: Callable[[], object]) -> Ask:
        for step in steps:
            step()
            if request.param == "some of each":
                load(settings, patience=1)
        if request.param == "store":
            load(settings, patience=1)
        reading = Store(settings).reading()
        db = reading.__enter__()
        with_db.append(reading)
        return lambda statement: db.execute(statement).fetchall()

    yield telling
    for reading in with_db:
        reading.__exit__(None, None, None)


@contextmanager
def asking(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    with Store(settings).reading() as db:
        yield db


def statuses(ask: Ask) -> dict[str, tuple[str, bool]]:
    return {name: (status, pinned) for name, status, pinned in ask("select session_id, status, pinned from sessions")}


def test_lifecycle(tell: Callable[..., Ask], settings: Settings) -> None:
    life = Life(settings)
    ask = tell(
        lambda: life.say("opened", "s", "open"),
        lambda: life.agent("agent1", "s", "t1", "go"),
        lambda: life.say("paused", "s", "paused", "t1", pause_reason="human_input"),
        lambda: life.span("pinned", "s", "", commit_kind="lifecycle", pinned=True),
        lambda: life.say("too early", "s", "archived"),
        lambda: life.agent("agent2", "s", "t2", "yes"),
        lambda: life.say("resumed", "s", "resumed", "t2"),
        lambda: life.say("again", "s", "resumed", "t2"),
        lambda: life.say("entered", "s", "open"),
        lambda: life.say("closed", "s", "closed"),
        lambda: life.say("archived", "s", "archived"),
        lambda: life.say("too late", "s", "resumed"),
    )
    columns = "commit_id, turn, state, previous_state, reason, pinned, effect"
    assert ask(f"select {columns} from lifecycle order by changed_ns") == [
        (life.ids["opened"], 0, "open", "open", "", "", "unchanged"),
        (life.ids["paused"], 1, "paused", "open", "human_input", "", "applied"),
        (life.ids["pinned"], 1, "", "paused", "", "true", "applied"),
        (life.ids["too early"], 1, "archived", "paused", "", "", "refused"),
        (life.ids["resumed"], 2, "resumed", "paused", "", "", "applied"),
        (life.ids["again"], 2, "resumed", "resumed", "", "", "unchanged"),
        (life.ids["entered"], 2, "open", "resumed", "", "", "unchanged"),
        (life.ids["closed"], 2, "closed", "resumed", "", "", "applied"),
        (life.ids["archived"], 2, "archived", "closed", "", "", "applied"),
        (life.ids["too late"], 2, "resumed", "archived", "", "", "refused"),
    ]
    assert statuses(ask) == {"s": ("archived", True)}
    said = ask("select turn, lifecycle_state, pause_reason, pinned from commits where kind = 'lifecycle' order by started_ns")
    assert said[:3] == [(0, "open", "", ""), (1, "paused", "human_input", ""), (1, "", "", "true")]
    assert ask("select turns from sessions") == [(2,)]


@pytest.mark.parametrize("worked", [False, True], ids=["at once", "after a turn"])
def test_sql_and_python_agree_on_what_may_follow(worked: bool, settings: Settings) -> None:
    life = Life(settings)
    ways: dict[LifecycleState, tuple[LifecycleState, ...]] = {
        LifecycleState.OPEN: (LifecycleState.OPEN,),
        LifecycleState.ACTIVE: (LifecycleState.ACTIVE,),
        LifecycleState.PAUSED: (LifecycleState.PAUSED,),
        LifecycleState.RESUMED: (LifecycleState.PAUSED, LifecycleState.RESUMED),
        LifecycleState.CLOSED: (LifecycleState.CLOSED,),
        LifecycleState.ARCHIVED: (LifecycleState.CLOSED, LifecycleState.ARCHIVED),
    }
    assert set(ways) == set(LEGAL) == set(LifecycleState)
    expected = {}
    for before, after in itertools.product(LifecycleState, LifecycleState):
        name = f"{before} {after}"
        for state in ways[before]:
            life.say(f"{name} {state}", name, state)
        if worked:
            life.agent(f"{name} agent", name, f"{name} turn", "go")
        life.say(name, name, after)
        try:
            refuse_illegal(name, before, after, worked)
            expected[name] = "applied"
        except IllegalTransition:
            expected[name] = "unchanged" if after in (before, LifecycleState.OPEN) else "refused"
    with asking(settings) as db:
        effects = dict(db.execute("select commit_id, effect from lifecycle").fetchall())
    assert {name: effects[life.ids[name]] for name in expected} == expected
    assert set(expected.values()) == {"applied", "unchanged", "refused"}


def test_a_turn_makes_a_session_active_whatever_was_said(tell: Callable[..., Ask], settings: Settings) -> None:
    life = Life(settings)

    def said_and_done(session: str, state: str) -> None:
        life.agent(f"{session}1", session, f"{session}1", "go")
        life.say(f"{session}2", session, state)
        life.agent(f"{session}3", session, f"{session}3", "go on")

    ask = tell(
        lambda: said_and_done("after pause", "paused"),
        lambda: said_and_done("after end", "closed"),
        lambda: life.say("end again", "after end", "paused"),
    )
    assert statuses(ask) == {"after pause": ("idle", False), "after end": ("paused", False)}


def test_a_session_is_open_until_its_first_turn(tell: Callable[..., Ask], settings: Settings) -> None:
    life = Life(settings)
    ask = tell(
        lambda: life.say("a", "entered", "open"),
        lambda: life.say("b", "entered and used", "open"),
        lambda: life.agent("c", "entered and used", "t", "go"),
        lambda: life.say("d", "unpinned", "open"),
        lambda: life.span("e", "unpinned", "", commit_kind="lifecycle", pinned=True),
        lambda: life.span("f", "unpinned", "", commit_kind="lifecycle", pinned=False),
        lambda: life.span("request", "plain spans only", ""),
    )
    assert statuses(ask) == {
        "entered": ("open", False),
        "entered and used": ("idle", False),
        "unpinned": ("open", False),
    }


def test_active_idle_and_dead_are_told_apart(settings: Settings) -> None:
    dying, living = Life(settings), Life(settings, after=100)
    for session in ("dead", "closed", "taken over", "pinned"):
        dying.agent(f"{session} agent", session, f"{session} 1", "go")
        dying.span(f"{session} call", session, f"{session} 1", ends=False, operation="execute_tool", tool="run_tests")
    dying.agent("done", "ended well", "w", "go")
    dying.die(settings, 20)
    living.agent("takes over", "taken over", "o", "go")
    living.agent("waits", "idle", "i", "go")
    living.span("works", "active", "a", ends=False, operation="execute_tool", tool="run_tests")
    for session, words in {"closed": {"state": "closed"}, "pinned": {"pinned": True}}.items():
        say(settings, session, **words)
    with asking(settings) as db:
        found = statuses(lambda statement: db.execute(statement).fetchall())
    assert found == {
        "dead": ("dead", False),
        "closed": ("closed", False),
        "taken over": ("idle", False),
        "pinned": ("dead", True),
        "ended well": ("idle", False),
        "idle": ("idle", False),
        "active": ("active", False),
    }


def say(settings: Settings, session: str, **words: Any) -> None:
    writer = JournalWriter(settings)
    assert writer.append(transition_row(session, **words))
    writer.close()


def test_a_process_that_was_taken_for_dead_and_goes_on_is_not(settings: Settings) -> None:
    life = Life(settings)
    life.agent("agent", "s", "t", "go")
    life.span("call", "s", "t", ends=False, operation="execute_tool", tool="run_tests")
    life.die(settings, 10)
    with asking(settings) as db:
        assert db.execute("select status from sessions").fetchall() == [("dead",)]
        assert db.execute("select status from pending_actions").fetchall() == [("interrupted",)]
    life._count -= 1
    life.span("call", "s", "t", operation="execute_tool", tool="run_tests", commit_kind="tool")
    for _ in ("from the journal", "from the store"):
        with asking(settings) as db:
            assert db.execute("select status from sessions").fetchall() == [("idle",)]
            assert db.execute("from pending_actions").fetchall() == []
        load(settings, patience=1)
    life.writer.close()


OPEN_WORK = "select status, turn, action_id, action, ran_ms from pending_actions where session_id = 's' order by since_ns"


def test_an_interrupted_call_is_open_work_until_somebody_repeats_it(settings: Settings) -> None:
    dying = Life(settings)
    dying.agent("agent", "s", "t1", "go")
    running: dict[str, Any] = {"ends": False, "operation": "execute_tool"}
    dying.span("again", "s", "t1", tool="run_tests", **running)
    dying.span("never", "s", "t1", tool="deploy", **running)
    dying.span("model", "s", "t1", ends=False, operation="chat", request_model="m")
    dying.die(settings, 10)
    with asking(settings) as db:
        assert db.execute(OPEN_WORK).fetchall() == [
            ("interrupted", 1, dying.ids["again"], "run_tests", 8000.0),
            ("interrupted", 1, dying.ids["never"], "deploy", 7000.0),
            ("interrupted", 1, dying.ids["model"], "m", 6000.0),
        ]
        lasted = db.execute("select tool, duration_ms from failures order by failed_ns, duration_ms desc").fetchall()
    assert lasted == [("run_tests", 8000.0), ("deploy", 7000.0), ("", 6000.0)]
    again = Life(settings, after=20)
    again.agent("agent2", "s", "t2", "go on")
    again.chat("chat2", "s", "t2")
    again.tool("again2", "s", "t2", "run_tests", outcome="error")
    again.tool("other input", "s", "t2", "deploy", input_hash="sha256:other")
    with asking(settings) as db:
        assert db.execute(OPEN_WORK).fetchall() == [("interrupted", 1, dying.ids["never"], "deploy", 7000.0)]
    again.writer.close()


def test_a_call_that_was_asked_for_and_has_not_begun_is_queued(tell: Callable[..., Ask], settings: Settings) -> None:
    life = Life(settings)
    asked: dict[str, Any] = {"choice": "call read_file", "lineage": "L", "calls": [f"read_file c{n}" for n in (1, 2, 3, 4)]}
    ask = tell(
        lambda: life.agent("agent", "s", "t1", "go"),
        lambda: life.chat("old", "s", "t1", choice="call read_file", lineage="L", calls=["read_file c0"]),
        lambda: life.chat("asks", "s", "t1", **asked),
        lambda: life.tool("done", "s", "t1", "read_file", tool_call_id="c1"),
        lambda: life.span("runs", "s", "t1", ends=False, operation="execute_tool", tool="read_file", tool_call_id="c2"),
        lambda: life.chat("elsewhere", "s", "t1", lineage="M", context=[added(0, "tool", "by hand", call="c3")]),
        lambda: life.note("note", "s", "t1", change("fact", "f", "v")),
    )
    assert [row[:4] for row in ask(OPEN_WORK)] == [
        ("queued", 1, "c4", "read_file"),
        ("in_flight", 1, life.ids["runs"], "read_file"),
    ]


def test_nothing_is_queued_once_the_conversation_went_on(tell: Callable[..., Ask], settings: Settings) -> None:
    life = Life(settings)
    ask = tell(
        lambda: life.chat("asks", "s", "t1", choice="call a", lineage="L", calls=["a c1"]),
        lambda: life.chat("goes on", "s", "t1", choice="answer", lineage="L"),
        lambda: life.chat("asks again", "s", "t1", choice="call a", lineage="L", calls=["a c2"]),
        lambda: life.agent("next turn", "s", "t2", "never mind"),
    )
    assert ask(OPEN_WORK) == []
