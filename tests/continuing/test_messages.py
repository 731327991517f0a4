"""`turnlog.messages()`: a conversation as it was recorded from real SDKs, in the form that OpenAI's chat API takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI

import turnlog
from programs import run_code
from turnlog import runtime
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

ASKED = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":[2]}'}}
CALL = Reply("I add.", tool_calls=[ToolCall("add", {"a": 1, "b": [2]}, "c1")])


@pytest.fixture
def _full(tmp_path: Path) -> Iterator[None]:
    turnlog.init(directory=tmp_path / "turnlog", session="s", capture="full")
    yield
    runtime.shutdown()


def chat(model: ScriptedModel, messages: list[Any]) -> None:
    OpenAI(base_url=model.base_url, api_key="none").chat.completions.create(model="scripted", messages=messages)


@pytest.mark.usefixtures("_full")
def test_what_was_sent_and_answered_comes_back_as_it_was() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    sent = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]},
        {"role": "assistant", "content": "I add.", "tool_calls": [ASKED]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    ]
    with ScriptedModel(["It is 3."]) as model:
        chat(model, sent)
        found = turnlog.messages("s")
        assert found == [*sent, {"role": "assistant", "content": "It is 3."}]
        # It can be sent as it is.
    with ScriptedModel(["Yes."]) as model:
        chat(model, found)
        assert model.requests[0].body["messages"] == found


@pytest.mark.usefixtures("_full")
def test_a_call_that_failed_is_answered_with_its_error() -> None:
    @turnlog.tool
    def add(a: int, b: list[int]) -> int:
        raise ValueError("b is no number")

    with ScriptedModel([CALL]) as model, turnlog.turn("Add."):
        chat(model, [{"role": "user", "content": "Add."}])
        with pytest.raises(ValueError, match="b is no number"):
            add(1, [2])
    assert turnlog.messages("s")[1:] == [
        {"role": "assistant", "content": "I add.", "tool_calls": [ASKED]},
        {"role": "tool", "tool_call_id": "c1", "content": "error: b is no number"},
    ]


@pytest.mark.usefixtures("_full")
def test_of_a_call_that_nobody_recorded_it_is_said_that_it_may_have_run() -> None:
    with ScriptedModel([CALL]) as model:
        chat(model, [{"role": "user", "content": "Add."}])
    assert turnlog.messages("s")[-1] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "unknown: nothing is recorded of this call; it may or may not have taken effect",
    }


@pytest.mark.usefixtures("_full")
def test_a_conversation_with_claude_goes_on_with_another_model() -> None:
    sent: list[Any] = [
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1, "b": [2]}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]},
    ]
    with ScriptedModel(["It is 3."]) as model:
        client = Anthropic(base_url=model.url, api_key="none")
        client.messages.create(model="scripted", max_tokens=10, system="Be brief.", messages=sent)
    found = turnlog.messages("s")
    assert found == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": None, "tool_calls": [ASKED]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "assistant", "content": "It is 3."},
    ]


@pytest.mark.usefixtures("_full")
def test_secrets_do_not_come_back() -> None:
    with ScriptedModel(["Kept."]) as model:
        chat(model, [{"role": "user", "content": "password=hunter22 is mine"}])
    assert "hunter22" not in json.dumps(turnlog.messages("s"))


def test_what_was_not_captured_is_said_with_the_remedy(tmp_path: Path) -> None:
    code = """
import turnlog
from openai import OpenAI
from turnlog.demo.scripted_model import ScriptedModel
turnlog.init(session="s")
with ScriptedModel(["Yes."]) as model:
    client = OpenAI(base_url=model.base_url, api_key="none")
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Well?"}])
turnlog.init()
with turnlog.session("other"), turnlog.turn("go"):
    turnlog.note("no model was asked")
for session in ("s", "other"):
    try:
        turnlog.messages(session)
    except turnlog.NotCaptured as error:
        print(error)
"""
    assert run_code(code, tmp_path).stdout.splitlines() == [
        "session s: a message of user was not kept. Only what is recorded with TURNLOG_CAPTURE=full can be gone on from in "
        "this way: set it before the program starts.",
        "session other has no model call with a context that could be gone on from.",
    ]
