"""Every framework that is installed here plays the same scenario, and the log says the same of each."""

from __future__ import annotations

import importlib.metadata
import sys
import uuid
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from frameworks.environments import BESIDE
from frameworks.scenario import SESSION, TURNS, expected
from programs import ROOT, commits, run
from turnlog import queries
from turnlog.instrument import FRAMEWORKS
from turnlog.settings import Settings

HERE = Path(__file__).parent
DRIVERS = sorted(path.stem for path in (HERE / "drivers").glob("*.py"))
# Whose failures of tools end the turn, because there is no way to tell the model.
RAISES: set[str] = set()
CANCELS = {"pydantic_ai"}


# Drivers of what is recorded as part of another framework, with their distributions.
PARTS = {
    "anthropic_runner": "anthropic >= 1.14",
    "deepagents": "deepagents",
    "openai_responses": "openai",
}


# Who says that a session ends: with the connection to the agent. Its sessions are named by UUIDs only.
CLOSES = {"claude_agent_sdk"}
SESSIONS = {"claude_agent_sdk": str(uuid.uuid5(uuid.NAMESPACE_URL, SESSION))}


def missing(name: str) -> str:
    requires = PARTS.get(name) or next(framework.requires for framework in FRAMEWORKS if framework.name == name)
    for needed in map(Requirement, (requires, *BESIDE.get(name, ()))):
        try:
            is_there = needed.specifier.contains(importlib.metadata.version(needed.name), prereleases=True)
        except importlib.metadata.PackageNotFoundError:
            is_there = False
        if not is_there:
            return f"{needed} is not installed: `python tests/frameworks/environments.py {name}` runs this elsewhere"
    return ""


@pytest.mark.parametrize("name", DRIVERS)
def test_conformance(name: str, tmp_path: Path) -> None:
    if reason := missing(name):
        pytest.skip(reason)
    done = run(
        *(sys.executable, "-m", "turnlog", "run", sys.executable, HERE / "scenario.py", name), directory=tmp_path, cwd=ROOT
    )
    assert done.stderr == ""
    session = SESSIONS.get(name, SESSION)
    closed = [(len(TURNS), "lifecycle", "", "ok")] if name in CLOSES else []
    assert commits(tmp_path, session) == expected(name in RAISES, name in CANCELS) + closed
    with queries.reading(Settings(directory=tmp_path)) as db:
        assert [session.session_id for session in queries.sessions(db)] == [session]
        assert {turn.turn: turn.input_summary for turn in queries.turns(db, session)} == dict(enumerate(TURNS, 1))
        assert db.execute("select tool from commits where kind = 'tool' and decision_id = ''").fetchall() == []
        assert db.execute("select name from span_rows where outcome = 'in_flight'").fetchall() == []
