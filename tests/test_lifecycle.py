"""`with turnlog.session(...) as s`: the id of the session, and what can be said of its lifecycle with it."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnlog
from programs import run, run_code, running_code
from turnlog import queries
from turnlog.settings import Settings


@pytest.fixture
def directory(tmp_path: Path, made_here: None) -> Iterator[Path]:
    turnlog.init(directory=tmp_path, instrument=False)
    yield tmp_path
    turnlog.shutdown()


def said(directory: Path, session: str) -> list[tuple[int, str, str, str]]:
    """Turn, state, reason and effect, oldest first."""
    with queries.reading(Settings(directory=directory)) as db:
        return [(row.turn, row.state, row.reason, row.effect) for row in reversed(queries.lifecycle(db, session))]


def status(directory: Path, session: str) -> str:
    with queries.reading(Settings(directory=directory)) as db:
        return queries.session_of(db, session).status


def test_the_handle_is_the_id(directory: Path) -> None:
    with turnlog.session("s") as s, turnlog.turn("x"):
        assert (s, f"{s}", s + "!", isinstance(s, str)) == ("s", "s", "s!", True)
    with turnlog.session(4711) as number:
        assert number == "4711"
    with turnlog.session() as new:
        assert len(new) == 36


def test_a_session_is_paused_resumed_and_closed_by_commits(directory: Path) -> None:
    with turnlog.session("s") as s:
        with turnlog.turn("x"):
            assert status(directory, "s") == "active"
        assert status(directory, "s") == "idle"
        s.pause("human_input")
        assert status(directory, "s") == "paused"
        s.resume()
        assert status(directory, "s") == "idle"
        with turnlog.turn("y"):
            s.pause("a colleague has api_key=sk-0123456789abcdef0123")
    s.close()
    assert status(directory, "s") == "closed"
    assert said(directory, "s") == [
        (1, "paused", "human_input", "applied"),
        (1, "resumed", "", "applied"),
        (2, "paused", "a colleague has api_key=[REDACTED:api_key]", "applied"),
        (2, "closed", "", "applied"),
    ]
    with queries.reading(Settings(directory=directory)) as db:
        logged = [(commit.turn, commit.kind, commit.lifecycle_state) for commit in queries.log(db, "s")]
        assert queries.session_of(db, "s").turns == 2
    assert logged == [
        (2, "lifecycle", "closed"),
        (2, "lifecycle", "paused"),
        (1, "lifecycle", "resumed"),
        (1, "lifecycle", "paused"),
    ]


def test_what_is_said_before_the_first_turn_is_in_turn_0_and_begins_none(directory: Path) -> None:
    with turnlog.session("s") as s:
        s.pause("tea")
        assert (status(directory, "s"), said(directory, "s")) == ("paused", [(0, "paused", "tea", "applied")])
        with turnlog.turn("x"):
            pass
    with queries.reading(Settings(directory=directory)) as db:
        found = queries.session_of(db, "s")
        (commit,) = queries.log(db, "s")
    assert (found.status, found.turns, commit.turn, commit.lifecycle_state) == ("idle", 1, 0, "paused")
    shown = run(sys.executable, "-m", "turnlog", "show", commit.commit_id, directory=directory).stdout
    logged = run(sys.executable, "-m", "turnlog", "log", directory=directory).stdout.splitlines()
    assert "turn       0  before the first" in shown
    assert (logged[1], logged[2].endswith("lifecycle  paused - tea")) == ("turn 0  before the first", True)


def test_entering_a_session_says_nothing(directory: Path) -> None:
    with turnlog.session("s"):
        pass
    with queries.reading(Settings(directory=directory)) as db:
        assert queries.sessions(db) == []


def test_saying_the_present_state_again_is_no_news(directory: Path) -> None:
    with turnlog.session("s") as s:
        s.pause("one")
        s.pause("two")
        s.close()
        s.close()
    assert [row[1] for row in said(directory, "s")] == ["paused", "closed"]


def test_what_may_not_follow_is_refused_with_what_may(directory: Path) -> None:
    with turnlog.session() as s:
        with pytest.raises(turnlog.IllegalTransition) as at_first:
            s.resume()
        s.close()
        with pytest.raises(turnlog.TurnlogError) as at_last:
            s.pause()
    assert str(at_first.value) == f"session {s} is open and cannot become resumed. Next can be: paused or closed."
    assert str(at_last.value) == f"session {s} is closed and cannot become paused. Next can be: resumed or archived."
    assert [row[1] for row in said(directory, s)] == ["closed"]


def test_a_turn_needs_no_word(directory: Path) -> None:
    with turnlog.session("s") as s:
        s.close()
        with turnlog.turn("after all"):
            s.pause("human_input")
        with turnlog.turn("an answer"):
            s.resume()
    assert [row[:2] + row[3:] for row in said(directory, "s")] == [
        (0, "closed", "applied"),
        (1, "paused", "applied"),
        (2, "resumed", "applied"),
    ]


def test_of_another_process_nothing_is_known_and_sql_decides(tmp_path: Path) -> None:
    first = "import turnlog; turnlog.init(instrument=False)\nwith turnlog.session('s') as s, turnlog.turn('x'): s.pause('tea')"
    second = "import turnlog; turnlog.init(instrument=False)\nwith turnlog.session('s') as s: s.resume()"
    third = second.replace("resume()", "pause('supper'); s.resume()")
    for code in (first, second, second, third):
        run_code(code, tmp_path)
    assert said(tmp_path, "s") == [
        (1, "paused", "tea", "applied"),
        (1, "resumed", "", "applied"),
        (1, "resumed", "", "unchanged"),
        (1, "paused", "supper", "applied"),
        (1, "resumed", "", "applied"),
    ]
    with queries.reading(Settings(directory=tmp_path)) as db:
        assert queries.session_of(db, "s").turns == 1


def test_without_init_nothing_is_recorded_and_nothing_breaks(tmp_path: Path) -> None:
    code = "import turnlog\nwith turnlog.session('s') as s:\n  s.pause('x'); s.resume(); s.close()\nprint(s)"
    assert run_code(code, tmp_path).stdout == "s\n"
    assert list(tmp_path.iterdir()) == []


def test_the_lifecycle_is_kept_in_bounded_memory(directory: Path) -> None:
    from turnlog import transitions

    for number in range(10_050):
        transitions.entered(f"s{number}", "paused")
    assert len(transitions._known) == 4096
    transitions.entered("odd", "no such state")
    assert "odd" not in transitions._known


_KILLED = """
import time, turnlog

turnlog.init(instrument=False)

@turnlog.tool
def run_tests(suite):
    print("running", flush=True)
    time.sleep(600)

with turnlog.session("doomed"), turnlog.turn("please run the tests"):
    run_tests("all")
"""


def test_after_kill_9_the_session_is_dead_and_the_call_interrupted_after_the_time_it_ran(tmp_path: Path) -> None:
    with running_code(_KILLED, tmp_path, TURNLOG_LOAD_INTERVAL="0.05") as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "running\n"
        time.sleep(0.6)
        with queries.reading(Settings(directory=tmp_path)) as db:
            (running,) = queries.pending(db, "doomed")
            assert queries.session_of(db, "doomed").status == "active"
        program.kill()
        program.communicate(timeout=60)
    assert (running.status, running.action, running.ran_ms >= 600) == ("in_flight", "run_tests", True)
    with queries.reading(Settings(directory=tmp_path)) as db:
        (interrupted,) = queries.pending(db, "doomed")
        (commit,) = queries.log(db, "doomed", kind="tool")
        assert queries.session_of(db, "doomed").status == "dead"
    assert (interrupted.status, interrupted.action, interrupted.commit_id) == ("interrupted", "run_tests", commit.commit_id)
    assert commit.duration_ms == interrupted.ran_ms >= 500
    shown = run(sys.executable, "-m", "turnlog", "state", directory=tmp_path).stdout
    assert re.search(rf"interrupted  turn 1  {commit.commit_id[:7]}  after at least \S+ m?s  run_tests\n", shown)


_KILLED_IN_PARALLEL = """
import time, turnlog

turnlog.init()

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

@tool
def run_tests(suite: str) -> str:
    "Run a test suite."
    print("running", flush=True)
    time.sleep(600)

calls = [ToolCall("run_tests", {"suite": suite}, suite) for suite in ("first", "second")]
with ScriptedModel([Reply("Both at once.", tool_calls=calls)]) as model, turnlog.session("doomed"):
    agent = create_agent(ChatOpenAI(model="m", base_url=model.base_url, api_key="none"), [run_tests])
    agent.invoke({"messages": [("user", "Run the tests.")]}, {"max_concurrency": 1})
"""


def test_a_parallel_call_that_never_began_is_queued_before_and_after_kill_9(tmp_path: Path) -> None:
    with running_code(_KILLED_IN_PARALLEL, tmp_path) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "running\n"
        before = open_work(tmp_path)
        program.kill()
        program.communicate(timeout=60)
    assert before == [("queued", "second", "run_tests"), ("in_flight", "", "run_tests")]
    assert open_work(tmp_path) == [("queued", "second", "run_tests"), ("interrupted", "", "run_tests")]


def open_work(directory: Path) -> list[tuple[str, str, str]]:
    """Status, call id and action of the session's open work, oldest first."""
    with queries.reading(Settings(directory=directory)) as db:
        found = queries.pending(db, "doomed")
    return [(row.status, row.action_id if row.status == "queued" else "", row.action) for row in found]
