"""Every framework that is installed here plays the same scenario, and the log says the same of each."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from frameworks.scenario import SESSION, TURNS, expected
from programs import ROOT, commits, run
from turnlog import queries
from turnlog.instrument import FRAMEWORKS
from turnlog.settings import Settings

HERE = Path(__file__).parent
DRIVERS = sorted(path.stem for path in (HERE / "drivers").glob("*.py"))
# Whose failures of tools end the turn, because there is no way to tell the model.
RAISES: set[str] = set()
CANCELS = {"langchain"}


def missing(name: str) -> str:
    requires = next(framework.requires for framework in FRAMEWORKS if framework.name == name)
    try:
        importlib.metadata.version(Requirement(requires).name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requires} is not installed: `python tests/frameworks/environments.py {name}` runs this in a place of its own"
    return ""


@pytest.mark.parametrize("name", DRIVERS)
def test_conformance(name: str, tmp_path: Path) -> None:
    if reason := missing(name):
        pytest.skip(reason)
    done = run(
        *(sys.executable, "-m", "turnlog", "run", sys.executable, HERE / "scenario.py", name), directory=tmp_path, cwd=ROOT
    )
    assert done.stderr == ""
    assert commits(tmp_path, SESSION) == expected(name in RAISES, name in CANCELS)
    with queries.reading(Settings(directory=tmp_path)) as db:
        assert [session.session_id for session in queries.sessions(db)] == [SESSION]
        assert {turn.turn: turn.input_summary for turn in queries.turns(db, SESSION)} == dict(enumerate(TURNS, 1))
        assert db.execute("select tool from commits where kind = 'tool' and decision_id = ''").fetchall() == []
        assert db.execute("select name from span_rows where outcome = 'in_flight'").fetchall() == []
