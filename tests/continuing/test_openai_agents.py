"""`TurnlogSession`: the OpenAI Agents SDK's memory in turnlog's log, beside the SDK's own as the measure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="the OpenAI Agents SDK has an environment of its own: tests/frameworks/environments.py")

from agents import Agent, OpenAIResponsesModel, Runner, SessionSettings, SQLiteSession, function_tool, set_tracing_disabled
from agents.memory import Session
from openai import AsyncOpenAI

import turnlog
from programs import run_code
from turnlog import queries, runtime
from turnlog.continuing.openai_agents import TurnlogSession
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

SCRIPT = [Reply("I look.", tool_calls=[ToolCall("get_weather", {"city": "Oslo"})]), "Take an umbrella.", "Yes, still."]


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@pytest.fixture(autouse=True)
def _full(tmp_path: Path) -> Iterator[None]:
    set_tracing_disabled(True)
    turnlog.init(directory=tmp_path / "turnlog", capture="full")
    yield
    runtime.shutdown()


async def talk(session: Any) -> list[Any]:
    """The inputs of the model in a talk of two runs."""
    with ScriptedModel(SCRIPT) as model:
        client = AsyncOpenAI(base_url=model.base_url, api_key="none")
        agent = Agent("guide", model=OpenAIResponsesModel("scripted", client), tools=[get_weather])
        for said in ("What do I wear in Oslo?", "Still?"):
            await Runner.run(agent, said, session=session)
        await client.close()
    return [request.body["input"] for request in model.requests]


async def test_the_model_is_told_the_same_as_with_the_sdks_own_session() -> None:
    ours, theirs = TurnlogSession("s"), SQLiteSession("theirs")
    assert isinstance(ours, Session)
    assert await talk(ours) == await talk(theirs)
    assert await ours.get_items() == await theirs.get_items()


async def test_items_are_taken_away_limited_and_cleared_as_in_the_sdks_own() -> None:
    sessions = (TurnlogSession("s"), SQLiteSession("theirs"))
    items: list[Any] = [{"role": "user", "content": f"line {number}\n'é\""} for number in range(5)]
    for session in sessions:
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items(items[:2])
        await session.add_items(items[2:])
        assert await session.get_items() == items
        assert await session.get_items(limit=2) == items[-2:]
        assert await session.pop_item() == items[4]
        assert await session.pop_item() == items[3]
        await session.add_items([items[0]])
        assert await session.get_items() == [*items[:3], items[0]]
        await session.clear_session()
        assert await session.get_items() == []
        await session.add_items(items[:1])
        assert await session.get_items() == items[:1]
    assert await TurnlogSession("s", SessionSettings(limit=1)).get_items() == items[:1]


async def test_sessions_are_apart_also_when_they_are_written_at_once() -> None:
    sessions = [TurnlogSession(f"s{number}") for number in range(3)]
    await asyncio.gather(*(each.add_items([{"role": "user", "content": each.session_id}]) for each in sessions for _ in "abc"))
    assert [await each.get_items() for each in sessions] == [
        [{"role": "user", "content": each.session_id}] * 3 for each in sessions
    ]


async def test_memory_and_log_are_of_one_session_and_secrets_stay_out(tmp_path: Path) -> None:
    await talk(TurnlogSession("s"))
    await TurnlogSession("s").add_items([{"role": "user", "content": "password=hunter22"}])
    with queries.reading(runtime.settings_in_use()) as db:
        assert [session.session_id for session in queries.sessions(db)] == ["s"]
        assert queries.session_of(db, "s").turns == 2
    assert "hunter22" not in str(await TurnlogSession("s").get_items())


async def test_another_process_goes_on_with_the_items(tmp_path: Path) -> None:
    await talk(TurnlogSession("s"))
    items = await TurnlogSession("s").get_items()
    runtime.shutdown()
    code = """
import asyncio, json, turnlog
from turnlog.continuing.openai_agents import TurnlogSession
turnlog.resume("s")
print(json.dumps(asyncio.run(TurnlogSession("s").get_items())))
"""
    done = run_code(code, tmp_path / "turnlog", TURNLOG_CAPTURE="full")
    assert json.loads(done.stdout) == items


def test_without_full_capture_it_is_refused_before_anything_is_lost(tmp_path: Path) -> None:
    code = """
import turnlog
from turnlog.continuing.openai_agents import TurnlogSession
try:
    TurnlogSession("s")
except turnlog.NotCaptured as error:
    print(error)
"""
    said = (
        "TurnlogSession would lose its items. Only what is recorded with TURNLOG_CAPTURE=full can be gone on from in this way, "
    )
    assert run_code(code, tmp_path).stdout == said + "or after turnlog.init(capture='full').\n"
    said = "turnlog is disabled, so it can keep no items: unset TURNLOG_DISABLED, or use another Session.\n"
    assert run_code(code, tmp_path, TURNLOG_DISABLED="1").stdout == said
