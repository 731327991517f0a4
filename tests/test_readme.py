"""What the README says is what the code does."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from programs import run
from readme import README, masked, rendered
from turnlog.instrument import FRAMEWORKS
from turnlog.settings import Settings


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme") / "store"


@pytest.fixture(scope="module")
def fresh(directory: Path) -> str:
    """The README as it would be written now; makes the demo's data in the directory."""
    return rendered(README.read_text(), directory)


def test_outputs_and_tables_are_what_the_code_prints(fresh: str) -> None:
    assert masked(README.read_text()).splitlines() == masked(fresh).splitlines()


def test_every_question_of_the_cookbook_has_an_answer(fresh: str, directory: Path) -> None:
    block = re.search(r"<!-- cookbook -->\n```sql\n(.*?)```", README.read_text(), re.DOTALL)
    assert block is not None
    questions = [part for part in re.split(r"^-- \d+\. ", block[1], flags=re.MULTILINE) if part.strip()]
    assert len(questions) == 10
    rows = []
    for question in questions:
        done = run(sys.executable, "-m", "turnlog", "sql", "--json", question.partition("\n")[2], directory=directory)
        rows.append(len(done.stdout.splitlines()))
    nothing_is_pending = 8
    assert [number for number, count in enumerate(rows) if not count] == [nothing_is_pending]


def test_every_setting_is_documented() -> None:
    named = set(re.findall(r"TURNLOG_[A-Z_]+", (Path(__file__).parent.parent / "src/turnlog/settings.py").read_text()))
    assert named == set(re.findall(r"^\| `(TURNLOG_[A-Z_]+)`", README.read_text(), re.MULTILINE))


def test_the_default_capture_level_is_the_documented_one() -> None:
    assert f"| `TURNLOG_CAPTURE` | `{Settings(directory=Path()).capture}` |" in README.read_text()


def test_the_tested_ranges_are_the_ranges_of_the_extras() -> None:
    declared = tomllib.loads((README.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    extras = [re.sub(r"\[.*?\]", "", requirement) for extra in declared.values() for requirement in extra]
    assert [framework.requires for framework in FRAMEWORKS if framework.requires not in extras] == []
