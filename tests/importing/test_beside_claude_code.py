"""One run of the real Claude Code, recorded while it ran and imported afterwards: the log is the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recording import Recording
from turnlog import queries
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.importing.loading import Progress, found_files, load_files
from turnlog.instrument import instrument, uninstrument_all
from turnlog.operation import use_provider
from turnlog.settings import Settings

sdk = pytest.importorskip("claude_agent_sdk")

SESSION = str(uuid.uuid5(uuid.NAMESPACE_URL, "session"))
AGENT = {"description": "look", "prompt": "look", "subagent_type": "general-purpose", "run_in_background": False}
# Only these are told by both: a permission and the end of a connection are no lines of a transcript.
KINDS = ("decision", "tool", "eviction")


@pytest.fixture(autouse=True)
def _hooked(recording: Recording) -> Iterator[None]:
    use_provider(recording.provider)
    instrument("claude_agent_sdk", tracer_provider=recording.provider)
    yield
    uninstrument_all()
    use_provider(None)


def replies(folder: Path) -> dict[str, Reply]:
    path = str(folder / "new.txt")
    return {
        "write": Reply("I write.", tool_calls=[ToolCall("Write", {"file_path": path, "content": "hi"})]),
        "both": Reply(
            "I do both.",
            tool_calls=[
                ToolCall("Edit", {"file_path": path, "old_string": "hi", "new_string": "ho"}),
                ToolCall("Bash", {"command": "cat new.txt"}),
            ],
        ),
        "fail": Reply("I try.", tool_calls=[ToolCall("Bash", {"command": "ls nowhere"})]),
        "delegate": Reply("You look.", tool_calls=[ToolCall("Agent", AGENT)]),
        "look": Reply("I look.", tool_calls=[ToolCall("Read", {"file_path": path})]),
    }


def script(folder: Path) -> ScriptedModel:
    known = replies(folder)

    def answer(body: dict[str, Any]) -> Reply:
        said = next(message for message in reversed(body["messages"]) if message["role"] == "user")["content"]
        for part in reversed(said if isinstance(said, list) else [{"type": "text", "text": said}]):
            if part["type"] == "tool_result":
                return Reply("Done.")
            if part["text"].strip() in known:
                return known[part["text"].strip()]
            if "<summary>" in part["text"]:
                return Reply("<summary>We wrote.</summary>")
        return Reply("Hello.")

    return ScriptedModel(answer)


def log(settings: Settings) -> list[tuple[Any, ...]]:
    """What commits say, without ids and times. Of turns only their order: `/compact`, which no model answers, is one where it
    was heard, and none in a transcript."""
    with queries.reading(settings) as db:
        found = [each for each in reversed(queries.log(db, SESSION, limit=1000)) if each.kind in KINDS]
    order = sorted({each.turn for each in found})
    return [
        (order.index(each.turn), each.kind, each.tool, each.outcome, each.error, each.input_hash, each.choice) for each in found
    ]


async def test_the_imported_log_is_the_recorded_one(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    # A recorded path is told as seen from the program's folder, an imported one from the agent's.
    monkeypatch.chdir(home)
    environment = {
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(home),
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "HOME": str(home),
        "IS_SANDBOX": "1",
    }
    with script(home) as model:
        options = sdk.ClaudeAgentOptions(
            model="claude-sonnet-4-5",
            session_id=SESSION,
            cwd=home,
            setting_sources=[],
            permission_mode="bypassPermissions",
            env={**environment, "ANTHROPIC_BASE_URL": model.url},
        )
        async with sdk.ClaudeSDKClient(options) as client:
            for text in ("write", "both", "fail", "delegate", "/compact", "hello"):
                await client.query(text)
                async for _ in client.receive_response():
                    pass
    imported = Settings(directory=tmp_path / "imported")
    files = found_files([str(home / "projects")])
    for read in load_files(files, imported, "", Progress.over(files), lambda _: None):
        assert (read.error, read.bad_count, read.format) == ("", 0, "claude-code")
    assert len(log(imported)) == 18
    assert log(imported) == log(settings)
