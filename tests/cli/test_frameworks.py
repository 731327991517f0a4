"""`turnlog frameworks`: what is registered, and what of it is here."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from cli.history import Turnlog
from programs import ROOT, run
from turnlog.instrument import FRAMEWORKS


def test_every_framework_is_listed_with_its_tested_range(turnlog: Turnlog) -> None:
    listed = turnlog("frameworks").out.splitlines()
    assert listed[0].split() == ["FRAMEWORK", "TESTED", "INSTALLED", "HERE"]
    assert [line.split("  ")[0] for line in listed[1:]] == sorted((each.title for each in FRAMEWORKS), key=str.lower)
    rows = [json.loads(line) for line in turnlog("frameworks", "--json").out.splitlines()]
    assert {row["framework"]: row["tested"] for row in rows} == {each.name: each.requires for each in FRAMEWORKS}


def test_every_framework_has_an_extra_and_an_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entry_points = project["entry-points"]["opentelemetry_instrumentor"]
    for framework in FRAMEWORKS:
        extra = project["optional-dependencies"][framework.extra or framework.name]
        assert any(requirement.startswith(framework.requires.split(" ")[0]) for requirement in extra), framework.name
        assert entry_points[f"turnlog_{framework.name}"] == f"turnlog.instrument:{framework.instrumentor}"


def test_check_hooks_what_is_installed(tmp_path: Path) -> None:
    done = run(sys.executable, "-m", "turnlog", "frameworks", "--check", "--json", directory=tmp_path)
    found = {row["framework"]: (bool(row["installed"]), row["verdict"]) for row in map(json.loads, done.stdout.splitlines())}
    assert found["openai"] == found["langchain"] == found["langgraph"] == (True, "recorded")
    assert {verdict for installed, verdict in found.values() if not installed} <= {"not installed"}
