"""SQL of the page in a child of its own: whose modules it loads, how much it answers, what it says when it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.errors import StatementRefused
from turnlog.settings import Settings
from turnlog.web.bounded import ask_bounded

STRANGER = "raise RuntimeError('not the database')"


def test_a_module_in_the_folder_where_the_page_was_started_is_not_loaded(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "duckdb.py").write_text(STRANGER)
    monkeypatch.chdir(tmp_path)
    assert ask_bounded(settings, "select 1 as one", rows=1)[:3] == (["one"], [[1]], False)


def test_a_child_that_fails_is_quoted(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "duckdb.py").write_text(STRANGER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(StatementRefused, match=r"^the statement could not be run: RuntimeError: not the database$"):
        ask_bounded(settings, "select 1", rows=1)


def test_an_answer_of_many_megabytes_is_refused(settings: Settings) -> None:
    with pytest.raises(StatementRefused, match=r"^the answer is over 4 MB\."):
        ask_bounded(settings, "select repeat('x', 5000000)", rows=1)


def test_times_with_a_zone_are_answered(settings: Settings) -> None:
    found = ask_bounded(settings, "select timestamptz '2026-01-02 03:04:05+00' as at", rows=1)
    assert found.rows == [["2026-01-02T03:04:05Z"]]
