"""`turnlog state`, `files` and `diff`."""

from __future__ import annotations

import json
import re

from cli.history import Turnlog, change, plain, start_call
from cli.terminal import Terminal
from recording import Recording, assistant, user
from turnlog import queries, semconv
from turnlog.settings import Settings


def test_state_shows_entries_open_work_and_failures(recorded: Settings, recording: Recording, turnlog: Turnlog) -> None:
    start_call(recording, "deploy")
    assert plain(turnlog("state").out) == [
        "session demo  after turn 4",
        "decision",
        "  method  a generator  turn 2  ID",
        "  call read_file, write_file  turn 1  ID",
        "file",
        "  parser.py  write HASH  turn 3  write_file ID",
        "tool",
        "  write_file  ok  turn 3  write_file ID",
        "  run_tests  timeout  turn 2  run_tests ID",
        "  read_file  ok  turn 1  read_file ID",
        "open work",
        "  pending  turn 2  ID  since DAY TIME  have it reviewed",
        "  in flight  turn 4  ID  running for MS  deploy",
        "last failures",
        '  ID  turn 2  run_tests  TIMEOUT TimeoutError: no end in sight  {"path":"tests"}',
    ]


def test_a_call_that_waits_for_an_answer_says_so(recording: Recording, turnlog: Turnlog) -> None:
    asked = {"op": "set", "kind": "pending", "key": "question", "value": "remove it?"}
    paused = {semconv.COMMIT_KIND: "lifecycle", semconv.LIFECYCLE_STATE: "paused"}
    with recording.agent("clean up", conversation="demo"):
        recording.chat([user("clean up")], [assistant("", "remove")])
    assert plain(turnlog("state").out)[-1] == "  queued  turn 1  ID  since DAY TIME  remove (call-0)"
    with recording.agent("again", conversation="demo"):
        recording.chat([user("clean up")], [assistant("", "remove")])
        recording.start("", {semconv.COMMIT_DELTA: [asked]}, paused).end()
    assert plain(turnlog("state").out)[-2:] == [
        "  queued  turn 2  ID  since DAY TIME  remove (call-0) once the session goes on",
        "  pending  turn 2  ID  since DAY TIME  remove it?",
    ]


def test_failures_that_are_not_shown_are_counted(recording: Recording, turnlog: Turnlog) -> None:
    for text in ("first", "second"):
        with recording.agent(text, conversation="demo"):
            for number in range(6):
                recording.tool("run", {"number": number}, error=ValueError("no"))
    assert turnlog("state").out.splitlines()[-1] == "  and 7 earlier ones: turnlog log --failed"
    assert turnlog("state", "--turn", "1").out.splitlines()[-1] == "  and 1 earlier one: turnlog log --failed --turn 1"
    assert len(turnlog("log", "--failed", "--turn", "1").out.splitlines()) == 2 + 6


def test_a_long_value_leaves_room_for_the_columns_behind_it(settings: Settings, recording: Recording) -> None:
    question = json.dumps({f"key{number}": "value" for number in range(30)})
    with recording.agent("ask", conversation="demo"):
        change(recording, "set", "pending", "question", question)
        change(recording, "set", "fact", "a key that is long as well", question)
    with Terminal("state", settings=settings, NO_COLOR="1") as terminal:
        lines = terminal.all().splitlines()
    assert max(map(len, lines)) == 80
    fact, pending = (plain(line)[0] for line in (lines[2], lines[4]))
    assert re.fullmatch(r"  a key that is long as well  \{\"key0\".*…  turn 1  ID", fact)
    assert re.fullmatch(r"  pending  turn 1  ID  since DAY TIME  \{\"key0\".*…", pending)


def test_state_of_an_earlier_turn_is_as_it_was(recorded: Settings, turnlog: Turnlog) -> None:
    assert plain(turnlog("state", "--turn", "1").out) == [
        "session demo  after turn 1",
        "decision",
        "  method  recursive descent  turn 1  ID",
        "  call read_file, write_file  turn 1  ID",
        "file",
        "  parser.py  write HASH  turn 1  write_file ID",
        "tool",
        "  write_file  ok  turn 1  write_file ID",
        "  read_file  ok  turn 1  read_file ID",
    ]
    assert turnlog("state", "--turn", "4").code == 1


def test_state_as_json_is_one_entry_a_line(recorded: Settings, turnlog: Turnlog) -> None:
    lines = [json.loads(line) for line in turnlog("state", "--json").out.splitlines()]
    assert [list(line) for line in lines] == [list(queries.Entry._fields)] * 7
    assert [line["key"] for line in lines if line["kind"] == "pending"] == ["review"]


def test_files_of_the_last_turns_are_those_modified_in_them(recorded: Settings, turnlog: Turnlog) -> None:
    assert plain(turnlog("files", "--last", "1").out) == [
        "session demo  turn 3",
        "FILE  LAST  TURN  CHANGES  EVIDENCE  WHEN  BY",
        "parser.py  write  3  1  declared  DAY TIME  write_file ID",
    ]
    assert plain(turnlog("files").out)[0::2] == [
        "session demo  turns 1 to 3",
        "parser.py  write  3  2  declared  DAY TIME  write_file ID",
    ]


def test_all_files_includes_what_was_only_read(recorded: Settings, turnlog: Turnlog) -> None:
    assert plain(turnlog("files", "--all").out) == [
        "session demo  turns 1 to 3",
        "WHAT  KIND  LAST  TURN  TOUCHES  EVIDENCE  WHEN  BY",
        "parser.py  file  write  3  2  declared  DAY TIME  write_file ID",
        "grammar.md  file  read  1  1  declared  DAY TIME  read_file ID",
    ]


def test_files_as_json_has_the_names_of_the_rows(recorded: Settings, turnlog: Turnlog) -> None:
    assert list(json.loads(turnlog("files", "--json").out)) == list(queries.ModifiedFile._fields)
    touched = [json.loads(line) for line in turnlog("files", "--all", "--json").out.splitlines()]
    assert [list(row) for row in touched] == [list(queries.Touched._fields)] * 2


def test_no_files_is_a_value(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("files", "-s", "demo-old") == (0, "session demo-old  turn 1\nno files modified\n", "")
    assert turnlog("files", "-s", "demo-old", "--all").out.splitlines()[1] == "nothing touched"


def test_diff_of_two_turns_shows_entries_decisions_and_failures(recorded: Settings, turnlog: Turnlog) -> None:
    changed = [
        "~  decision  method  recursive descent -> a generator  ID",
        "+  pending  review  have it reviewed  ID",
        "+  tool  run_tests  timeout  run_tests ID",
    ]
    decided = "  ID  turn 2  method: a generator - the tests hang"
    failed = '  ID  turn 2  run_tests  TIMEOUT TimeoutError: no end in sight  {"path":"tests"}'
    assert plain(turnlog("diff", "1", "2").out) == [
        "session demo  turn 1 -> turn 2",
        *changed,
        "decisions",
        decided,
        "failures",
        failed,
    ]
    assert plain(turnlog("diff", "1", "3").out) == [
        "session demo  turn 1 -> turn 3",
        changed[0],
        "~  file  parser.py  HASH -> HASH  write_file ID",
        *changed[1:],
        "decisions",
        decided,
        "  ID  turn 3  answer",
        "failures",
        failed,
    ]


def test_diff_backwards_is_the_same_with_signs_reversed(recorded: Settings, turnlog: Turnlog) -> None:
    def lines(*turns: str) -> list[tuple[str, ...]]:
        shown = (line.split("  ") for line in plain(turnlog("diff", *turns).out))
        return [tuple(words[:3]) for words in shown if words[0] in ("+", "-", "~")]

    for a, b in (("0", "1"), ("1", "2"), ("2", "3"), ("0", "3")):
        signs = {"+": "-", "-": "+", "~": "~"}
        assert lines(b, a) and sorted(lines(b, a)) == sorted((signs[sign], *what) for sign, *what in lines(a, b))


def test_diff_of_one_turn_is_against_the_turn_before(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("diff", "2") == turnlog("diff", "1", "2")
    assert turnlog("diff") == turnlog("diff", "2", "3")
    first = plain(turnlog("diff", "1").out)
    assert first[0] == "session demo  turn 0 -> turn 1"
    assert first[1:] == [
        "+  decision  method  recursive descent  ID",
        "+  file  parser.py  write HASH  write_file ID",
        "+  tool  read_file  ok  read_file ID",
        "+  tool  write_file  ok  write_file ID",
        "decisions",
        "  ID  turn 1  call read_file, write_file - A parser starts with its grammar.",
        "  ID  turn 1  method: recursive descent - small grammar",
    ]


def test_diff_shows_what_ended(recorded: Settings, recording: Recording, turnlog: Turnlog) -> None:
    with recording.agent("review", conversation="demo"):
        change(recording, "drop", "pending", "review", "approved")
    assert plain(turnlog("diff").out) == ["session demo  turn 3 -> turn 4", "-  pending  review  have it reviewed  ID"]


def test_equal_turns_have_no_difference(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("diff", "2", "2").out == "session demo  turn 2 -> turn 2\nno difference\n"


def test_diff_as_json_is_one_object(recorded: Settings, turnlog: Turnlog) -> None:
    found = json.loads(turnlog("diff", "1", "2", "--json").out)
    assert list(found) == list(queries.TurnDiff._fields)
    assert [list(row) for row in found["differences"]] == [list(queries.Difference._fields)] * 3
    assert found["decisions"][0]["alternatives"] == ["recursive descent"]
    assert [list(row) for row in found["failures"]] == [list(queries.Failed._fields)]


def test_a_turn_that_is_not_there_is_named(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("diff", "9") == (1, "", "turnlog: session demo has turns 1 to 3; there is no turn 9.\n")
    assert turnlog("diff", "9", "2").err == "turnlog: session demo has turns 1 to 3; there is no turn 9.\n"
