"""`turnlog diff --retry`, `turnlog diff SESSION SESSION`, and how `turnlog log` marks attempts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from cli.history import Printed, Turnlog, plain
from cli.terminal import Terminal
from programs import ROOT
from recording import Message, Recording, assistant, user
from store.attempts import Attempts
from turnlog import queries, semconv
from turnlog.semconv import GenAiOperation
from turnlog.settings import Settings
from turnlog.store.loader import load

NO_RETRIES = "turnlog: session s ran every turn once only.\n"


@pytest.fixture
def story(settings: Settings) -> Iterator[Attempts]:
    told = Attempts(settings)
    yield told
    told.writer.close()


@pytest.fixture
def turnlog(turnlog: Turnlog, settings: Settings) -> Turnlog:
    """The command line on what is loaded: nothing here is about journals."""

    def call(*words: str) -> Printed:
        load(settings, patience=1)
        return turnlog(*words)

    return call


@pytest.fixture
def three(story: Attempts) -> Attempts:
    """Turn 1 once; turn 2 fails in its last step; again in turn 3, where a tool brings something else, and in turn 5."""
    read = {"input_summary": '{"path":"plan.md"}', "output_summary": "step one"}
    run = {"input_summary": '{"target":"tests"}'}
    slow = {**run, "outcome": "timeout", "output_hash": "", "error_type": "TimeoutError", "status_message": "no end in sight"}
    failed = {"outcome": "error", "error_type": "RateLimitError", "output_hash": "", "choice": ""}
    story.run("t1", prefix="nothing", text="make a plan")
    story.run("t2", text="follow it", read=read, run=slow, answer=failed)
    story.run("t3", text="follow it", read=read, run={**run, "output_summary": "3 passed"})
    story.run("t4", prefix="longer", text="follow it")
    story.run("t5", text="follow it", read=read, run=slow, request_model="large")
    return story


AGAINST_THE_ORIGINAL = """\
session s  turn 2 and turn 3  attempts 1 and 2 of 3
  turn 2  turn 3
=  1  ID  decision  call read, run  ID  decision  call read, run
=  2  ID  read  {"path":"plan.md"} -> step one  ID  read  {"path":"plan.md"} -> step one
~  3  ID  run  TIMEOUT TimeoutError: no end in sight  {"target":"tests"}  ID  run  {"target":"tests"} -> 3 passed
  first divergence: tool result - the same call came back differently
~  4  ID  decision  ERROR RateLimitError  ID  decision  answer
outcome  error  ok
tokens  30 in, 6 out  30 in, 6 out
time  4.5 s  4.5 s
entries that differ
  ~  tool  run  timeout -> ok  ID -> ID
"""


def test_an_attempt_is_compared_with_its_original(three: Attempts, turnlog: Turnlog) -> None:
    printed = turnlog("diff", "3", "--retry")
    assert plain(printed.out) == AGAINST_THE_ORIGINAL.splitlines()
    starts = {
        line.find(three.ids[f"t3 {label}"][:7])
        for line, label in zip(printed.out.splitlines()[2:5], ("asks", "reads", "runs"), strict=True)
    }
    assert len(starts) == 1


def test_an_attempt_is_compared_with_another_by_its_number_or_turn(three: Attempts, turnlog: Turnlog) -> None:
    lines = plain(turnlog("diff", "5", "--retry=2").out)
    assert lines[0] == "session s  turn 3 and turn 5  attempts 2 and 3 of 3"
    assert lines[2:4] == [
        "~  1  ID  decision  call read, run  ID  decision  call read, run",
        "  first divergence: model or parameters - m -> large",
    ]
    assert turnlog("diff", "5", "--retry", "2") == turnlog("diff", "5", "--retry=2")
    assert turnlog("diff", "3", "--retry=3") == turnlog("diff", "5", "--retry=2")
    assert turnlog("diff", "5", "3", "--retry") == turnlog("diff", "5", "--retry=2")


def test_the_original_is_compared_with_its_newest_attempt_and_no_turn_is_the_last_retry(
    three: Attempts, turnlog: Turnlog
) -> None:
    newest = turnlog("diff", "5", "--retry")
    assert plain(newest.out)[0] == "session s  turn 2 and turn 5  attempts 1 and 3 of 3"
    assert turnlog("diff", "2", "--retry") == newest
    assert turnlog("diff", "--retry") == newest
    assert turnlog("diff", "--retry", "3") == turnlog("diff", "3", "--retry")


def test_what_is_no_retry_is_told_with_the_turns_that_are(three: Attempts, turnlog: Turnlog) -> None:
    once = "turnlog: turn 4 of session s was run once only. Turns with retries: 2 (again in 3, 5).\n"
    assert turnlog("diff", "4", "--retry") == (1, "", once)
    others = "turnlog: turn 3 is attempt 2 of 3. Compare it with attempt 1 (turn 2), attempt 3 (turn 5).\n"
    for words in (["3", "--retry=2"], ["3", "--retry=7"], ["3", "4", "--retry"], ["3", "3", "--retry"]):
        assert turnlog("diff", *words) == (1, "", others)
    assert turnlog("diff", "9", "--retry").err == "turnlog: session s has turns 1 to 5; there is no turn 9.\n"
    assert turnlog("diff", "3", "9", "--retry").err == "turnlog: session s has turns 1 to 5; there is no turn 9.\n"
    twice = "turnlog: name the other attempt once: by a second turn, or by --retry=N.\n"
    assert turnlog("diff", "3", "5", "--retry=1") == (1, "", twice)
    assert turnlog("diff", "3", "--retry=0").code == 2


def test_a_session_without_retries_says_so(story: Attempts, turnlog: Turnlog) -> None:
    story.run("t1")
    story.run("t2", prefix="longer")
    assert turnlog("diff", "--retry") == (1, "", NO_RETRIES)
    assert turnlog("diff", "2", "--retry") == (1, "", "turnlog: turn 2 of session s was run once only.\n")


def test_attempts_that_did_the_same_say_so(story: Attempts, turnlog: Turnlog) -> None:
    story.run("t1")
    story.run("t2")
    assert plain(turnlog("diff", "--retry").out)[2:7] == [
        "=  1  ID  decision  call read, run  ID  decision  call read, run",
        "=  2  ID  read  ID  read",
        "=  3  ID  run  ID  run",
        "=  4  ID  decision  answer  ID  decision  answer",
        "  no divergence: both did the same",
    ]


def test_a_step_that_only_one_attempt_has_is_marked(story: Attempts, turnlog: Turnlog) -> None:
    story.run("t1")
    story.open("t2")
    story.call("t2 reads", "read", "c1")
    assert plain(turnlog("diff", "--retry").out)[4:7] == [
        "-  3  ID  run",
        "  first divergence: unknown - nothing that was recorded before it differs",
        "-  4  ID  decision  answer",
    ]
    story.run("t3")
    assert plain(turnlog("diff", "3", "2", "--retry").out)[4] == "+  3  ID  run"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"context_hash": "other"}, "context - the model call saw other messages or instructions"),
        ({"attributes": {semconv.GEN_AI_REQUEST_SEED: 7}}, "model or parameters - (none) -> seed=7"),
        ({"provider": "azure"}, "model or parameters - another model or provider answered"),
    ],
)
def test_the_cause_is_explained(story: Attempts, turnlog: Turnlog, change: dict[str, object], why: str) -> None:
    story.run("t1", provider="openai")
    story.run("t2", **{"provider": "openai", **change})
    assert plain(turnlog("diff", "--retry").out)[2:4] == [
        "~  1  ID  decision  call read, run  ID  decision  call read, run",
        f"  first divergence: {why}",
    ]


def test_as_json_it_is_one_object_with_the_names_of_the_rows(three: Attempts, turnlog: Turnlog) -> None:
    found = json.loads(turnlog("diff", "3", "--retry", "--json").out)
    assert list(found) == list(queries.RetryDiff._fields)
    assert [list(row) for row in found["attempts"]] == [list(queries.TurnAttempt._fields)] * 2
    assert [list(row) for row in found["steps"]] == [list(queries.Step._fields)] * 4
    assert [row["same"] for row in found["steps"]] == [True, True, False, False]
    assert found["divergence"] == {
        "step": 3,
        "cause": "tool result",
        "commit_a": three.ids["t2 runs"],
        "commit_b": three.ids["t3 runs"],
        "outcome_a": "timeout",
        "outcome_b": "ok",
    }


def test_attempts_without_a_divergence_have_none_as_json(story: Attempts, turnlog: Turnlog) -> None:
    story.run("t1")
    story.run("t2")
    assert json.loads(turnlog("diff", "--retry", "--json").out)["divergence"] is None


@pytest.mark.parametrize("width", [60, 100])
def test_on_a_terminal_both_sides_fit(three: Attempts, settings: Settings, width: int) -> None:
    with Terminal("diff", "3", "--retry", settings=settings, columns=width, NO_COLOR="1") as terminal:
        lines = terminal.all().splitlines()
    half = (width - 9 - 2) // 2
    ids = [(three.ids[f"t2 {label}"][:7], three.ids[f"t3 {label}"][:7]) for label in ("asks", "reads", "runs")]
    assert [(line.find(left), line.find(right)) for line, (left, right) in zip(lines[2:5], ids, strict=True)] == [
        (9, 9 + half + 2)
    ] * 3
    assert max(map(len, lines)) <= width


def work(recording: Recording, history: list[Message], text: str, call: str, result: str) -> list[Message]:
    """A turn as an agent records it: the model asks for a tool under a new id, and answers. Gives the longer history."""
    asks = {"role": "assistant", "parts": [{"type": "tool_call", "id": call, "name": "run", "arguments": {"target": "tests"}}]}
    brings = {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": result}]}
    with recording.agent(text, conversation="demo"):
        asked = [*history, user(text)]
        recording.chat(asked, [asks])
        content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: {"target": "tests"}, semconv.GEN_AI_TOOL_CALL_RESULT: result}
        named = {semconv.GEN_AI_TOOL_NAME: "run", semconv.GEN_AI_TOOL_CALL_ID: call}
        recording.start(GenAiOperation.EXECUTE_TOOL, content, named).end()
        recording.chat([*asked, asks, brings], [assistant("Done.")])
    return [*asked, asks, brings, assistant("Done.")]


def test_what_an_agent_records_is_compared_past_the_ids_of_its_calls(recording: Recording, turnlog: Turnlog) -> None:
    history = work(recording, [], "test it", "call-1", "3 passed")
    work(recording, history, "test it", "call-2", "3 passed")
    work(recording, history, "test it", "call-3", "3 passed")
    work(recording, history, "test it", "call-4", "2 passed")
    parted = [[line for line in plain(turnlog("diff", turn, "--retry").out) if "divergence" in line] for turn in ("3", "4")]
    assert parted == [
        ["  no divergence: both did the same"],
        ["  first divergence: tool result - the same call came back differently: 3 passed -> 2 passed"],
    ]
    once = "turnlog: turn 1 of session demo was run once only. Turns with retries: 2 (again in 3, 4).\n"
    assert turnlog("diff", "1", "--retry").err == once


def test_the_log_marks_turns_and_calls_that_are_attempts(story: Attempts, turnlog: Turnlog) -> None:
    story.run("t1", run={"outcome": "error", "error_type": "E"})
    story.run("t2", run={"outcome": "error", "error_type": "E"})
    story.call("t2 runs again", "run", "c2", input_summary="all", output_summary="3 passed")
    assert plain(turnlog("log").out) == [
        "session s",
        "turn 2  retry of turn 1 (attempt 2)  DAY TIME  go",
        "ID  TIME  run  attempt 2  all -> 3 passed",
        "ID  TIME  decision  answer",
        "ID  TIME  run  ERROR E",
        "ID  TIME  read",
        "ID  TIME  decision  call read, run",
        "turn 1  DAY TIME  go",
        "ID  TIME  decision  answer",
        "ID  TIME  run  ERROR E",
        "ID  TIME  read",
        "ID  TIME  decision  call read, run",
    ]


def test_the_readme_shows_what_it_prints(three: Attempts, turnlog: Turnlog) -> None:
    block = re.search(r"^\$ turnlog diff 3 --retry\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert block is not None
    assert plain(block[1]) == plain(turnlog("diff", "3", "--retry").out)


def run_twice(story: Attempts, **second: object) -> None:
    for session, steps in (("first", {}), ("second", second)):
        story.session = session
        for turn in ("1", "2", "3"):
            story.run(f"{session}{turn}", prefix=f"p{turn}", text=f"task {turn}", **(steps if turn == "3" else {}))


def test_two_sessions_are_shown_to_where_they_part(story: Attempts, turnlog: Turnlog) -> None:
    run_twice(story, read={"output_hash": "something else"}, run={"outcome": "error"})
    assert plain(turnlog("diff", "first", "sec").out) == [
        "  first  second",
        "  1 step before, alike in both",
        "=  1.2  ID  read  ID  read",
        "=  1.3  ID  run  ID  run",
        "=  1.4  ID  decision  answer  ID  decision  answer",
        "=  2.1  ID  decision  call read, run  ID  decision  call read, run",
        "=  2.2  ID  read  ID  read",
        "=  2.3  ID  run  ID  run",
        "=  2.4  ID  decision  answer  ID  decision  answer",
        "=  3.1  ID  decision  call read, run  ID  decision  call read, run",
        "~  3.2  ID  read  ID  read",
        "  first divergence: tool result - the same call came back differently",
        "~  3.3  ID  run  ID  run  ERROR",
        "=  3.4  ID  decision  answer  ID  decision  answer",
        "turns  3  3",
        "failed  0  1",
        "tokens  90 in, 18 out  90 in, 18 out",
        "time  14.5 s  14.5 s",
        "entries that differ",
        "  ~  tool  run  ok -> error  ID -> ID",
    ]
    found = json.loads(turnlog("diff", "first", "sec", "--json").out)
    assert (len(found["steps"]), found["divergence"]["turn"], found["divergence"]["cause"]) == (12, 3, "tool result")
    assert [(entry["key"], entry["value_a"], entry["value_b"]) for entry in found["entries"]] == [("run", "ok", "error")]


def test_two_sessions_that_did_the_same_say_so(story: Attempts, turnlog: Turnlog) -> None:
    run_twice(story)
    assert "  no divergence: both did the same" in plain(turnlog("diff", "first", "second").out)


def test_a_session_alone_or_unknown_is_told_what_to_do(story: Attempts, turnlog: Turnlog) -> None:
    run_twice(story)
    assert turnlog("diff", "first").code == 2
    assert "turnlog diff --session ID" in turnlog("diff", "first").err
    assert turnlog("diff", "first", "third") == (1, "", "turnlog: there is no session 'third'. Nearest: first, second.\n")
