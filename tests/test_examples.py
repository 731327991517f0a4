"""Every way into turnlog, as its example shows it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from programs import ROOT, commits, run, run_zero_code

pytestmark = pytest.mark.usefixtures("made_here")


def test_turnlog_run_records_a_program_that_knows_nothing_of_it(tmp_path: Path) -> None:
    done = run(sys.executable, "-m", "turnlog", "run", sys.executable, "examples/langchain_agent.py", directory=tmp_path)
    assert (done.stdout, done.stderr) == ("Take an umbrella.\n", "")
    assert commits(tmp_path) == [(1, "decision", "", "ok"), (1, "tool", "get_weather", "ok"), (1, "decision", "", "ok")]


def test_init_in_code_adds_to_the_applications_provider(tmp_path: Path) -> None:
    done = run(sys.executable, "examples/in_code.py", directory=tmp_path)
    assert done.stdout == "Paris.\nmy own exporter saw 'chat scripted' of session 'geography'\n"
    assert commits(tmp_path, "geography") == [(1, "decision", "", "ok")]


def test_plain_opentelemetry_needs_no_turnlog_command(tmp_path: Path) -> None:
    done = run_zero_code("examples/plain_opentelemetry.py", tmp_path, "turnlog")
    assert done.stdout == "Together they cost 42.\n"
    assert commits(tmp_path) == [(1, "decision", "", "ok"), (1, "tool", "add", "ok"), (1, "decision", "", "ok")]


def test_a_hand_written_loop_has_its_tools_recorded(tmp_path: Path) -> None:
    done = run(sys.executable, "-m", "turnlog", "run", sys.executable, "examples/anthropic_loop.py", directory=tmp_path)
    assert (done.stdout, done.stderr) == ("Three of tea; coffee is not kept.\n", "")
    assert commits(tmp_path) == [
        (1, "decision", "", "ok"),
        (1, "tool", "count_stock", "ok"),
        (1, "tool", "count_stock", "error"),
        (1, "decision", "", "ok"),
    ]


def test_an_agent_reads_its_own_state_through_the_mcp_server(tmp_path: Path) -> None:
    done = run(sys.executable, "-m", "turnlog", "run", sys.executable, "examples/mcp_state.py", directory=tmp_path)
    assert done.stderr == ""
    assert 'tool "read_invoice" error: "Error: there is no invoice 7", given' in done.stdout
    assert done.stdout.endswith("I ask the supplier for invoice 7.\n")
    assert commits(tmp_path) == [
        (1, "decision", "", "ok"),
        (1, "tool", "read_invoice", "error"),
        (1, "decision", "", "ok"),
        (1, "tool", "whats_my_state", "ok"),
        (1, "decision", "", "ok"),
        (1, "decision", "", "ok"),
        (1, "tool", "record_decision", "ok"),
        (1, "decision", "", "ok"),
    ]


def test_by_hand_every_kind_of_state_is_recorded(tmp_path: Path) -> None:
    done = run(sys.executable, "examples/by_hand.py", directory=tmp_path)
    assert done.stdout == "no answer: timeout after 2 attempts\n"
    assert commits(tmp_path, "by-hand") == [
        (1, "decision", "", "ok"),
        (1, "tool", "write_file", "ok"),
        (1, "note", "", "ok"),
        (1, "note", "", "ok"),
        (2, "tool", "ask_colleague", "timeout"),
        (2, "tool", "ask_colleague", "timeout"),
        (2, "decision", "", "ok"),
        (2, "tool", "write_file", "ok"),
        (2, "note", "", "ok"),
    ]


def test_a_loop_that_died_in_a_tool_call_finishes_when_it_is_run_again(tmp_path: Path) -> None:
    example = (sys.executable, ROOT / "examples" / "resume_messages.py")
    store = tmp_path / "store"
    run(*example, directory=store, cwd=tmp_path, code=-9)
    done = run(*example, directory=store, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("Release 1.2 is published.\n", "")
    assert commits(store, "release") == [
        (1, "decision", "", "ok"),
        (1, "tool", "publish", "interrupted"),
        (1, "lifecycle", "", "ok"),
        (2, "decision", "", "ok"),
        (2, "tool", "look_up", "ok"),
        (2, "decision", "", "ok"),
        (2, "tool", "publish", "ok"),
        (2, "decision", "", "ok"),
    ]


def test_a_recorded_program_is_replayed_without_a_model_and_without_its_mail(tmp_path: Path) -> None:
    record, replay = ("--capture", "full", "--session", "mail"), ("--replay", "mail")
    recorded, replayed = (
        run(sys.executable, "-m", "turnlog", "run", *how, sys.executable, "examples/replayed.py", directory=tmp_path)
        for how in (record, replay)
    )
    mail = "a mail to ada@example.org leaves the house\n"
    assert (recorded.stdout, recorded.stderr) == ("Ada knows, since 12:04.\n", f"{mail}the model was asked 2 times\n")
    assert (replayed.stdout, replayed.stderr) == (recorded.stdout, "the model was asked 0 times\n")
    assert commits(tmp_path) == commits(tmp_path, "mail")
