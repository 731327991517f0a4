"""SQL of the page in a child of its own: whose modules it loads, how much it answers, what it says when it fails."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from urllib.parse import urlencode

import pytest

from stack.parts import eventually
from turnlog.errors import StatementRefused
from turnlog.settings import Settings
from turnlog.web.bounded import AT_ONCE, ask_bounded
from web.serving import serve

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


def test_values_that_json_has_no_form_for_are_answered(settings: Settings) -> None:
    found = ask_bounded(settings, "select 'nan'::double, '-inf'::double, '\\xAB\\x00'::blob, true, [1, 2]", rows=1)
    assert found.rows == [["nan", "-inf", "ab00", True, [1, 2]]]


ENDLESS = "select count(*) from range(1000000) a, range(1000000) b"
UNSTOPPABLE = "select levenshtein(repeat('a', 100000), repeat('b', 100000))"


@pytest.mark.parametrize("statement", [ENDLESS, UNSTOPPABLE])
def test_a_statement_that_nobody_waits_for_is_stopped(settings: Settings, statement: str) -> None:
    waited = iter([False, True])
    with pytest.raises(StatementRefused, match="nobody waited"):
        ask_bounded(settings, statement, rows=1, given_up=lambda: next(waited))
    assert children(settings.directory) == []


def test_only_so_many_statements_run_at_once(settings: Settings) -> None:
    done = threading.Event()
    with ThreadPoolExecutor(AT_ONCE + 1) as pool:
        running = [pool.submit(ask_bounded, settings, ENDLESS, rows=1, given_up=done.is_set) for _ in range(AT_ONCE + 1)]
        first = next(as_completed(running))
        done.set()
    with pytest.raises(StatementRefused, match=f"{AT_ONCE} statements run already"):
        first.result()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked for in /proc")
def test_a_statement_ends_with_the_server(tmp_path: Path) -> None:
    with serve(tmp_path) as served, ThreadPoolExecutor(1) as pool:
        pool.submit(served.ask, f"/sql?{urlencode({'q': UNSTOPPABLE})}", Authorization=f"Bearer {served.token}")
        eventually(lambda: children(tmp_path), what="a child that runs it")
        os.kill(served.pid, signal.SIGKILL)
        eventually(lambda: not children(tmp_path), what="no child left")


def children(directory: Path) -> list[Path]:
    """The processes that run a statement on a store."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            if b"turnlog.web.bounded" in words and bytes(directory) in words:
                found.append(process)
    return found
