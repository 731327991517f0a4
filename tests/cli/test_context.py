"""`turnlog context`, `log --evicted` and `state --evicted`: recorded from real messages, of which an application drops some."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.history import Turnlog, plain
from recording import Message, Recording, assistant, user
from turnlog import queries

NOTHING_LEFT = "session demo  out of context after turn 1\nnothing: the model can see all that it ever saw\n"


def asks(text: str, call: str, tool: str, **arguments: Any) -> Message:
    wanted = {"type": "tool_call", "id": call, "name": tool, "arguments": arguments}
    return {"role": "assistant", "parts": [{"type": "text", "content": text}, wanted]}


def result(call: str, text: str) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": text}]}


def play(recording: Recording, *, turns: int = 3) -> None:
    """Turn 1 reads a file and writes another; turn 2 forgets the reading, turn 3 all before turn 2."""
    read = asks("First the grammar.", "call-1", "read_file", path="grammar.md")
    wrote = asks("Now the parser.", "call-2", "write_file", path="parser.py")
    history = [user("write a parser")]
    with recording.agent("write a parser", conversation="demo"):
        recording.chat(history, [read])
        recording.tool("read_file", {"path": "grammar.md"}, "expr := term")
        history += [read, result("call-1", "expr := term")]
        recording.chat(history, [wrote])
        recording.tool("write_file", {"path": "parser.py"}, "wrote it")
        history += [wrote, result("call-2", "wrote it")]
        recording.chat(history, [assistant("It is written.")])
    history += [assistant("It is written."), user("test it")]
    if turns >= 2:
        del history[1:3]
        with recording.agent("test it", conversation="demo"):
            recording.chat(history, [assistant("It passes.")])
    history += [assistant("It passes."), user("and now?")]
    if turns >= 3:
        del history[:-3]
        with recording.agent("and now?", conversation="demo"):
            recording.chat(history, [assistant("Done.")])


TRIMMED = [
    "turn 2  DAY TIME  test it",
    "ID  TIME  trimmed  1 decision, 1 file, 1 result, 1 message",
    "  decision  turn 1  ID  call read_file - First the grammar.",
    "  file  grammar.md  turn 1  ID  read by read_file",
    "  result  read_file  turn 1  ID  expr := term",
    "  message  assistant  turn 1  ID  call read_file - First the grammar.",
]


def test_log_shows_what_left_the_context_key_by_key(recording: Recording, turnlog: Turnlog) -> None:
    play(recording)
    assert plain(turnlog("log", "--evicted").out) == [
        "session demo",
        "turn 3  DAY TIME  and now?",
        "ID  TIME  trimmed  1 decision, 1 file, 1 result, 3 messages",
        "  decision  turn 1  ID  call write_file - Now the parser.",
        "  file  parser.py  turn 1  ID  write by write_file",
        "  result  write_file  turn 1  ID  wrote it",
        "  message  user  turn 1  write a parser",
        "  message  assistant  turn 1  ID  call write_file - Now the parser.",
        "  message  assistant  turn 1  ID  It is written.",
        *TRIMMED,
    ]


def test_log_of_evictions_is_narrowed_like_the_log(recording: Recording, turnlog: Turnlog) -> None:
    play(recording)
    assert plain(turnlog("log", "--evicted", "--turn", "2").out) == ["session demo", *TRIMMED]
    assert len(plain(turnlog("log", "--evicted", "-n", "1").out)) == 9
    assert plain(turnlog("log", "--evicted", "--tool", "read_file").out) == [
        "session demo",
        TRIMMED[0],
        "ID  TIME  trimmed  1 file, 1 result",
        TRIMMED[3],
        TRIMMED[4],
    ]
    assert turnlog("log", "--evicted", "--failed").code == 2
    assert turnlog("log", "--evicted", "--turn", "9").err == "turnlog: session demo has turns 1 to 3; there is no turn 9.\n"


def test_the_log_counts_what_left(recording: Recording, turnlog: Turnlog) -> None:
    play(recording, turns=2)
    assert plain(turnlog("log", "--turn", "2").out) == [
        "session demo",
        "turn 2  DAY TIME  test it",
        "ID  TIME  decision  answer - It passes.",
        "ID  TIME  eviction  1 message, 1 result, 1 decision, 1 file left the context",
    ]


def test_state_shows_what_the_model_no_longer_sees(recording: Recording, turnlog: Turnlog) -> None:
    play(recording)
    assert plain(turnlog("state", "--evicted").out) == [
        "session demo  out of context after turn 3",
        "decision",
        "  turn 1  left in turn 3: trimmed  ID  call write_file - Now the parser.",
        "  turn 1  left in turn 2: trimmed  ID  call read_file - First the grammar.",
        "file",
        "  parser.py  turn 1  left in turn 3: trimmed  ID  write by write_file",
        "  grammar.md  turn 1  left in turn 2: trimmed  ID  read by read_file",
        "result",
        "  write_file  turn 1  left in turn 3: trimmed  ID  wrote it",
        "  read_file  turn 1  left in turn 2: trimmed  ID  expr := term",
        "message",
        "  assistant  turn 1  left in turn 3: trimmed  ID  It is written.",
        "  assistant  turn 1  left in turn 3: trimmed  ID  call write_file - Now the parser.",
        "  user  turn 1  left in turn 3: trimmed  write a parser",
        "  assistant  turn 1  left in turn 2: trimmed  ID  call read_file - First the grammar.",
    ]
    before = plain(turnlog("state", "--evicted", "--turn", "2").out)
    assert [line for line in before if "parser.py" in line or "turn 3" in line] == []
    assert len(before) == 9


def test_nothing_lost_is_a_value(recording: Recording, turnlog: Turnlog) -> None:
    play(recording, turns=1)
    assert turnlog("state", "--evicted") == (0, NOTHING_LEFT, "")
    assert turnlog("log", "--evicted") == (0, "session demo\nnothing has left the context\n", "")
    assert turnlog("state", "--evicted", "--json") == turnlog("log", "--evicted", "--json") == (0, "", "")


def test_a_long_list_is_cut_and_says_so(recording: Recording, turnlog: Turnlog) -> None:
    history = [message for number in range(20) for message in (user(f"say {number}"), assistant(f"said {number}"))]
    with recording.agent("say 20", conversation="demo"):
        recording.chat([*history, user("say 20")], [assistant("said 20")])
        recording.chat([history[-1], user("say 20")], [assistant("said 20")])
    assert turnlog("state", "--evicted").out.splitlines()[-1] == "  and 27 earlier ones: turnlog state --evicted --json"
    assert len(turnlog("state", "--evicted", "--json").out.splitlines()) == 39


def test_context_shows_what_the_model_could_see(recording: Recording, turnlog: Turnlog) -> None:
    play(recording)
    assert plain(turnlog("context").out) == [
        "session demo  turn 3  3 messages that model call ID saw",
        "user  turn 2  test it",
        "assistant  turn 2  ID  It passes.",
        "user  turn 3  and now?",
    ]
    assert plain(turnlog("context", "--turn", "1").out) == [
        "session demo  turn 1  5 messages that model call ID saw",
        "user  turn 1  write a parser",
        "assistant  turn 1  ID  call read_file - First the grammar.",
        "tool  turn 1  read_file ID  expr := term",
        "assistant  turn 1  ID  call write_file - Now the parser.",
        "tool  turn 1  write_file ID  wrote it",
    ]


def test_messages_of_a_context_are_numbered(recording: Recording, turnlog: Turnlog) -> None:
    play(recording)
    for words in (["context"], ["context", "--turn", "1"]):
        found = [json.loads(line)["position"] for line in turnlog(*words, "--json").out.splitlines()]
        assert found and found == list(range(1, len(found) + 1))
    assert [row["position"] for row in json.loads(turnlog("why", "--json").out)["context"]] == [1, 2, 3]


def test_context_of_a_session_without_model_calls_is_empty(recording: Recording, turnlog: Turnlog) -> None:
    with recording.agent("greet", conversation="demo"):
        recording.tool("greet", {"name": "you"}, "hi")
    assert turnlog("context") == (0, "session demo\nno model call is recorded with what it saw\n", "")


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (["log", "--evicted"], queries.Eviction),
        (["state", "--evicted"], queries.OutOfContext),
        (["context"], queries.Message),
    ],
)
def test_json_has_the_names_of_the_rows(recording: Recording, turnlog: Turnlog, words: list[str], row: Any) -> None:
    play(recording, turns=2)
    lines = [json.loads(line) for line in turnlog(*words, "--json").out.splitlines()]
    assert [list(line) for line in lines] == [list(row._fields)] * len(lines)
    assert lines
