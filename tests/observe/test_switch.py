"""The audit hook is there only when somebody wants it: not before a tool runs, and not at all when it is off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from programs import run_code
from turnlog.settings import Observe, read_settings

PROGRAM = """
import json, os, sys
added = []
sys.addaudithook(lambda event, arguments: added.append(event) if event == "sys.addaudithook" else None)
import turnlog
turnlog.init(instrument=False)
os.chdir(os.environ["TURNLOG_DIR"])

@turnlog.tool
def write_file(path, content):
    open(path, "w").write(content)
    open("more", "w").close()

with turnlog.turn("q"):
    turnlog.note("x")
before = len(added)
for _ in range(3):
    write_file(os.path.abspath("../a"), "x")
turnlog.shutdown()
print(json.dumps([before, len(added)]))
"""


def hooks_of(directory: Path, **more: str) -> Any:
    directory.mkdir()
    return json.loads(run_code(PROGRAM, directory, **more).stdout)


def test_the_hook_comes_with_the_first_tool_and_once(tmp_path: Path) -> None:
    assert hooks_of(tmp_path / "on") == [0, 1]


def test_switched_off_there_is_no_hook(tmp_path: Path) -> None:
    assert hooks_of(tmp_path / "off", TURNLOG_OBSERVE="off") == [0, 0]


def test_a_disabled_turnlog_has_no_hook(tmp_path: Path) -> None:
    assert hooks_of(tmp_path / "disabled", TURNLOG_DISABLED="1") == [0, 0]


@pytest.mark.parametrize(
    ("value", "level", "problems"),
    [
        ("", Observe.WRITES, 0),
        ("writes", Observe.WRITES, 0),
        ("ALL", Observe.ALL, 0),
        ("off", Observe.OFF, 0),
        ("0", Observe.OFF, 0),
        ("1", Observe.WRITES, 0),
        ("everything", Observe.WRITES, 1),
    ],
)
def test_the_level_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, value: str, level: Observe, problems: int
) -> None:
    monkeypatch.setenv("TURNLOG_OBSERVE", value)
    settings = read_settings()
    assert (settings.observe, len(settings.problems)) == (level, problems)


def test_folders_to_watch_are_separated_like_any_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_WATCH", "/a: :~/b:c")
    assert read_settings().watch == (Path("/a"), Path.home() / "b", Path("c"))
    monkeypatch.delenv("TURNLOG_WATCH")
    assert read_settings().watch == ()
