"""What the page's tests look at: the demo as it really runs, and three sessions made so that something is to be seen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from programs import run
from recording import Message, Recording, assistant, user
from store.attempts import Attempts
from turnlog import semconv
from turnlog.settings import Settings
from turnlog.store.loader import load

TRACES = "http://localhost:16686/trace/{trace_id}"


def tell(directory: Path) -> None:
    """The demo, twice, with all content; `parser`, which forgets and trusts too much; and `s`, which tries again."""
    for _ in range(2):
        run(sys.executable, "-m", "turnlog", "demo", directory=directory, TURNLOG_CAPTURE="full")
    settings = Settings(directory=directory, distrust=("read_page",))
    recording = Recording(settings)
    forget(recording)
    recording.journal.close()
    recording.close()
    attempts = Attempts(settings)
    try_again(attempts)
    attempts.writer.close()
    load(settings, patience=5)


def _asks(text: str, call: str, tool: str, **arguments: Any) -> Message:
    wanted = {"type": "tool_call", "id": call, "name": tool, "arguments": arguments}
    return {"role": "assistant", "parts": [{"type": "text", "content": text}, wanted]}


def _result(call: str, text: str) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": text}]}


def forget(recording: Recording) -> None:
    """Turn 1 reads a page that nobody verified and writes a file; turn 2 no longer has the page in its context."""
    read = _asks("First the grammar.", "call-1", "read_page", path="grammar.md")
    wrote = _asks("Now the parser.", "call-2", "write_file", path="parser.py")
    history = [user("write a parser")]
    with recording.agent("write a parser", conversation="parser", name="builder"):
        recording.chat(history, [read], **{semconv.GEN_AI_USAGE_INPUT_TOKENS: 1200, semconv.GEN_AI_USAGE_OUTPUT_TOKENS: 34})
        recording.tool("read_page", {"path": "grammar.md"}, "expr := term")
        history += [read, _result("call-1", "expr := term")]
        recording.chat(history, [wrote])
        recording.tool("write_file", {"path": "parser.py"}, "wrote it")
        history += [wrote, _result("call-2", "wrote it")]
        recording.chat(history, [assistant("It is written.")])
    history += [assistant("It is written."), user("test it")]
    del history[1:3]
    with recording.agent("test it", conversation="parser", name="builder"):
        recording.chat(history, [assistant("It passes.")])


def try_again(attempts: Attempts) -> None:
    """Turn 2 times out; the same again in turn 3, where it does not."""
    read = {"input_summary": '{"path":"plan.md"}', "output_summary": "step one"}
    slow = {
        "input_summary": '{"target":"tests"}',
        "outcome": "timeout",
        "output_hash": "",
        "error_type": "TimeoutError",
        "status_message": "no end in sight",
    }
    attempts.run("t1", prefix="nothing", text="make a plan")
    attempts.run("t2", text="follow it", read=read, run=slow)
    attempts.run("t3", text="follow it", read=read, run={"input_summary": '{"target":"tests"}', "output_summary": "3 passed"})
