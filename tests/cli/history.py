"""What the tests of the command line put into a history, and how they read what was printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from recording import Recording, assistant, user
from turnlog import semconv
from turnlog.semconv import GenAiOperation


class Printed(NamedTuple):
    code: int
    out: str
    err: str


Turnlog = Callable[..., Printed]


def record_history(recording: Recording) -> None:
    """An older session, and one of three turns: a file written, a tool that times out, a decision changed, work left open."""
    with recording.agent("hello", conversation="demo-old", name="greeter"):
        recording.tool("greet", {"name": "you"}, "hi")
    with recording.agent("write a parser", conversation="demo"):
        recording.chat(
            [user("write a parser")],
            [assistant("A parser starts with its grammar.", "read_file", "write_file")],
            **{semconv.GEN_AI_REQUEST_MODEL: "small", semconv.GEN_AI_USAGE_INPUT_TOKENS: 12},
        )
        recording.tool("read_file", {"path": "grammar.md"}, "expr := term")
        recording.tool("write_file", {"path": "parser.py", "content": "pass"}, "wrote 4 characters")
        decide(recording, "recursive descent", "small grammar", ["a generator"], "method")
    with recording.agent("test it", conversation="demo"):
        recording.tool("run_tests", {"path": "tests"}, error=TimeoutError("no end in sight"))
        decide(recording, "a generator", "the tests hang", ["recursive descent"], "method")
        change(recording, "set", "pending", "review", "have it reviewed")
    with recording.agent("finish it", conversation="demo"):
        recording.tool("write_file", {"path": "parser.py", "content": "done"}, "wrote 4 characters")
        done = {"type": "tool_call_response", "id": "call-9", "response": "wrote 4 characters"}
        recording.chat([user("write a parser"), {"role": "tool", "parts": [done]}], [assistant("It is done.")])


def start_call(recording: Recording, tool: str, **arguments: Any) -> None:
    """A tool call that does not end, in a new turn of the newest session."""
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments}
    recording.start(
        GenAiOperation.EXECUTE_TOOL, content, {semconv.GEN_AI_TOOL_NAME: tool, semconv.GEN_AI_CONVERSATION_ID: "demo"}
    )


def decide(recording: Recording, choice: str, why: str, alternatives: list[str], about: str) -> None:
    content = {
        semconv.DECISION_CHOICE: choice,
        semconv.DECISION_REASON_TEXT: why,
        semconv.DECISION_ALTERNATIVES: alternatives,
        semconv.DECISION_ABOUT: about,
    }
    recording.start("", content, {semconv.COMMIT_KIND: "decision"}).end()


def change(recording: Recording, op: str, kind: str, key: str, value: str) -> None:
    delta = [{"op": op, "kind": kind, "key": key, "value": value}]
    recording.start("", {semconv.COMMIT_DELTA: delta}, {semconv.COMMIT_KIND: "note"}).end()


def plain(text: str) -> list[str]:
    """The lines without what differs from run to run: ids, times, durations."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DAY TIME", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", text)
    text = re.sub(r"sha256:[0-9a-f]+", "HASH", text)
    text = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,32}\b|\b[a-f]{7,12}\b", "ID", text)
    text = re.sub(r"\(\S+ ms\)", "(MS)", text)
    text = re.sub(r"(running for|after at least) \S+ m?s\b", r"\1 MS", text)
    return [re.sub(r"  +", "  ", line) for line in text.splitlines()]
