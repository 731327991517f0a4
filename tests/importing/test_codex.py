"""Codex's rollouts become turns, model calls and tool calls.

The file in `transcripts/` was written by the real CLI (0.166.0) with the scripted model; what is older, and what that run did
not do, is put together here from the types of its protocol.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from importing.reading import TRANSCRIPTS, contexts, given, given_file, lines, said, tree
from turnlog.importing import files_below
from turnlog.received import ReceivedSpan

FOLDER = TRANSCRIPTS / "codex"
SESSION = "01a1e542-1f0d-7282-9b90-93f6bec2ad26"
(ROLLOUT,) = FOLDER.rglob("*.jsonl")
TURN, CHAT = "invoke_agent codex", "chat gpt-5.1-codex"
PATCH = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch"


class Rollout:
    def __init__(self, began: datetime = datetime(2025, 10, 1, 12, tzinfo=UTC), **meta: Any) -> None:
        self._began = began
        self.all: list[dict[str, Any]] = []
        self.add("session_meta", id="s-1", timestamp=self._at(), cwd="/home/ada/shop", cli_version="0.46.0", **meta)

    def add(self, line: str, **payload: Any) -> None:
        self.all.append({"timestamp": self._at(), "type": line, "payload": payload})

    def item(self, type: str, **item: Any) -> None:
        self.add("response_item", **{"type": type, **item})

    def event(self, type: str, **event: Any) -> None:
        self.add("event_msg", **{"type": type, **event})

    def says(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": kind, "text": text}])

    def calls(self, call: str, name: str, **arguments: Any) -> None:
        self.item("function_call", name=name, arguments=json.dumps(arguments), call_id=call)

    def read(self) -> list[ReceivedSpan]:
        found = given(lines(self.all))
        assert (found.format, found.bad) == ("codex", [])
        return found.spans

    def _at(self) -> str:
        return (self._began + timedelta(seconds=len(self.all))).isoformat().replace("+00:00", "Z")


def outcomes(spans: list[ReceivedSpan]) -> list[tuple[str, str, str]]:
    return [(span.name, str(span.attributes.get("error.type", "")), span.status_message) for span in spans]


def test_a_real_rollout_is_its_turns() -> None:
    found = given_file(ROLLOUT)
    assert (found.format, found.bad, found.unfinished) == ("codex", [], 0)
    assert tree(found.spans) == [
        ("", TURN),
        (TURN, CHAT),
        (TURN, CHAT),
        (TURN, "execute_tool exec_command"),
        ("", TURN),
        (TURN, CHAT),
        (TURN, CHAT),
        (TURN, "execute_tool exec_command"),
        ("", TURN),
        (TURN, CHAT),
        (TURN, CHAT),
        (TURN, "execute_tool apply_patch"),
    ]
    assert len({span.trace_id for span in found.spans}) == 3
    assert {span.attributes["session.id"] for span in found.spans} == {SESSION}
    assert found.spans[0].resource == {
        "service.name": "codex",
        "service.version": "0.166.0",
        "process.working_directory": "/home/ada/shop",
    }
    assert [each for each in outcomes(found.spans) if each[1]] == [
        ("execute_tool exec_command", "tool_error", "ls: cannot access '/nonexistent': No such file or directory\n"),
        ("execute_tool apply_patch", "tool_error", "unsupported call: apply_patch"),
    ]
    assert [span.attributes.get("process.exit.code") for span in found.spans if span.name.startswith("execute_tool")] == [
        *(0, 2, None)
    ]
    assert list(files_below(FOLDER)) == [ROLLOUT]
    assert found.spans == given_file(ROLLOUT).spans


def test_a_spans_attributes_are_genai_words() -> None:
    turn, chat, _, call = given_file(ROLLOUT).spans[:4]
    known = dict(chat.attributes)
    (instructions,) = known.pop("gen_ai.system_instructions")
    assert instructions["content"].startswith("You are a coding agent running in the Codex CLI")
    assert [said(message)[:20] for message in known.pop("gen_ai.input.messages")] == [
        "system: <skills_inst",
        "user: <environment_c",
        "user: write",
    ]
    assert known == {
        "gen_ai.operation.name": "chat",
        "session.id": SESSION,
        "gen_ai.conversation.id": SESSION,
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.name": "codex",
        "gen_ai.request.model": "gpt-5.1-codex",
        "gen_ai.response.model": "gpt-5.1-codex",
        "gen_ai.response.id": "resp_1",
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "gen_ai.output.messages": [
            {
                "role": "assistant",
                "parts": [
                    {"type": "text", "content": "I write."},
                    {
                        "type": "tool_call",
                        "id": "call_1_0",
                        "name": "exec_command",
                        "arguments": {"command": "echo hi > out.txt", "cmd": "echo hi > out.txt"},
                    },
                ],
            }
        ],
    }
    assert call.attributes["gen_ai.tool.call.id"] == "call_1_0"
    assert [said(message) for message in turn.attributes["gen_ai.input.messages"]] == ["user: write"]
    assert [said(message) for message in turn.attributes["gen_ai.output.messages"]] == ["assistant: Done."]


def test_a_rollout_of_2025_has_its_turns_from_what_the_user_says() -> None:
    rollout = Rollout(instructions="Be brief.")
    rollout.says("user", "<user_instructions>\n\nUse tabs.\n\n</user_instructions>")
    rollout.says("user", "<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>")
    rollout.says("user", "fix it")
    rollout.event("user_message", message="fix it", kind="plain")
    rollout.add("turn_context", cwd="/home/ada/shop", model="gpt-5-codex", approval_policy="on-request")
    rollout.event("agent_reasoning", text="**Looking**")
    rollout.item("reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}], encrypted_content="gAAA")
    rollout.calls("c1", "shell", command=["bash", "-lc", "ls nowhere"], workdir="/home/ada/shop")
    usage = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 9, "reasoning_output_tokens": 4}
    rollout.event("token_count", info={"last_token_usage": usage, "total_token_usage": usage}, rate_limits={})
    rollout.item(
        "function_call_output",
        call_id="c1",
        output=json.dumps({"output": "ls: nowhere\n", "metadata": {"exit_code": 2, "duration_seconds": 0.1}}),
    )
    rollout.item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c2", status="completed")
    rollout.item("custom_tool_call_output", call_id="c2", output='{"output":"Success.","metadata":{"exit_code":0}}')
    rollout.says("assistant", "Fixed.")
    rollout.says("user", "thanks")
    rollout.says("assistant", "Welcome.")
    spans = rollout.read()
    chat = "chat gpt-5-codex"
    assert tree(spans) == [
        ("", TURN),
        *[(TURN, chat)] * 3,
        (TURN, "execute_tool shell"),
        (TURN, "execute_tool apply_patch"),
        ("", TURN),
        (TURN, chat),
    ]
    first, shell, patch = spans[1].attributes, spans[4].attributes, spans[5].attributes
    assert [
        first[f"gen_ai.usage.{name}"] for name in ("input_tokens", "cache_read.input_tokens", "reasoning.output_tokens")
    ] == [*(100, 60, 4)]
    assert (shell["error.type"], shell["process.exit.code"], shell["gen_ai.tool.call.result"]) == (
        "tool_error",
        2,
        "ls: nowhere\n",
    )
    assert (patch["gen_ai.tool.call.arguments"], patch["gen_ai.tool.call.result"]) == (PATCH, "Success.")
    assert contexts(spans)[-1][2:] == [
        "user: fix it",
        "assistant: **Looking** | shell()",
        "tool: ls: nowhere\n",
        "assistant: apply_patch()",
        "tool: Success.",
        "assistant: Fixed.",
        "user: thanks",
    ]


def test_the_first_rollouts_had_bare_items_without_times() -> None:
    head = {"id": "s-0", "timestamp": "2025-06-26T10:00:00.000Z", "instructions": None, "git": {"branch": "main"}}
    items = [
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list"}]},
        {"type": "local_shell_call", "call_id": "c1", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One file."}]},
    ]
    found = given(lines([head, *items]))
    assert (found.format, found.bad) == ("codex", [])
    assert tree(found.spans) == [("", TURN), (TURN, "chat"), (TURN, "chat"), (TURN, "execute_tool local_shell")]
    assert found.spans[3].attributes["gen_ai.tool.call.arguments"] == {"type": "exec", "command": ["ls"]}
    starts = sorted(span.start_ns for span in found.spans)
    assert starts[0] >= 1_750_932_000_000_000_000 and len(set(starts)) > 2
    oldest = {"session": {"id": "s-0", "timestamp": head["timestamp"], "instructions": ""}, "items": items[1:]}
    assert tree(given(json.dumps(oldest, indent=2).encode()).spans) == tree(found.spans)


def test_compaction_replaces_the_context() -> None:
    rollout = Rollout()
    for words in ("one", "two"):
        rollout.says("user", words)
        rollout.says("assistant", f"{words}!")
    rollout.add("compacted", message="They counted.")
    rollout.says("user", "three")
    rollout.says("assistant", "three!")
    kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}
    rollout.add("compacted", message="", replacement_history=[kept])
    rollout.says("user", "four")
    rollout.says("assistant", "four!")
    spans = rollout.read()
    assert contexts(spans)[2:] == [["user: They counted.", "user: three"], ["user: one", "user: four"]]
    chats = [span for span in spans if span.name == "chat"]
    assert [span.attributes.get("gen_ai.conversation.compacted") for span in chats] == [None, None, True, True]


def test_what_is_said_while_a_task_runs_is_part_of_its_turn() -> None:
    rollout = Rollout()
    rollout.event("task_started", turn_id="t-1")
    rollout.says("user", "one")
    rollout.calls("c1", "exec_command", cmd="make")
    rollout.item("function_call_output", call_id="c1", output="made")
    rollout.says("user", "and quickly")
    rollout.says("assistant", "Done.")
    rollout.event("task_complete", turn_id="t-1")
    spans = rollout.read()
    assert tree(spans) == [("", TURN), (TURN, "chat"), (TURN, "chat"), (TURN, "execute_tool exec_command")]
    assert contexts(spans)[-1] == ["user: one", "assistant: exec_command()", "tool: made", "user: and quickly"]


def test_aborted_failed_denied_and_timed_out_say_so() -> None:
    rollout = Rollout()
    rollout.says("user", "one")
    rollout.calls("c1", "exec_command", cmd="rm -r /")
    rollout.item("function_call_output", call_id="c1", output="exec command rejected by user")
    rollout.calls("c2", "shell", command=["sleep", "99"])
    rollout.item("function_call_output", call_id="c2", output="command timed out after 1000 milliseconds\n")
    rollout.calls("c3", "shell", command=["false"])
    rollout.event("exec_command_end", call_id="c3", exit_code=1, stdout="", stderr="")
    rollout.item("function_call_output", call_id="c3", output={"content": "", "success": False})
    rollout.calls("c4", "shell", command=["cat"])
    rollout.event("turn_aborted", reason="interrupted")
    rollout.says("user", "two")
    rollout.event("error", message="You've hit your usage limit.")
    assert outcomes(rollout.read()) == [
        (TURN, "cancelled", ""),
        *[("chat", "", "")] * 4,
        ("execute_tool exec_command", "permission_denied", "exec command rejected by user"),
        ("execute_tool shell", "timeout", "command timed out after 1000 milliseconds\n"),
        ("execute_tool shell", "tool_error", ""),
        ("execute_tool shell", "cancelled", ""),
        (TURN, "error", "You've hit your usage limit."),
    ]


def test_turns_that_were_rolled_back_are_out_of_the_context() -> None:
    rollout = Rollout(forked_from_id="s-0")
    for words in ("one", "two", "three"):
        rollout.says("user", words)
        rollout.says("assistant", f"{words}!")
    rollout.event("thread_rolled_back", num_turns=2)
    rollout.says("user", "four")
    rollout.says("assistant", "four!")
    spans = rollout.read()
    assert contexts(spans)[-1] == ["user: one", "assistant: one!", "user: four"]
    assert spans[0].attributes["session.previous_id"] == "s-0"


def test_a_turn_that_may_still_be_going_on_is_left_for_later() -> None:
    rollout = Rollout(began=datetime.fromtimestamp(time.time() - 60, UTC))
    rollout.says("user", "one")
    rollout.calls("c1", "exec_command", cmd="make")
    found = given(lines(rollout.all))
    assert (found.spans, found.unfinished) == ([], 1)


def test_lines_that_are_none_are_told_and_the_rest_is_read() -> None:
    rollout = Rollout()
    rollout.says("user", "one")
    rollout.says("assistant", "one!")
    broken = {"timestamp": "never", "type": "response_item", "payload": {"type": "message"}}
    found = given(lines([*rollout.all, broken, {"timestamp": rollout.all[-1]["timestamp"], "type": "new_kind", "payload": {}}]))
    assert len(found.spans) == 2
    assert [(bad.place, bad.reason) for bad in found.bad] == [(4, "no line of a rollout: Invalid isoformat string: 'never'")]
