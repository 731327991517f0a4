"""`turnlog frameworks`: what is registered, and what of it is here."""

from __future__ import annotations

import json
import re
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
    number = sum(installed for installed, _ in found.values())
    done = run(sys.executable, "-m", "turnlog", "frameworks", "--check", directory=tmp_path)
    assert done.stdout.splitlines()[-1] == f"hooked {number} of {number} installed frameworks"


def installed(distribution: str, version: str, folder: Path) -> str:
    """A path on which a distribution is found, without any code of it."""
    metadata = folder / f"{distribution.replace('-', '_')}-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    return str(folder)


def test_an_untested_version_comes_with_what_to_install(tmp_path: Path) -> None:
    path = installed("openai", "9.9", tmp_path / "packages")
    turnlog = [sys.executable, "-m", "turnlog"]
    remedy = "pip install 'turnlog[openai]'"
    listed = run(*turnlog, "frameworks", directory=tmp_path, PYTHONPATH=path).stdout.splitlines()
    assert listed[-1] == f"OpenAI 9.9 is outside the tested range: {remedy}"
    checked = run(*turnlog, "frameworks", "--check", directory=tmp_path, code=1, PYTHONPATH=path).stdout.splitlines()
    assert checked[-2] == listed[-1]
    assert re.fullmatch(r"hooked (\d+) of (?!\1 )\d+ installed frameworks", checked[-1])
    assert run(*turnlog, "frameworks", "--check", "--json", directory=tmp_path, code=1, PYTHONPATH=path).stdout
    warnings = run(*turnlog, "doctor", directory=tmp_path, PYTHONPATH=path).stdout.splitlines()
    assert f"warning: openai 9.9 is not recorded: outside openai >= 2.26, < 4. For a tested version: {remedy}" in warnings


def test_a_framework_that_cannot_be_hooked_is_exit_1(tmp_path: Path) -> None:
    path = installed("strands-agents", "1.60", tmp_path / "packages")
    done = run(sys.executable, "-m", "turnlog", "frameworks", "--check", directory=tmp_path, code=1, PYTHONPATH=path)
    assert "strands-agents >= 1.56, < 2          1.60       not imported" in done.stdout
