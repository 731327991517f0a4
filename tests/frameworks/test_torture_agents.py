"""The same as `test_torture.py` for the OpenAI Agents SDK, which has an environment of its own."""

from __future__ import annotations

import pytest

pytest.importorskip("agents", reason="the OpenAI Agents SDK has an environment of its own: tests/frameworks/environments.py")

from frameworks.test_torture import (
    played,
    test_every_span_has_its_session_and_turn,
    test_every_span_is_placed_and_ends,
    test_memory_stays_flat,
    test_what_runs_inside_a_tool_is_of_the_turn_that_called_it,
)

__all__ = [
    "played",
    "test_every_span_has_its_session_and_turn",
    "test_every_span_is_placed_and_ends",
    "test_memory_stays_flat",
    "test_what_runs_inside_a_tool_is_of_the_turn_that_called_it",
]


@pytest.fixture(scope="module")
def subject() -> str:
    return "openai_agents"
