"""Claude Code's transcripts become turns, model calls and tool calls.

The files in `transcripts/` were written by the real CLI (2.1.325) with the scripted model; what is older is put together here.
"""

from __future__ import annotations

import itertools
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from importing.reading import TRANSCRIPTS, contexts, given, given_file, lines, said, tree
from turnlog.importing import files_below
from turnlog.received import ReceivedSpan

FOLDER = TRANSCRIPTS / "claude_code"
SESSION = "08838aae-8089-576b-a5a5-6c469f49fd9a"
MAIN = FOLDER / "-home-ada-shop" / f"{SESSION}.jsonl"
TURN, CHAT = "invoke_agent claude-code", "chat claude-sonnet-4-5"


class Lines:
    """A transcript, line by line, as older versions wrote it."""

    def __init__(self, began: datetime = datetime(2025, 6, 1, 12, tzinfo=UTC), session: str = "s-1") -> None:
        self.all: list[dict[str, Any]] = []
        self._began = began
        self._session = session
        self._numbers = itertools.count(1)

    def add(self, kind: str, **more: Any) -> str:
        number = next(self._numbers)
        uuid = f"u{number}"
        at = self._began + timedelta(seconds=number)
        line = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": f"u{number - 1}" if number > 1 else None,
            "timestamp": at.isoformat().replace("+00:00", "Z"),
            "sessionId": self._session,
            "cwd": "/home/ada/shop",
            "version": "1.0.31",
            "isSidechain": False,
            **more,
        }
        self.all.append(line)
        return str(line["uuid"])

    def user(self, content: Any, **more: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **more)

    def result(self, call: str, content: Any, **more: Any) -> str:
        failed = {"is_error": True} if more.pop("is_error", False) else {}
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": content, **failed}], **more)

    def assistant(self, id: str, *blocks: Any, **more: Any) -> str:
        message = {
            "id": id,
            "role": "assistant",
            "model": "claude-opus-4",
            "content": [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks],
            "stop_reason": None,
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 2, "output_tokens": 5},
        }
        return self.add("assistant", message=message, **more)

    def read(self) -> list[ReceivedSpan]:
        found = given(lines(self.all))
        assert (found.format, found.bad) == ("claude-code", [])
        return found.spans


def use(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def outcomes(spans: list[ReceivedSpan]) -> list[tuple[str, str, str]]:
    return [(span.name, str(span.attributes.get("error.type", "")), span.status_message) for span in spans]


def test_a_real_session_is_its_turns_with_sub_agents_inside_the_calls_that_ran_them() -> None:
    found = given_file(MAIN)
    assert (found.format, found.bad, found.unfinished) == ("claude-code", [], 0)
    assert tree(found.spans) == [
        ("", TURN),
        (TURN, CHAT),
        (TURN, CHAT),
        (TURN, "execute_tool Write"),
        ("", TURN),
        (TURN, CHAT),
        (TURN, CHAT),
        (TURN, "execute_tool Edit"),
        (TURN, "execute_tool Bash"),
        ("", TURN),
        (TURN, CHAT),
        (TURN, CHAT),
        (TURN, "execute_tool Bash"),
        ("", TURN),
        (TURN, CHAT),
        (TURN, CHAT),
        (TURN, "execute_tool Agent"),
        ("execute_tool Agent", "invoke_agent general-purpose"),
        ("invoke_agent general-purpose", CHAT),
        ("invoke_agent general-purpose", CHAT),
        ("invoke_agent general-purpose", "execute_tool Read"),
        ("", TURN),
        (TURN, CHAT),
        ("", TURN),
        (TURN, "chat"),
        ("", TURN),
        (TURN, CHAT),
        (TURN, CHAT),
        (TURN, "execute_tool Write"),
    ]
    assert len({span.trace_id for span in found.spans}) == 7
    assert {span.attributes["session.id"] for span in found.spans} == {SESSION}
    assert found.spans[0].resource == {
        "service.name": "claude-code",
        "service.version": "2.1.325",
        "process.working_directory": "/home/ada/shop",
    }
    assert [each for each in outcomes(found.spans) if each[1]] == [
        ("execute_tool Bash", "tool_error", "Exit code 2\nls: cannot access '/nonexistent': No such file or directory"),
        (TURN, "invalid_request_error", "API Error: 400 no"),
        ("chat", "invalid_request_error", "API Error: 400 no"),
    ]


def test_a_spans_attributes_are_genai_words() -> None:
    turn, chat, _, write = given_file(MAIN).spans[:4]
    assert dict(chat.attributes) == {
        "gen_ai.operation.name": "chat",
        "session.id": SESSION,
        "gen_ai.conversation.id": SESSION,
        "gen_ai.provider.name": "anthropic",
        "gen_ai.agent.name": "claude-code",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.model": "claude-sonnet-4-5",
        "gen_ai.response.finish_reasons": ["tool_use"],
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.cache_write.input_tokens": 0,
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "write"}]}],
        "gen_ai.output.messages": [
            {
                "role": "assistant",
                "parts": [
                    {"type": "text", "content": "I write the parser."},
                    {
                        "type": "tool_call",
                        "id": "call_1_0",
                        "name": "Write",
                        "arguments": {"file_path": "/home/ada/shop/src/parser.py", "content": "x = 1\n"},
                    },
                ],
                "finish_reason": "tool_use",
            }
        ],
    }
    assert write.attributes["gen_ai.tool.call.arguments"] == {"file_path": "/home/ada/shop/src/parser.py", "content": "x = 1\n"}
    assert write.attributes["gen_ai.tool.call.result"].startswith("File created successfully")
    assert [said(message) for message in turn.attributes["gen_ai.input.messages"]] == ["user: write"]
    assert [said(message) for message in turn.attributes["gen_ai.output.messages"]] == ["assistant: Done."]
    assert turn.start_ns <= chat.start_ns <= chat.end_ns <= write.end_ns <= turn.end_ns


def test_after_a_real_compaction_the_context_is_the_summary_and_what_was_preserved() -> None:
    spans = given_file(MAIN).spans
    compacted = [span for span in spans if span.attributes.get("gen_ai.conversation.compacted")]
    (context,) = contexts(compacted)
    assert [message[:30] for message in context] == [
        "user: This session is being co",
        "assistant: Done.",
        "user: <local-command-caveat>Th",
        "user: <command-name>/compact</",
        "user: <local-command-stdout>Co",
        "user: hello",
    ]


def test_reading_again_gives_the_same_spans_and_shares_the_messages_of_contexts() -> None:
    spans = given_file(MAIN).spans
    assert spans == given_file(MAIN).spans
    first, second = [span.attributes["gen_ai.input.messages"] for span in spans if span.name == CHAT][:2]
    assert first[0] is second[0]


def test_a_folder_gives_sessions_and_not_their_sub_agents() -> None:
    assert list(files_below(FOLDER)) == [MAIN]


def test_a_sub_agents_file_without_its_session_is_read_by_itself(tmp_path: Path) -> None:
    (inner,) = MAIN.with_suffix("").glob("subagents/*.jsonl")
    alone = tmp_path / inner.name
    alone.write_bytes(inner.read_bytes())
    assert list(files_below(tmp_path)) == [alone]
    assert tree(given_file(alone).spans) == [("", TURN), (TURN, CHAT), (TURN, CHAT), (TURN, "execute_tool Read")]


def test_a_sub_agent_that_no_result_tells_of_is_still_in_its_call(tmp_path: Path) -> None:
    whole = MAIN.read_bytes().splitlines(keepends=True)
    asked = next(index for index, line in enumerate(whole) if b'"name":"Agent"' in line)
    cut = tmp_path / MAIN.name
    cut.write_bytes(b"".join(whole[: asked + 1]).replace(b"2026-11-16T", b"2025-11-16T"))
    inner = cut.with_suffix("") / "subagents"
    inner.mkdir(parents=True)
    for path in MAIN.with_suffix("").glob("subagents/*"):
        (inner / path.name).write_bytes(path.read_bytes() + b"{oops\n" * path.name.endswith(".jsonl"))
    found = given_file(cut)
    agent = "invoke_agent general-purpose"
    assert tree(found.spans)[-5:] == [
        (TURN, "execute_tool Agent"),
        ("execute_tool Agent", agent),
        (agent, CHAT),
        (agent, CHAT),
        (agent, "execute_tool Read"),
    ]
    assert [bad.reason for bad in found.bad] == [f"no JSON ({next(inner.glob('*.jsonl')).name})"]


def test_blocks_of_one_message_are_one_answer_though_a_tool_ran_in_between() -> None:
    said_by = Lines()
    said_by.user("look twice")
    said_by.assistant("m1", {"type": "thinking", "thinking": "Two files.", "signature": "x"})
    said_by.assistant("m1", use("c1", "Read", file_path="a"))
    said_by.result("c1", "A")
    said_by.assistant("m1", use("c2", "Read", file_path="b"))
    said_by.result("c2", [{"type": "text", "text": "B"}])
    said_by.assistant("m2", "Both read.")
    spans = said_by.read()
    assert contexts(spans) == [
        ["user: look twice"],
        ["user: look twice", "assistant: Two files. | Read() | Read()", "tool: A", "tool: B"],
    ]
    chat = spans[1].attributes
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.cache_read.input_tokens"]) == (15, 10)
    assert [span.attributes["gen_ai.tool.call.result"] for span in spans[3:]] == ["A", "B"]


def test_sidechains_in_the_sessions_own_file_are_inside_their_calls() -> None:
    said_by = Lines()
    said_by.user("delegate")
    said_by.assistant("m1", use("c1", "Task", prompt="count", subagent_type="counter"), use("c2", "Task", prompt="sort"))
    first = said_by.user("count", isSidechain=True, parentUuid=None)
    second = said_by.user("sort", isSidechain=True, parentUuid=None)
    one = said_by.assistant("m2", use("c3", "Bash", command="wc"), isSidechain=True, parentUuid=first)
    said_by.assistant("m3", "Sorted.", isSidechain=True, parentUuid=second)
    result = said_by.result("c3", "3", isSidechain=True, parentUuid=one)
    said_by.assistant("m4", "Three.", isSidechain=True, parentUuid=result)
    said_by.result("c1", "Three.")
    said_by.result("c2", "Sorted.")
    said_by.assistant("m5", "Done.")
    chat, task = "chat claude-opus-4", "execute_tool Task"
    assert sorted(tree(said_by.read())) == sorted(
        [
            ("", TURN),
            (TURN, chat),
            (TURN, chat),
            (TURN, task),
            (TURN, task),
            (task, "invoke_agent counter"),
            ("invoke_agent counter", chat),
            ("invoke_agent counter", "execute_tool Bash"),
            ("invoke_agent counter", chat),
            (task, "invoke_agent sub-agent"),
            ("invoke_agent sub-agent", chat),
        ]
    )


def test_what_the_cli_writes_in_the_users_name_opens_no_turn() -> None:
    said_by = Lines()
    said_by.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
    said_by.user(
        "<command-name>/review</command-name>\n<command-message>review</command-message>\n<command-args>17</command-args>"
    )
    said_by.user([{"type": "text", "text": "Review this pull request."}], isMeta=True)
    said_by.assistant("m1", "Reviewed.")
    said_by.user("<command-name>/model</command-name>")
    said_by.user("<local-command-stdout>Set model</local-command-stdout>")
    said_by.user("thanks")
    said_by.assistant("m2", "Welcome.")
    turns = [span for span in said_by.read() if span.name == TURN]
    assert [said(span.attributes["gen_ai.input.messages"][0]) for span in turns] == ["user: /review 17", "user: thanks"]


def test_denied_timed_out_and_interrupted_calls_say_so() -> None:
    said_by = Lines()
    said_by.user("go")
    said_by.assistant("m1", use("c1", "Write", file_path="a"), use("c2", "Bash", command="sleep 600"), use("c3", "Read"))
    said_by.result("c1", "The user doesn't want to proceed with this tool use.", is_error=True)
    said_by.result("c2", "Command timed out after 2m 0.0s", is_error=True)
    said_by.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    said_by.user("and now?")
    said_by.user([{"type": "text", "text": "[Request interrupted by user]"}])
    assert outcomes(said_by.read()) == [
        (TURN, "cancelled", ""),
        ("chat claude-opus-4", "", ""),
        ("execute_tool Write", "permission_denied", "The user doesn't want to proceed with this tool use."),
        ("execute_tool Bash", "timeout", "Command timed out after 2m 0.0s"),
        ("execute_tool Read", "cancelled", ""),
        (TURN, "cancelled", ""),
    ]


def test_a_prompt_that_goes_back_begins_another_branch() -> None:
    said_by = Lines()
    said_by.user("one")
    first = said_by.assistant("m1", "First.")
    said_by.user("two")
    said_by.assistant("m2", "Second.")
    said_by.user("two, better", parentUuid=first)
    said_by.assistant("m3", "Third.")
    assert contexts(said_by.read())[-1] == ["user: one", "assistant: First.", "user: two, better"]


def test_an_old_summary_without_a_boundary_compacts_too() -> None:
    said_by = Lines()
    said_by.user("one")
    said_by.assistant("m1", "First.")
    said_by.user("This session is being continued.", isCompactSummary=True, parentUuid=None)
    said_by.user("two")
    said_by.assistant("m2", "Second.")
    spans = said_by.read()
    assert contexts(spans)[-1] == ["user: This session is being continued.", "user: two"]
    assert [span.attributes.get("gen_ai.conversation.compacted") for span in spans] == [None, None, None, True]


def test_a_session_that_goes_on_in_the_same_file_knows_what_was_said() -> None:
    said_by = Lines()
    said_by.user("one")
    said_by.assistant("m1", "First.")
    said_by.user("two", sessionId="s-2")
    said_by.assistant("m2", "Second.", sessionId="s-2")
    spans = said_by.read()
    turns = {span.attributes["session.id"]: span for span in spans if span.name == TURN}
    assert turns["s-2"].attributes["session.previous_id"] == "s-1"
    assert sorted(contexts(spans), key=len)[-1] == ["user: one", "assistant: First.", "user: two"]


def test_a_turn_that_may_still_be_going_on_is_left_for_later() -> None:
    said_by = Lines(began=datetime.fromtimestamp(time.time() - 60, UTC))
    said_by.user("one")
    said_by.assistant("m1", "First.")
    said_by.user("two")
    said_by.assistant("m2", use("c1", "Bash", command="make"))
    found = given(lines(said_by.all))
    assert ([span.name for span in found.spans], found.unfinished) == ([TURN, "chat claude-opus-4"], 1)
    said_by.result("c1", "made")
    said_by.assistant("m3", "Second.")
    later = given(lines(said_by.all))
    assert (later.spans[:2], len(later.spans), later.unfinished) == (found.spans, 6, 0)


def test_of_a_session_that_was_killed_long_ago_all_is_told() -> None:
    said_by = Lines()
    said_by.user("two")
    said_by.assistant("m2", use("c1", "Bash", command="make"))
    assert outcomes(said_by.read()) == [
        (TURN, "", ""),
        ("chat claude-opus-4", "", ""),
        ("execute_tool Bash", "cancelled", ""),
    ]


def test_lines_that_are_none_are_told_and_the_rest_is_read() -> None:
    said_by = Lines()
    said_by.user("one")
    said_by.assistant("m1", "First.")
    broken = {**said_by.all[0], "message": None, "uuid": "u9"}
    summary = {"type": "summary", "summary": "A talk", "leafUuid": "u2"}
    found = given(lines([summary, *said_by.all, broken, 7]) + json.dumps(said_by.all[0]).encode()[:-9])
    assert [span.name for span in found.spans] == [TURN, "chat claude-opus-4"]
    assert [(bad.place, bad.reason) for bad in found.bad] == [
        (4, "no line of a transcript: it has another form"),
        (5, "no line of a transcript"),
        (6, "cut off"),
    ]


def test_a_last_answer_that_makes_no_sense_costs_itself_only() -> None:
    said_by = Lines()
    said_by.user("one")
    said_by.assistant("m1", "First.")
    said_by.user("two")
    said_by.assistant("m2", {"type": "tool_use", "id": "c1", "name": "Bash"}, {"type": "tool_result"})
    found = given(lines(said_by.all))
    assert [span.name for span in found.spans] == [TURN, "chat claude-opus-4"]
    assert [(bad.place, bad.reason) for bad in found.bad] == [(4, "no turn in a transcript: 'tool_use_id' is missing")]
