"""What repeats over sessions: sequences, failing inputs, loops, costs, reversals; and two sessions compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from store.attempts import ANSWERS
from store.story import SECOND, START, change, touch
from store.test_retries import Asked
from turnlog import queries
from turnlog.errors import NotFound
from turnlog.settings import Settings
from turnlog.store.loader import load

FAILS = {"outcome": "error", "error_type": "ValueError", "status_message": "no such file", "output_hash": ""}


@pytest.fixture
def story(settings: Settings) -> Iterator[Asked]:
    told = Asked(settings)
    yield told
    told.writer.close()


def runs(story: Asked, session: str, turn: str, *tools: str, **fields: Any) -> None:
    for number, tool in enumerate(tools):
        story.tool(f"{session} {turn} {number}", session, turn, tool, **{"input_hash": f"to {tool}", **fields})


def test_tool_sequences(story: Asked) -> None:
    runs(story, "s", "t1", "read", "write", "test")
    runs(story, "s", "t2", "test")
    runs(story, "other", "t3", "read", "write", **FAILS)
    assert story.ask("select length, tools, times, sessions, failures from tool_sequences order by length, tools") == [
        (2, "read > write", 2, 2, 1),
        (2, "write > test", 1, 1, 0),
        (3, "read > write > test", 1, 1, 0),
    ]


def test_tool_failures(story: Asked) -> None:
    runs(story, "s", "t1", "read", "read", input_summary="plan.md")
    runs(story, "other", "t2", "read", input_summary="plan.md", **FAILS)
    runs(story, "other", "t3", "read", input_summary="plan.md", **{**FAILS, "outcome": "timeout", "status_message": "slow"})
    runs(story, "other", "t4", "write", "test")
    columns = "tool, input_summary, calls, failures, sessions, last_outcome, last_error, last_message, last_commit"
    assert story.ask(f"select {columns} from tool_failures") == [
        ("read", "plan.md", 4, 2, 2, "timeout", "ValueError", "slow", "other t3 0")
    ]


LOOPS = "select turn, tool, outcome, times, is_going_on, commit_id from loops order by tool, times"


def test_loops(story: Asked) -> None:
    runs(story, "s", "t1", "test", "test", **FAILS)
    assert story.ask(LOOPS) == []
    story.tool("once more", "s", "t1", "test", input_hash="to test", **FAILS)
    assert story.ask(LOOPS) == [(1, "test", "error", 3, 1, "once more")]


def test_calls_that_take_turns_are_loops_and_one_that_was_left_has_ended(story: Asked) -> None:
    runs(story, "s", "t1", *["read", "test"] * 4, output_hash="the same")
    assert [row[1:5] for row in story.ask(LOOPS)] == [("read", "ok", 4, 1), ("test", "ok", 4, 1)]
    runs(story, "s", "t2", "think", "write", "write again", output_hash="other")
    assert [row[1:5] for row in story.ask(LOOPS)] == [("read", "ok", 4, 0), ("test", "ok", 4, 1)]


def test_another_result_another_input_and_another_turn_make_no_loop(story: Asked) -> None:
    for number in range(3):
        story.tool(f"polls {number}", "s", "t1", "poll", input_hash="h", output_hash=f"{number} %")
        story.tool(f"reads {number}", "s", "t1", "read", input_hash=f"part {number}", output_hash="text")
        story.tool(f"tests {number}", "s", f"turn {number}", "test", input_hash="h", output_hash="ok")
    assert story.ask(LOOPS) == []


def test_a_loop_of_the_asked_session_only(story: Asked, settings: Settings) -> None:
    runs(story, "other", "t1", *["test"] * 3)
    load(settings, patience=1)
    with queries.reading(settings) as db:
        assert queries.loops(db, "s") == []
        assert [loop.times for loop in queries.loops(db, "other")] == [3]


def test_outcome_costs(story: Asked) -> None:
    story.run("t1")
    story.run("t2", answer={"outcome": "error", "error_type": "RateLimitError"})
    story.run("t3", prefix="longer")
    columns = "outcome, turns, sessions, tokens_in, tokens_out, tokens_per_turn, mean_ms, retries"
    assert story.ask(f"select {columns} from outcome_costs order by outcome") == [
        ("error", 1, 1, 30, 6, 36.0, 4500.0, 1),
        ("ok", 2, 1, 60, 12, 36.0, 4500.0, 0),
    ]


def test_times_add_up_in_whatever_order(story: Asked) -> None:
    def reads(session: str, turn: str, n: int) -> None:
        start = START + n * SECOND
        story.tool(f"{turn} {n}", session, turn, "read", start_ns=start, end_ns=start + n * 100_000)

    # 0.1 + 0.2 + 0.3 is not 0.6.
    for n in (1, 2, 3):
        reads("s", f"t{n}", n)
    assert story.ask("select mean_ms from outcome_costs") == [(0.2,)]
    for n in (1, 2, 3):
        reads("other", "t", n)
    assert story.ask("select mean_ms from tool_stats") == [(0.2,), (0.2,)]
    assert story.ask("select tool_ms from turn_bars where session_id = 'other'") == [(0.6,)]


def test_time_that_calls_share_is_counted_once(story: Asked) -> None:
    def at(second: float) -> int:
        return START + int(second * SECOND)

    story.span("asks", "s", "t", operation="invoke_agent", start_ns=at(0), end_ns=at(20))
    story.tool("delegates", "s", "t", "research", start_ns=at(1), end_ns=at(9))
    story.chat("thinks inside", "s", "t", choice="answer", start_ns=at(2), end_ns=at(5))
    story.chat("thinks beside", "s", "t", choice="answer", start_ns=at(4), end_ns=at(6))
    story.tool("reads beside", "s", "t", "read", start_ns=at(8), end_ns=at(10))
    assert story.ask("select duration_ms, model_ms, tool_ms from turn_bars") == [(20_000.0, 4_000.0, 5_000.0)]


def test_decision_reversals(story: Asked) -> None:
    for turn, choice, why in (
        ("t1", "a dict", "plain"),
        ("t2", "a dict", "still"),
        ("t3", "a Counter", "fast"),
        ("t4", "a dict", ""),
    ):
        story.span(f"{turn} decides", "s", turn, commit_kind="decision", decision_about="how", choice=choice, reason=why)
    story.span("elsewhere", "other", "t5", commit_kind="decision", decision_about="how", choice="a list")
    story.chat("answers", "s", "t6", **ANSWERS)
    columns = "about, choice_before, choice_after, reason_before, reason_after, turn_before, turn_after, commit_after, is_back"
    assert story.ask(f"select {columns} from decision_reversals order by decided_ns") == [
        ("how", "a dict", "a Counter", "still", "fast", 2, 3, "t3 decides", 0),
        ("how", "a Counter", "a dict", "fast", "", 3, 4, "t4 decides", 1),
    ]


def test_replays(story: Asked) -> None:
    runs(story, "s", "t1", "read")
    runs(story, "s~replay-1", "t2", "read", "test", replay_of="s")
    assert story.ask("select session_id, replay_of from replays") == [("s~replay-1", "s")]


def test_replays_are_not_counted(story: Asked, settings: Settings) -> None:
    for session in ("s", "s~replay-1"):
        of = {"replay_of": "s"} if session != "s" else {}
        runs(story, session, f"{session} 1", "read", "test", "test", "test", **FAILS, **of)
        for choice in ("a dict", "a Counter"):
            decided = {"commit_kind": "decision", "decision_about": "how", "choice": choice}
            story.span(f"{session} {choice}", session, f"{session} 1", **decided, **of)
    load(settings, patience=1)
    with queries.reading(settings) as db:
        found = queries.patterns(db)
        assert [loop.times for loop in queries.loops(db, "s~replay-1")] == [3]
    assert found.sessions == 1
    assert [(row.tools, row.times) for row in found.sequences] == [("test > test", 2)]
    assert [(row.tool, row.calls) for row in found.failures] == [("test", 3), ("read", 1)]
    assert [row.session_id for row in found.loops] == ["s"]
    assert [row.turns for row in found.costs] == [1]
    assert [row.session_id for row in found.reversals] == ["s"]


def in_session(story: Asked, session: str, **steps: Any) -> None:
    story.session = session
    story.run(f"{session}1", prefix="", text="plan")
    story.run(f"{session}2", prefix="p", text="do it", **steps)
    story.session = "s"


def parts(story: Asked) -> list[tuple[Any, ...]]:
    return story.ask("select turn, step, cause, commit_a, commit_b from session_divergence('a', 'b')")


def test_two_sessions_that_did_the_same_do_not_diverge(story: Asked) -> None:
    in_session(story, "a")
    in_session(story, "b")
    assert parts(story) == []
    assert story.ask(
        "select turn, step, same and same_context and same_request from paired_steps('a', 0, 'b', 0) order by 1, 2"
    ) == [(turn, step, True) for turn in (1, 2) for step in (1, 2, 3, 4)]


def test_session_divergence(story: Asked) -> None:
    in_session(story, "a", run={"outcome": "timeout", "output_hash": ""})
    in_session(story, "b", answer={"choice": "give up"})
    assert parts(story) == [(2, 3, "tool result", "a2 runs", "b2 runs")]


def test_two_sessions_part_where_one_was_asked_something_else_or_has_ended(story: Asked) -> None:
    in_session(story, "a")
    story.session = "b"
    story.run("b1", prefix="", text="plan")
    assert parts(story) == [(2, 1, "one ended", "a2 asks", "")]
    story.run("b2", prefix="p", text="do it at once")
    assert parts(story) == [(2, 1, "input", "a2 asks", "b2 asks")]


def test_a_session_is_not_compared_with_itself(story: Asked, settings: Settings) -> None:
    in_session(story, "a")
    load(settings, patience=1)
    with queries.reading(settings) as db, pytest.raises(NotFound, match="give two sessions"):
        queries.session_diff(db, "a", "a")


PAIRED = "select change, kind, key, op_a, op_b, value_a, value_b, commit_a, commit_b from paired_entries"


def test_paired_entries(story: Asked) -> None:
    for session, choice, written in (("a", "a dict", "v1"), ("b", "a Counter", "v2")):
        story.chat(
            f"{session} asks", session, session, choice="call write", delta=[change("decision", f"of {session}", "call write")]
        )
        delta = [change("decision", "how", choice)]
        story.span(
            f"{session} decides", session, session, commit_kind="decision", decision_about="how", choice=choice, delta=delta
        )
        story.tool(
            f"{session} writes",
            session,
            session,
            "write",
            touch("create", "both.py", written),
            touch("create", "alike.py", "v"),
        )
        story.tool(f"{session} scribbles", session, session, "write", touch("create", f"{session}.tmp"))
        story.tool(f"{session} tidies", session, session, "write", touch("delete", f"{session}.tmp"))
    story.tool("b deletes", "b", "b", "rm", touch("delete", "old.py"))
    story.note("a knows", "a", "a", change("fact", "owner", "Ada"))
    story.evict("a forgets", "a", "a", "a asks", "trimmed", "message:m1", "source:https://x")
    assert story.ask(f"{PAIRED}('a', 0, 'b', 0) order by kind, key") == [
        ("changed", "decision", "how", "set", "set", "a dict", "a Counter", "a decides", "b decides"),
        ("removed", "fact", "owner", "set", "", "Ada", "", "a knows", ""),
        ("changed", "file", "both.py", "set", "set", "v1", "v2", "a writes", "b writes"),
        ("added", "file", "old.py", "", "drop", "", "", "", "b deletes"),
        ("added", "tool", "rm", "", "set", "", "ok", "", "b deletes"),
    ]
    assert story.ask(f"{PAIRED}('a', 0, 'a', 0)") == []


def test_paired_entries_of_two_turns_are_what_each_did_not_what_it_found(story: Asked) -> None:
    story.note("begins", "s", "t1", change("fact", "found", "both"), change("fact", "plan", "one"))
    story.note("tries", "s", "t2", change("fact", "plan", "", "drop"), change("fact", "result", "wrong"))
    story.note("between", "s", "t3", change("fact", "else", "where"))
    story.note("again", "s", "t4", change("fact", "result", "right"), change("fact", "hint", "new"))
    assert story.ask(f"{PAIRED}('s', 2, 's', 4) order by kind, key") == [
        ("added", "fact", "hint", "", "set", "", "new", "", "again"),
        ("removed", "fact", "plan", "drop", "", "", "", "tries", ""),
        ("changed", "fact", "result", "set", "set", "wrong", "right", "tries", "again"),
    ]
