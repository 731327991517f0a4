"""Retries: which turns and tool calls are attempts of one, where two attempts part, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from store.attempts import ANSWERS, Attempts
from store.story import SECOND, START, added, evicted
from turnlog import semconv
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load


class Asked(Attempts):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._settings = settings
        self.loads = True

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        return self.ask_all([statement])[0]

    def ask_all(self, statements: Iterable[str]) -> list[list[tuple[Any, ...]]]:
        """The rows of each, with the story's labels for commit ids."""
        labels = {commit: label for label, commit in self.ids.items()}
        if self.loads:
            load(self._settings, patience=1)
        with Store(self._settings).reading() as db:
            return [
                [tuple(labels.get(value, value) for value in row) for row in db.execute(statement).fetchall()]
                for statement in statements
            ]

    def divergence(self, a: int = 1, b: int = 2) -> list[tuple[Any, ...]]:
        return self.ask(f"select step, cause, commit_a, commit_b from first_divergence('s', {a}, {b})")

    def attempts(self) -> list[tuple[Any, ...]]:
        return self.ask("select turn, attempt, attempts, original_turn from turn_attempts where session_id = 's' order by turn")

    def calls(self) -> list[tuple[Any, ...]]:
        return self.ask("select commit_id, attempt, original_commit_id from tool_attempts where attempts > 1 order by attempt")


@pytest.fixture
def story(settings: Settings) -> Iterator[Asked]:
    told = Asked(settings)
    yield told
    told.writer.close()


def test_turn_attempts(story: Asked) -> None:
    story.run("t1", run={"outcome": "timeout"})
    story.run("t2")
    story.open("t3", prefix="longer", text="more", ends=False)
    story.row(record="start", trace_id="f" * 32, span_id="f" * 16, session_id="s", turn_id="t4", start_ns=START + 99 * SECOND)
    assert story.ask("select * exclude (session_id) from turn_attempts order by turn") == [
        (1, "t1", "hash of go", "p", 1, 2, 1, "ok", 30, 6, 4500.0),
        (2, "t2", "hash of go", "p", 2, 2, 1, "ok", 30, 6, 4500.0),
        (3, "t3", "hash of more", "", 1, 1, 3, "in_flight", 0, 0, 1000.0),
        (4, "t4", "", "", 1, 1, 4, "in_flight", 0, 0, 0.0),
    ]


def test_saying_the_same_thing_again_is_no_retry(story: Asked) -> None:
    story.run("t1", text="go on")
    story.run("t2", text="go on", prefix="one turn longer")
    story.run("t3", text="go on", prefix="two turns longer")
    assert story.attempts() == [(1, 1, 1, 1), (2, 1, 1, 2), (3, 1, 1, 3)]
    assert story.ask("from retries") == []


def test_a_turn_that_is_run_three_times_has_three_attempts_whatever_happened_in_between(story: Asked) -> None:
    story.run("t1")
    story.run("t2")
    story.run("t3", prefix="longer", text="more")
    story.run("t4")
    assert story.attempts() == [(1, 1, 3, 1), (2, 2, 3, 1), (3, 1, 1, 3), (4, 3, 3, 1)]


def test_what_is_not_known_makes_no_retry(story: Asked) -> None:
    for turn in ("t1", "t2"):
        story.agent(f"{turn} opens", "s", turn, "go")
        story.tool(f"{turn} runs", "s", turn, "run", input_hash="h")
    for turn in ("t3", "t4"):
        story.chat(f"{turn} asks", "s", turn, turn_prefix_hash="p")
    for turn in ("t5", "t6"):
        story.chat(f"{turn} asks", "s", turn, turn_input_hash="h")
    assert [row[1:3] for row in story.attempts()] == [(1, 1)] * 6


def test_the_same_turn_of_another_session_is_no_retry(story: Asked) -> None:
    for session in ("s", "other"):
        story.chat(f"{session} asks", session, f"{session} t1", turn_prefix_hash="p", turn_input_hash="h")
    assert story.ask("select attempt, attempts, original_turn from turn_attempts") == [(1, 1, 1)] * 2


def test_a_bare_model_call_is_a_turn_that_can_be_retried(story: Asked) -> None:
    for turn in ("t1", "t2"):
        story.chat(f"{turn} asks", "s", turn, turn_prefix_hash="p", turn_input_hash="h")
        story.chat(f"{turn} goes on", "s", turn)
    assert story.attempts() == [(1, 1, 2, 1), (2, 2, 2, 1)]


def test_a_turn_ends_as_its_last_step_did_or_as_it_was_broken_off(story: Asked) -> None:
    lasts: dict[str, dict[str, Any]] = {
        "cancelled": {"commit_kind": "lifecycle", "outcome": "cancelled"},
        "closed after an error": {"commit_kind": "lifecycle", "lifecycle_state": "closed"},
        "noted after an error": {"commit_kind": "note"},
        "killed": {"outcome": "interrupted"},
        "running": {"ends": False},
    }
    for turn, last in lasts.items():
        story.chat(f"{turn}: works", "s", turn)
        story.tool(f"{turn}: fails", "s", turn, "run", outcome="error")
        story.span(f"{turn}: last", "s", turn, **last)
    assert story.ask("select turn_id, outcome from turn_attempts order by turn") == [
        ("cancelled", "cancelled"),
        ("closed after an error", "error"),
        ("noted after an error", "error"),
        ("killed", "interrupted"),
        ("running", "in_flight"),
    ]


def test_tool_attempts(story: Asked) -> None:
    story.tool("fails", "s", "t1", "run", input_hash="h", outcome="timeout")
    story.tool("other input", "s", "t1", "run", input_hash="i")
    story.tool("other tool", "s", "t1", "walk", input_hash="h")
    story.tool("fails again", "s", "t1", "run", input_hash="h", outcome="error")
    story.tool("works", "s", "t1", "run", input_hash="h")
    story.tool("once more", "s", "t1", "run", input_hash="h")
    story.tool("other turn", "s", "t2", "run", input_hash="h")
    found = story.ask("select * exclude (session_id, duration_ms) from tool_attempts")
    assert sorted(found, key=lambda row: list(story.ids).index(row[1])) == [
        (1, "fails", "run", "h", 1, 3, "fails", "timeout"),
        (1, "other input", "run", "i", 1, 1, "other input", "ok"),
        (1, "other tool", "walk", "h", 1, 1, "other tool", "ok"),
        (1, "fails again", "run", "h", 2, 3, "fails", "error"),
        (1, "works", "run", "h", 3, 3, "fails", "ok"),
        (1, "once more", "run", "h", 1, 1, "once more", "ok"),
        (2, "other turn", "run", "h", 1, 1, "other turn", "ok"),
    ]


def test_calls_without_a_known_input_are_no_attempts_of_each_other(story: Asked) -> None:
    story.tool("fails", "s", "t1", "run", outcome="error")
    story.tool("next", "s", "t1", "run")
    assert story.calls() == []


def test_a_call_that_was_made_while_the_other_still_ran_is_no_attempt(story: Asked) -> None:
    story.span("slow", "s", "t1", ends=False, operation="execute_tool", tool="run")
    story.tool("meanwhile", "s", "t1", "run", input_hash="h")
    slow = {"trace_id": f"{1:032x}", "span_id": story.spans["slow"], "start_ns": START + SECOND, "end_ns": START + 9 * SECOND}
    story.row(
        **slow, record="end", session_id="s", turn_id="t1", tool="run", commit_kind="tool", input_hash="h", outcome="timeout"
    )
    assert story.calls() == []
    assert story.ask("select count(*) from tool_attempts where outcome = 'timeout'") == [(1,)]


def test_what_is_said_to_be_a_retry_is_one_whatever_it_was_given(story: Asked) -> None:
    story.tool("first", "s", "t1", "run", outcome="error")
    story.tool("unrelated", "s", "t1", "run", outcome="error")
    story.tool("second", "s", "t1", "run", retry_of=story.spans["first"], attempt=2)
    story.tool("in the next turn", "s", "t2", "run", input_hash="new", retry_of=story.spans["first"], attempt=3)
    assert story.calls() == [("first", 1, "first"), ("second", 2, "first"), ("in the next turn", 3, "first")]


def test_guarded_calls_side_by_side_keep_their_attempts_apart_and_a_later_call_goes_on_counting(story: Asked) -> None:
    given: dict[str, Any] = {"input_hash": "h", "outcome": "error"}
    story.span("a1", "s", "t1", ends=False, operation="execute_tool", tool="run")
    story.tool("b1", "s", "t1", "run", **given)
    a1 = {"trace_id": f"{1:032x}", "span_id": story.spans["a1"], "start_ns": START + SECOND, "end_ns": START + 3 * SECOND}
    story.row(**a1, record="end", session_id="s", turn_id="t1", tool="run", commit_kind="tool", **given)
    story.tool("a2", "s", "t1", "run", retry_of=story.spans["a1"], attempt=2, **given)
    story.tool("b2", "s", "t1", "run", retry_of=story.spans["b1"], attempt=2, **given)
    story.tool("later", "s", "t1", "run", input_hash="h")
    assert sorted(story.calls()) == [("a1", 1, "a1"), ("a2", 2, "a1"), ("b1", 1, "b1"), ("b2", 2, "b1"), ("later", 3, "b1")]


@pytest.mark.parametrize("loaded", [False, True])
def test_retries(story: Asked, loaded: bool) -> None:
    story.loads = loaded
    story.open("t1")
    story.chat("t1 answers", "s", "t1", outcome="error", input_tokens=7)
    story.run("t2")
    story.call("t2 runs again", "run", "c2")
    story.open("t3")
    story.call("t3 runs", "run", "c2", outcome="error")
    story.call("t3 runs again", "run", "c2")
    assert story.ask("from retries order by kind, turn") == [
        ("s", "tool", 2, 3, "t3 runs", 3, "t3 runs again", "run", "error", "ok", 0, 0, 0, 0, 500.0, 500.0),
        ("s", "turn", 2, 1, "", 2, "", "", "error", "ok", 17, 30, 2, 6, 2500.0, 5500.0),
        ("s", "turn", 3, 1, "", 3, "", "", "error", "ok", 17, 10, 2, 2, 2500.0, 3500.0),
    ]


def test_paired_steps(story: Asked) -> None:
    hot = {"request_model": "large", "attributes": {semconv.GEN_AI_REQUEST_TEMPERATURE: 0.5}}
    story.run(
        "t1",
        run={"outcome": "timeout", "output_hash": "", "error_type": "TimeoutError"},
        attributes={semconv.GEN_AI_REQUEST_SEED: 3},
    )
    story.run("t2", answer=hot)
    story.call("t2 runs again", "run", "c2")
    columns = (
        "step, commit_a, commit_b, kind_a, kind_b, tool_a, tool_b, input_hash_a, input_hash_b, output_hash_a, output_hash_b"
    )
    assert story.ask(f"select {columns} from paired_steps('s', 1, 's', 2) order by step") == [
        (1, "t1 asks", "t2 asks", "decision", "decision", "", "", "", "", "asks", "asks"),
        (2, "t1 reads", "t2 reads", "tool", "tool", "read", "read", "to read", "to read", "from read", "from read"),
        (3, "t1 runs", "t2 runs", "tool", "tool", "run", "run", "to run", "to run", "", "from run"),
        (4, "t1 answers", "t2 runs again", "decision", "tool", "", "run", "", "to run", "done", "from run"),
        (5, "", "t2 answers", "", "decision", "", "", "", "", "", "done"),
    ]
    columns = "step, choice_a, choice_b, outcome_a, outcome_b, error_a, error_b, model_a, model_b, parameters_a, parameters_b"
    assert story.ask(f"select {columns}, same, same_context, same_request from paired_steps('s', 1, 's', 2) order by step") == [
        (1, "call read, run", "call read, run", "ok", "ok", "", "", "m", "m", "seed=3", "", True, True, False),
        (2, "", "", "ok", "ok", "", "", "", "", "", "", True, True, True),
        (3, "", "", "timeout", "ok", "TimeoutError", "", "", "", "", "", False, True, True),
        (4, "answer", "", "ok", "ok", "", "", "m", "", "", "", False, True, True),
        (5, "", "answer", "", "ok", "", "", "", "large", "", "temperature=0.5", False, True, True),
    ]
    assert story.ask("select bool_and(same and same_context and same_request) from paired_steps('s', 1, 's', 1)") == [(True,)]


SEED = {"attributes": {semconv.GEN_AI_REQUEST_SEED: 1}}
OTHER_IDS = {"calls": ["d1", "d2"], "output_hash": "asks for d1, d2"}
# What the first attempt had of its own, what the second, and where they part for which reason.
PARTINGS: list[tuple[dict[str, Any], dict[str, Any], int, str]] = [
    ({}, {"text": "stop"}, 1, "input"),
    ({}, {"context_hash": "other instructions"}, 1, "context"),
    ({}, {"answer": {"context_hash": "something left"}}, 4, "context"),
    ({}, {"request_model": "large"}, 1, "model or parameters"),
    ({}, {"answer": {"request_model": "large", "output_hash": "other"}}, 4, "model or parameters"),
    (SEED, {"attributes": {semconv.GEN_AI_REQUEST_SEED: 2}}, 1, "model or parameters"),
    ({"response_model": "m-2026-01"}, {"response_model": "m-2026-02"}, 1, "model or parameters"),
    ({"provider": "openai"}, {"provider": "azure"}, 1, "model or parameters"),
    ({}, {"read": {"output_hash": "other"}}, 2, "tool result"),
    ({"run": {"outcome": "error"}}, {}, 3, "tool result"),
    ({"run": {"error_type": "A"}}, {"run": {"error_type": "B"}}, 3, "tool result"),
    ({"run": {"output_hash": ""}}, {"run": {"output_hash": "", "output_summary": "b"}}, 3, "tool result"),
    ({}, {"run": {"output_hash": "x"}, "answer": {"context_hash": "x", "output_hash": "x"}}, 3, "tool result"),
    ({}, {"answer": {"output_hash": "other"}}, 4, "unknown"),
    ({}, {"choice": "call run", "output_hash": "other"}, 1, "unknown"),
    ({}, {**OTHER_IDS, "reason": "to see"}, 1, "unknown"),
    ({}, {**OTHER_IDS, "output_summary": "I look."}, 1, "unknown"),
    ({}, {"read": {"input_hash": "other"}}, 2, "unknown"),
    ({"answer": {"outcome": "error", "output_hash": "", "choice": ""}}, {}, 4, "unknown"),
]


@pytest.fixture(scope="module")
def partings(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[Any, ...]]]:
    """The first divergence of each pair; a session each."""
    story = Asked(Settings(directory=tmp_path_factory.mktemp("partings")))
    for number, (first, second, _, _) in enumerate(PARTINGS):
        story.session = f"pair {number}"
        story.run(f"{number}a", **first)
        story.run(f"{number}b", **second)
    found = story.ask_all(
        f"select step, cause, commit_a, commit_b from first_divergence('pair {number}', 1, 2)"
        for number in range(len(PARTINGS))
    )
    story.writer.close()
    return found


@pytest.mark.parametrize("number", range(len(PARTINGS)))
def test_first_divergence(partings: list[list[tuple[Any, ...]]], number: int) -> None:
    _, _, step, cause = PARTINGS[number]
    label = ("asks", "reads", "runs", "answers")[step - 1]
    assert partings[number] == [(step, cause, f"{number}a {label}", f"{number}b {label}")]


def test_attempts_that_do_the_same_do_not_diverge(story: Asked) -> None:
    stream, cool = semconv.GEN_AI_REQUEST_STREAM, semconv.GEN_AI_REQUEST_TEMPERATURE
    story.run("t1", attributes={cool: 0.0, semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: "r1"})
    story.run("t2", attributes={cool: 0, semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: "r2", stream: True})
    assert story.divergence() == []


def test_what_is_not_known_of_one_attempt_is_no_divergence(story: Asked) -> None:
    known = {"turn_input_hash": "h", "context_hash": "k", "provider": "p", "response_model": "r", "turn_prefix_hash": "p"}
    for turn, given in (("t1", known), ("t2", {}), ("t3", known)):
        story.chat(f"{turn} asks", "s", turn, **given)
    assert story.divergence() == story.divergence(2, 3) == []


def test_the_first_divergence_tells_how_both_attempts_went(story: Asked) -> None:
    story.open("t1")
    story.chat("t1 answers", "s", "t1", outcome="error", context_hash="k2", input_tokens=7)
    story.run("t2")
    assert story.ask("select * exclude (commit_a, commit_b) from first_divergence('s', 1, 2)") == [
        (2, "unknown", "error", "ok", "error", "ok", 17, 30, 2, 6, 2500.0, 4500.0)
    ]


def test_an_attempt_that_broke_off_parts_where_the_other_goes_on(story: Asked) -> None:
    story.open("t1")
    story.call("t1 reads", "read", "c1")
    story.run("t2")
    assert story.divergence() == [(3, "unknown", "", "t2 runs")]


def test_a_call_that_still_runs_has_no_other_result_yet(story: Asked) -> None:
    story.run("t1")
    story.open("t2")
    reads = {"operation": "execute_tool", "tool": "read", "input_hash": "to read", "start_ns": START + 99 * SECOND}
    story.row(record="start", trace_id="f" * 32, span_id="f" * 16, session_id="s", turn_id="t2", **reads)
    assert [row[:3] for row in story.divergence()] == [(2, "unknown", "t1 reads")]


@pytest.mark.parametrize("known", [True, False])
def test_calls_of_one_decision_that_run_in_another_order_are_no_divergence(story: Asked, known: bool) -> None:
    ids = ("c1", "c2") if known else ("", "")
    given = {} if known else {"input_hash": "to both"}
    for turn, order in (("t1", "reads runs"), ("t2", "runs reads")):
        story.open(turn)
        for label in order.split():
            story.call(f"{turn} {label}", label.removesuffix("s"), ids[label == "runs"], **given)
        story.chat(f"{turn} answers", "s", turn, context_hash="k2", **ANSWERS)
    assert story.ask("select commit_a, commit_b from paired_steps('s', 1, 's', 2) order by step") == [
        (f"t1 {label}", f"t2 {label}") for label in ("asks", "reads", "runs", "answers")
    ]
    assert story.divergence() == []


def seen(turn: str, at: int, read: str = "read it", ran: str = "ran it", order: int = 1) -> list[dict[str, Any]]:
    """What the second context of a turn has more: what the model said and both results, under the turn's own call ids."""
    results = [
        added(at + 1, "tool", f"{turn} {read}", call=f"{turn} c1"),
        added(at + 2, "tool", f"{turn} {ran}", call=f"{turn} c2"),
    ]
    return [added(at, "assistant", f"{turn} asks"), *results[::order]]


def fresh(turn: str) -> dict[str, Any]:
    """A first model call whose provider gives its tool calls ids that no other has."""
    return {"calls": [f"{turn} c1", f"{turn} c2"], "output_hash": f"asks for {turn} c1, c2"}


def test_new_ids_of_tool_calls_are_no_divergence(story: Asked) -> None:
    for turn in ("t1", "t2"):
        story.run(turn, **fresh(turn), answer={"context_hash": f"of {turn}", "context": seen(turn, 10)})
    assert story.divergence() == []
    story.run("t3", **fresh("t3"), choice="call read", answer={"context_hash": "of t3", "context": seen("t3", 10)})
    assert story.divergence(1, 3) == [(1, "unknown", "t1 asks", "t3 asks")]


@pytest.mark.parametrize(
    "changes",
    [
        [*evicted(1), *seen("t2", 10)],
        [added(0, "system", "be short"), *seen("t2", 10)],
        seen("t2", 10)[:2],
    ],
    ids=["a message left", "instructions came", "a result is missing"],
)
def test_new_ids_do_not_hide_that_a_context_lost_or_gained_something_else(story: Asked, changes: list[dict[str, Any]]) -> None:
    story.run("t1", **fresh("t1"), answer={"context_hash": "of t1", "context": seen("t1", 10)})
    story.run("t2", **fresh("t2"), answer={"context_hash": "of t2", "context": changes})
    assert story.divergence() == [(4, "context", "t1 answers", "t2 answers")]


@pytest.mark.parametrize(
    ("again", "same"),
    [
        ({}, True),
        ({"context_hash": "of b, shorter", "context": evicted(10)}, False),
        ({"context_hash": "of b, cut by nobody knows what"}, False),
    ],
    ids=["neither changed", "one lost a message", "one is another"],
)
def test_contexts_that_both_saw_before_are_no_divergence_and_others_are(
    story: Asked, again: dict[str, Any], same: bool
) -> None:
    for side in ("a", "b"):
        story.session = side
        story.run(f"{side}1", **fresh(side), answer={"context_hash": f"of {side}", "context": seen(side, 10)})
        asked = {"context_hash": f"of {side}, asked", "context": [added(13, "assistant", "done"), added(14, "user", "more")]}
        story.chat(f"{side}2 fails", side, f"{side}2", outcome="error", **asked)
        seen_again = {"context_hash": f"of {side}, asked", **(again if side == "b" else {})}
        story.chat(f"{side}3 answers", side, f"{side}3", **{**ANSWERS, **seen_again})
    steps = story.ask("select turn, step, same, same_context from paired_steps('a', 0, 'b', 0) order by turn, step")
    assert steps == [*[(1, step, True, True) for step in (1, 2, 3, 4)], (2, 1, True, True), (3, 1, True, same)]


def test_a_first_context_is_compared_whole_for_it_may_differ_in_what_came_before_the_turn(story: Asked) -> None:
    asked = [added(10, "user", "go")]
    story.run("t1", context=asked)
    story.run("t2", context=asked, context_hash="with instructions that changed meanwhile")
    assert story.divergence() == [(1, "context", "t1 asks", "t2 asks")]


def test_results_that_reach_the_model_in_another_order_are_no_divergence_but_other_results_are(story: Asked) -> None:
    story.run("t1", answer={"context_hash": "k2", "context": seen("x", 10)})
    story.run("t2", answer={"context_hash": "other order", "context": seen("x", 20, order=-1)})
    story.run("t3", answer={"context_hash": "cut", "context": seen("x", 30, ran="ran i…")})
    assert story.divergence() == []
    assert story.divergence(1, 3) == [(4, "context", "t1 answers", "t3 answers")]


def test_what_was_decided_by_hand_is_a_step(story: Asked) -> None:
    for turn, choice in (("t1", "sqlite"), ("t2", "duckdb")):
        story.span(f"{turn} decides", "s", turn, commit_kind="decision", decision_about="db", input_hash=choice)
    assert story.divergence() == [(1, "unknown", "t1 decides", "t2 decides")]
