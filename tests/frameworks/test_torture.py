"""Whatever an application does with threads, tasks, generators and processes: every span has its session and turn, and ends."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from programs import run
from turnlog import queries
from turnlog.settings import Settings

PROGRAM = Path(__file__).parent / "torture.py"
ASKED = {"threads": 24, "task_group": 24, "executors": 12, "abandoned": 21, "forked": 4, "spawned": 4}


def play(name: str, directory: Path) -> str:
    done = run(sys.executable, "-m", "turnlog", "run", sys.executable, PROGRAM, name, directory=directory, timeout=600)
    # LangChain says by itself that a callback of the application failed.
    assert [line for line in done.stderr.splitlines() if "Broken.on_llm_end" not in line] == []
    return done.stdout


@pytest.mark.parametrize("name", ASKED)
def test_every_span_has_its_session_and_turn_and_ends(name: str, tmp_path: Path) -> None:
    play(name, tmp_path)
    with queries.reading(Settings(directory=tmp_path)) as db:
        told = db.execute(
            """select c.session_id, t.input_summary, c.kind, c.tool, c.outcome, c.input_summary, c.output_summary
            from commits c join turns t using (session_id, turn) where c.kind in ('decision', 'tool')"""
        ).fetchall()
        spans = db.execute("select count(*) from span_rows where session_id = '' or turn_id = ''").fetchall()
        open_spans = db.execute("select name from span_rows where outcome = 'in_flight'").fetchall()
        inputs = db.execute("select session_id, input_summary from turns").fetchall()
    assert len(inputs) == len(set(inputs)) == ASKED[name]
    assert all(said.startswith(f"{session}/") for session, said in inputs)
    for session, said, _kind, _tool, outcome, given, got in told:
        who = said.partition(" ")[0]
        assert who.startswith(f"{session}/")
        assert who in f"{given} {got}" or outcome == "cancelled"
    assert spans == [(0,)]
    assert open_spans == []
    assert Counter(kind for _, _, kind, *_ in told)["decision"] >= len(inputs)


def test_what_runs_inside_a_tool_is_of_the_turn_that_called_it(tmp_path: Path) -> None:
    play("nested", tmp_path)
    with queries.reading(Settings(directory=tmp_path)) as db:
        told = db.execute(
            """select c.session_id, t.input_summary, c.kind, c.tool, count(*)
            from commits c join turns t using (session_id, turn)
            where c.kind in ('decision', 'tool') group by all order by all"""
        ).fetchall()
    assert told == [
        row
        for n in range(3)
        for row in (
            (f"s{n}", f"s{n}/1 outer", "decision", "", 6),
            (f"s{n}", f"s{n}/1 outer", "tool", "echo", 1),
            (f"s{n}", f"s{n}/1 outer", "tool", "middle", 1),
            (f"s{n}", f"s{n}/1 outer", "tool", "outer", 1),
            (f"s{n}", f"s{n}/2 again", "decision", "", 2),
            (f"s{n}", f"s{n}/2 again", "tool", "again", 4),
        )
    ]


def test_exceptions_are_the_objects_that_they_were(tmp_path: Path) -> None:
    play("callbacks", tmp_path)


def test_memory_stays_flat(tmp_path: Path) -> None:
    middle, end = json.loads(play("memory", tmp_path))
    assert end < middle * 1.01
