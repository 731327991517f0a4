"""`turnlog sessions`, `log` and `show`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from cli.history import Turnlog, plain, record_history, start_call
from cli.terminal import Terminal
from recording import Recording, assistant, user
from turnlog import queries, semconv
from turnlog.settings import Capture, Settings

LOG = [
    "session demo",
    "turn 3  DAY TIME  finish it",
    "ID  TIME  decision  answer - It is done.",
    'ID  TIME  write_file  {"path":"parser.py","content":"done"} -> wrote 4 characters',
    "turn 2  DAY TIME  test it",
    "ID  TIME  note  have it reviewed",
    "ID  TIME  decision  a generator - the tests hang",
    'ID  TIME  run_tests  TIMEOUT TimeoutError: no end in sight  {"path":"tests"}',
    "turn 1  DAY TIME  write a parser",
    "ID  TIME  decision  recursive descent - small grammar",
    'ID  TIME  write_file  {"path":"parser.py","content":"pass"} -> wrote 4 characters',
    'ID  TIME  read_file  {"path":"grammar.md"} -> expr := term',
    "ID  TIME  decision  call read_file, write_file - A parser starts with its grammar.",
]


def test_sessions_lists_the_newest_first(recorded: Settings, turnlog: Turnlog) -> None:
    assert plain(turnlog("sessions").out) == [
        "SESSION  STATUS  AGENT  STARTED  LAST ACTIVE  TURNS  COMMITS  FAILED  TOKENS",
        "demo  idle  coder  DAY TIME  DAY TIME  3  9  1  12 in, 0 out",
        "demo-old  idle  greeter  DAY TIME  DAY TIME  1  1  0  0 in, 0 out",
    ]
    assert len(turnlog("sessions", "-n", "1").out.splitlines()) == 2


def test_on_a_narrow_terminal_ids_and_times_make_room_for_the_numbers(recording: Recording, settings: Settings) -> None:
    ids = [
        "0b6f3a52-6a1c-4c0e-9d55-52c4e7f0a001",
        "0b6f3a52-7bff-4d0e-8a21-07c1d2f0a002",
        "e1f0c9aa-0d4b-4a7e-8f39-1f9a5c30a003",
    ]
    for conversation in ids:
        with recording.agent("look", conversation=conversation):
            recording.chat([user("look")], [assistant("seen")])

    def shown(columns: int, *words: str) -> list[list[str]]:
        with Terminal("sessions", *words, settings=settings, columns=columns, NO_COLOR="1") as terminal:
            return [re.split("  +", line) for line in terminal.all().splitlines()]

    whole = ["SESSION", "STATUS", "AGENT", "STARTED", "LAST ACTIVE", "TURNS", "COMMITS", "FAILED", "TOKENS"]
    beginnings = ["e1f0c9aa", "0b6f3a52-7", "0b6f3a52-6"]
    assert [row[0] for row in shown(200)] == ["SESSION", *reversed(ids)]
    assert shown(120)[0] == whole
    assert shown(100)[0] == [title for title in whole if title != "STARTED"]
    assert shown(80)[0] == [title for title in whole if title not in ("STARTED", "LAST ACTIVE")]
    assert [row[0] for row in shown(80)[1:]] == beginnings
    assert [row[0] for row in shown(80, "-n", "2")[1:]] == beginnings[:2]
    assert all(row[-1].endswith(" out") for row in shown(120)[1:] + shown(80)[1:])


def test_no_sessions_is_a_value_with_the_hint_that_log_gives(turnlog: Turnlog) -> None:
    assert turnlog("sessions") == (0, turnlog("log").err.removeprefix("turnlog: "), "")
    assert turnlog("sessions", "--json") == (0, "", "")


def test_log_shows_the_newest_session_by_turn(recorded: Settings, turnlog: Turnlog) -> None:
    assert plain(turnlog("log").out) == LOG


def test_log_shows_what_is_in_the_journal_only(recording: Recording, turnlog: Turnlog) -> None:
    record_history(recording)
    assert plain(turnlog("log").out) == LOG


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["-n", "1"], [0, 1, 2]),
        (["--turn", "2"], [0, 4, 5, 6, 7]),
        (["--failed"], [0, 4, 7]),
        (["--tool", "write_file"], [0, 1, 3, 8, 10]),
    ],
)
def test_log_shows_what_was_asked_for(recorded: Settings, turnlog: Turnlog, words: list[str], lines: list[int]) -> None:
    assert plain(turnlog("log", *words).out) == [LOG[line] for line in lines]


def test_log_says_when_there_is_more_than_it_shows(recorded: Settings, recording: Recording, turnlog: Turnlog) -> None:
    with recording.agent("count", conversation="demo"):
        for number in range(20):
            recording.tool("say", {"n": number})
    assert turnlog("log").out.splitlines()[-1] == "there is more: turnlog log -n 40"
    assert len(turnlog("log", "-n", "40").out.splitlines()) == 1 + 4 + 29
    assert len(turnlog("log", "--json").out.splitlines()) == 20


def test_what_nothing_matches_is_a_value(recorded: Settings, turnlog: Turnlog) -> None:
    said = "no commit matches: the session has no tool 'fly'. Nearest: read_file, run_tests, write_file"
    assert turnlog("log", "--tool", "fly") == (0, f"session demo\n{said}\n", "")


def test_a_call_that_runs_is_in_flight(recorded: Settings, recording: Recording, turnlog: Turnlog) -> None:
    start_call(recording, "run_tests", path="tests")
    assert plain(turnlog("log", "-n", "1").out)[2] == 'ID  TIME  run_tests  in flight  {"path":"tests"}'


def test_log_shows_what_a_turn_answered_unless_a_commit_says_it(recording: Recording, turnlog: Turnlog) -> None:
    with recording.agent("store it", conversation="demo") as agent:
        recording.tool("store", {"what": "it"}, "ok")
        recording.chat([user("store it")], [assistant("As the model says.")])
        agent.set({semconv.TURN_OUTPUT_SUMMARY: "Stored."})
    with recording.agent("and now?", conversation="demo") as agent:
        recording.chat([user("store it"), user("and now?")], [assistant("As the model says.")])
        agent.set({semconv.TURN_OUTPUT_SUMMARY: "As the model says."})
    assert plain(turnlog("log").out) == [
        "session demo",
        "turn 2  DAY TIME  and now?",
        "ID  TIME  decision  answer - As the model says.",
        "turn 1  DAY TIME  store it",
        "  answer  Stored.",
        "ID  TIME  decision  answer - As the model says.",
        'ID  TIME  store  {"what":"it"} -> ok',
    ]
    assert "Stored." not in turnlog("log", "--tool", "store").out


def test_a_lifecycle_state_is_said_once(recording: Recording, turnlog: Turnlog) -> None:
    resumed = {semconv.COMMIT_KIND: "lifecycle", semconv.LIFECYCLE_STATE: "resumed"}
    with recording.agent("go on", conversation="demo"):
        for how in ("resumed", "approved"):
            delta = [{"op": "drop", "kind": "pending", "key": "question", "value": how}]
            recording.start("", {semconv.COMMIT_DELTA: delta}, resumed).end()
    assert [line.partition("lifecycle")[2] for line in plain(turnlog("log").out)[2:]] == [
        "  resumed - approved  (refused: it could not follow)",
        "  resumed  (refused: it could not follow)",
    ]


def test_log_as_json_has_the_names_of_the_commit_and_real_values(recorded: Settings, turnlog: Turnlog) -> None:
    lines = [json.loads(line) for line in turnlog("log", "--json").out.splitlines()]
    assert [list(line) for line in lines] == [list(queries.Commit._fields)] * 9
    written = lines[1]
    assert written["delta"] == [
        {"op": "set", "kind": "tool", "key": "write_file", "value": "ok", "tier": "transient"},
        {
            "op": "set",
            "kind": "file",
            "key": "parser.py",
            "value": written["delta"][1]["value"],
            "tier": "durable",
            "action": "write",
            "evidence": "declared",
        },
    ]
    assert written["committed_at"].endswith("Z")


def test_a_session_is_named_by_a_unique_beginning_and_an_exact_name_wins(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("log", "-s", "demo-").out.startswith("session demo-old\n")
    assert turnlog("log", "-s", "demo").out.startswith("session demo\n")
    assert turnlog("log", "-s", "dem") == (
        1,
        "",
        "turnlog: 'dem' names 2 sessions: demo, demo-old. Give more of the id.\n",
    )
    assert turnlog("log", "--session", "demi") == (
        1,
        "",
        "turnlog: there is no session 'demi'. Nearest: demo, demo-old.\n",
    )


def test_a_turn_that_is_not_there_is_an_error_with_a_hint(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("log", "--turn", "9") == (1, "", "turnlog: session demo has turns 1 to 3; there is no turn 9.\n")


def test_show_tells_all_of_a_tool_call(recorded: Settings, turnlog: Turnlog) -> None:
    commit = json.loads(turnlog("log", "--tool", "write_file", "--json").out.splitlines()[0])
    assert plain(turnlog("show", commit["commit_id"][:7]).out) == [
        "commit ID",
        "session  demo",
        "turn  3  finish it",
        "time  DAY TIME  (MS)",
        "kind  tool  write_file",
        "outcome  ok",
        'input  {"path":"parser.py","content":"done"}',
        "input hash  HASH",
        "output  wrote 4 characters",
        "output hash  HASH",
        "trace  ID  span ID",
        "",
        "delta",
        "  set  tool:write_file  ok  (transient)",
        "  set  file:parser.py  HASH  (durable, write, declared)",
        "",
        "attributes",
        '  turnlog.file.actions  ["write parser.py"]',
        "  turnlog.file.evidence  declared",
        "  turnlog.state.changed_key.count  2",
        '  turnlog.state.changed_keys  ["tool:write_file","file:parser.py"]',
    ]


def test_show_tells_what_was_decided_why_and_instead_of_what(recorded: Settings, turnlog: Turnlog) -> None:
    commit = json.loads(turnlog("log", "--turn", "2", "--json").out.splitlines()[1])
    lines = plain(turnlog("show", commit["commit_id"]).out)
    assert lines[lines.index("decision") : lines.index("attributes") - 1] == [
        "decision",
        "  about  method",
        "  choice  a generator",
        "  reason  the tests hang  (stated)",
        "  instead of  recursive descent",
        "",
        "delta",
        "  set  decision:method  a generator  (durable)",
    ]


def test_show_without_a_name_is_the_newest_commit(recorded: Settings, turnlog: Turnlog) -> None:
    newest = json.loads(turnlog("log", "-n", "1", "--json").out)
    shown = json.loads(turnlog("show", "--json").out)
    assert {name: shown[name] for name in newest} == newest
    assert shown["decision"]["choice"] == "answer"
    assert shown["captured"] == {"input": None, "output": None}


def test_log_keeps_quiet_about_checkpoints_and_tells_forks(recording: Recording, turnlog: Turnlog) -> None:
    def save(name: str, source: str, parent: str, summary: str) -> None:
        saved = {semconv.CHECKPOINT_ID: name, semconv.CHECKPOINT_PARENT_ID: parent, semconv.CHECKPOINT_SOURCE: source}
        attributes = {semconv.COMMIT_KIND: "state", semconv.GEN_AI_CONVERSATION_ID: "demo", **saved}
        recording.start("", {semconv.COMMIT_INPUT_SUMMARY: summary}, attributes).end()

    with recording.agent("one", conversation="demo"):
        save("a", "input", "", "input: messages")
        recording.tool("look", {}, "nothing")
        save("b", "step", "a", "step 1: messages")
    with recording.agent("two", conversation="demo"):
        save("c", "input", "a", "input: messages")
        recording.tool("look", {}, "nothing")
    save("d", "update", "a", "update: n")
    edit, looked = "ID  TIME  state  fork of turn 1  update: n", "ID  TIME  look  {} -> nothing"
    one, two = "turn 1  DAY TIME  one", "turn 2  fork of turn 1  DAY TIME  two"
    hidden = "and 3 checkpoints: turnlog log --checkpoints"
    assert plain(turnlog("log").out) == ["session demo", two, edit, looked, one, looked, hidden]
    assert plain(turnlog("log", "--turn", "2").out)[-1] == "and 1 checkpoint: turnlog log --checkpoints --turn 2"
    assert plain(turnlog("log", "--tool", "look").out) == ["session demo", two, looked, one, looked]
    assert plain(turnlog("log", "--checkpoints").out) == [
        "session demo",
        two,
        edit,
        looked,
        "ID  TIME  state  input: messages",
        one,
        "ID  TIME  state  step 1: messages",
        looked,
        "ID  TIME  state  input: messages",
    ]


def test_show_has_the_captured_content(make_recording: Callable[..., Recording], turnlog: Turnlog) -> None:
    recording = make_recording(capture=Capture.FULL)
    with recording.agent("go", conversation="demo"):
        recording.tool("read_file", {"path": "poem"}, "one\ntwo\tthree")
    lines = turnlog("show").out.splitlines()
    assert lines[lines.index("input") :][:6] == ["input", '  {"path":"poem"}', "", "output", "  one", "  two    three"]


def test_a_commit_that_is_not_there_is_an_error_with_a_hint(recorded: Settings, turnlog: Turnlog) -> None:
    hint = "Ids are in the first column of: turnlog log"
    assert turnlog("show", "zzz") == (1, "", f"turnlog: there is no commit 'zzz'. {hint}\n")
    assert turnlog("show").code == 0
