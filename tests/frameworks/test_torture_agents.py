"""The same as `test_torture.py` for the OpenAI Agents SDK, which has an environment of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("agents", reason="the OpenAI Agents SDK has an environment of its own: tests/frameworks/environments.py")

from frameworks import tortured


@pytest.fixture(scope="module", params=["openai_agents"])
def subject(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def played(subject: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every exception that a program meets is the object that it was, and nothing complains: else it fails here."""
    directory = tmp_path_factory.mktemp(subject)
    tortured.play_all(subject, directory)
    return directory


@pytest.mark.parametrize("program", tortured.ASKED)
def test_every_span_has_its_session_and_turn(played: Path, program: str) -> None:
    tortured.check_sessions_and_turns(program, played)


def test_what_runs_inside_a_tool_is_of_the_turn_that_called_it(played: Path) -> None:
    tortured.check_what_is_inside_tools(played)


def test_every_span_is_placed_and_ends(played: Path) -> None:
    tortured.check_that_all_is_placed_and_over(played)


def test_memory_stays_flat(subject: str, tmp_path: Path) -> None:
    tortured.check_memory(subject, tmp_path)
