"""The example of every framework that is installed here, as its first line says to run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from programs import commits, run

pytestmark = pytest.mark.usefixtures("made_here")


def record(example: str, directory: Path, **more: str) -> subprocess.CompletedProcess[str]:
    program = (sys.executable, f"examples/{example}")
    return run(sys.executable, "-m", "turnlog", "run", *program, directory=directory, **more)


def test_a_pydantic_ai_agent_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed")
    done = record("pydantic_ai_agent.py", tmp_path)
    assert (done.stdout, done.stderr) == ("Take an umbrella.\n", "")
    calls = [(1, "tool", "get_weather", "error"), (1, "tool", "get_weather", "ok")]
    said = (1, "decision", "", "ok")
    assert commits(tmp_path, "trip") == [said, calls[0], said, calls[1], said]


def test_a_llama_index_agent_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("llama_index.llms.openai", reason="llama-index is not installed")
    done = record("llama_index_agent.py", tmp_path)
    assert (done.stdout, done.stderr) == ("Take an umbrella.\n", "")
    assert commits(tmp_path, "oslo") == [(1, "decision", "", "ok"), (1, "tool", "get_weather", "ok"), (1, "decision", "", "ok")]


def test_calls_and_resources_of_an_mcp_server_are_recorded(tmp_path: Path) -> None:
    pytest.importorskip("mcp.client.client", reason="mcp 2 is not installed")
    pytest.importorskip("openai", reason="openai is not installed")
    done = record("mcp_tools.py", tmp_path)
    assert (done.stdout, done.stderr) == ("It was wet.\n", "")
    tools = [(1, "tool", name, "ok") for name in ("find_letter", "read_resource")]
    assert commits(tmp_path) == [(1, "decision", "", "ok"), *tools, (1, "decision", "", "ok")]


def test_calls_of_a_fastmcp_server_are_recorded_in_their_turns(tmp_path: Path) -> None:
    pytest.importorskip("fastmcp.telemetry", reason="fastmcp 4 is not installed")
    done = record("fastmcp_tools.py", tmp_path, FASTMCP_LOG_LEVEL="CRITICAL")
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["The spring of 1848 was wet.", "Nobody knows: no letters from 1830."]
    assert commits(tmp_path, "archive") == [
        (1, "tool", "find_letter", "ok"),
        (1, "tool", "read_resource", "ok"),
        (2, "tool", "find_letter", "error"),
    ]


def test_a_deep_agent_and_its_helper_are_one_turn(tmp_path: Path) -> None:
    pytest.importorskip("deepagents", reason="deepagents is not installed")
    done = record("deepagents_agent.py", tmp_path)
    assert (done.stdout, done.stderr) == ("There is no log yet; it is in my notes.\n", "")
    assert commits(tmp_path, "logs") == [
        (1, "decision", "", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "ls", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "task", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "write_file", "ok"),
        (1, "decision", "", "ok"),
    ]


def test_a_claude_agent_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed")
    done = record("claude_agent.py", tmp_path)
    assert (done.stdout, done.stderr) == ("Take an umbrella.\n", "")
    called = (1, "tool", "mcp__weather__get_weather", "ok")
    assert commits(tmp_path) == [(1, "decision", "", "ok"), called, (1, "decision", "", "ok")]


def test_an_approval_in_the_openai_agents_sdk_pauses_and_resumes(tmp_path: Path) -> None:
    pytest.importorskip("agents", reason="openai-agents is not installed")
    done = record("openai_agents.py", tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        'approved: book_table {"place": "Lorry", "guests": 2}',
        "Done: eight o'clock at Lorry.",
    ]
    assert commits(tmp_path, "dinner") == [
        (1, "decision", "", "ok"),
        (1, "lifecycle", "", "ok"),
        (2, "lifecycle", "", "ok"),
        (2, "tool", "book_table", "ok"),
        (2, "decision", "", "ok"),
    ]


def test_an_openai_agent_whose_memory_is_turnlogs_goes_on_in_another_process(tmp_path: Path) -> None:
    pytest.importorskip("agents", reason="openai-agents is not installed")
    said = "Asked so far: A table for two at Lorry, please."
    for expected in (said, f"{said} And for when?"):
        done = run(sys.executable, "examples/resume_openai_agents.py", directory=tmp_path)
        assert (done.stdout, done.stderr) == (f"{expected}\n", "")
    assert [row for row in commits(tmp_path, "dinner") if row[1] == "decision"] == [
        (1, "decision", "", "ok"),
        (2, "decision", "", "ok"),
    ]


def test_a_google_adk_agent_is_recorded_with_its_state(tmp_path: Path) -> None:
    pytest.importorskip("google.adk", reason="google-adk is not installed")
    done = record("google_adk_agent.py", tmp_path)
    assert done.stdout == "Take an umbrella.\n"
    said = (1, "decision", "", "ok")
    assert commits(tmp_path, "trip") == [said, (1, "tool", "get_weather", "ok"), (1, "note", "", "ok"), said]


@pytest.mark.parametrize(("package", "example"), [("strands", "strands_agent"), ("agent_framework", "agent_framework_agent")])
def test_an_agent_whose_framework_makes_spans_itself_is_recorded_once(tmp_path: Path, package: str, example: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    done = record(f"{example}.py", tmp_path)
    assert (done.stdout, done.stderr) == ("Take an umbrella.\n", "")
    assert commits(tmp_path) == [(1, "decision", "", "ok"), (1, "tool", "get_weather", "ok"), (1, "decision", "", "ok")]


def test_a_crewai_crew_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("crewai", reason="crewai is not installed")
    done = record("crewai_agent.py", tmp_path, HOME=str(tmp_path), CREWAI_STORAGE_DIR=str(tmp_path))
    assert done.stdout.splitlines()[-1] == "Take an umbrella."
    assert commits(tmp_path) == [(1, "decision", "", "ok"), (1, "tool", "get_weather", "ok"), (1, "decision", "", "ok")]
