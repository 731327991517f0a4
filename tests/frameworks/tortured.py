"""What the log must say of every program in `torture.py`, whoever plays it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from programs import run
from turnlog import queries
from turnlog.running import MOST_REMEMBERED
from turnlog.settings import Settings

PROGRAM = Path(__file__).parent / "torture.py"
# How many inputs each program gives, by how its sessions' names begin.
ASKED = {"threads": 24, "task_group": 24, "executors": 12, "carried": 12, "abandoned": 21, "fork": 4, "spawn": 4}


def play_all(subject: str, directory: Path) -> None:
    play(subject, "threads", "task_group", "executors", "carried", "nested", "abandoned", "callbacks", directory=directory)
    play(subject, "forked", "spawned", directory=directory)


def play(subject: str, *programs: str, directory: Path) -> str:
    command = (sys.executable, "-m", "turnlog", "run", sys.executable, PROGRAM, subject, *programs)
    done = run(*command, directory=directory, timeout=600)
    # LangChain says by itself that a callback of the application failed.
    assert [line for line in done.stderr.splitlines() if "Broken.on_llm_end" not in line] == []
    return done.stdout


def check_sessions_and_turns(program: str, directory: Path) -> None:
    with queries.reading(Settings(directory=directory)) as db:
        told = db.execute(
            """select c.session_id, t.input_summary, c.kind, c.outcome, c.input_summary, c.output_summary
            from commits c join turns t using (session_id, turn)
            where c.kind in ('decision', 'tool') and starts_with(c.session_id, ?)""",
            [program],
        ).fetchall()
        inputs = db.execute(
            "select session_id, input_summary from turns where starts_with(session_id, ?)", [program]
        ).fetchall()
    assert len(inputs) == len(set(inputs)) == ASKED[program]
    assert all(said.startswith(f"{session}/") for session, said in inputs)
    for session, said, _kind, outcome, given, got in told:
        who = said.partition(" ")[0]
        assert who.startswith(f"{session}/")
        assert who in f"{given} {got}" or outcome == "cancelled"
    assert Counter(kind for _, _, kind, *_ in told)["decision"] >= len(inputs)


def check_what_is_inside_tools(directory: Path) -> None:
    with queries.reading(Settings(directory=directory)) as db:
        told = db.execute(
            """select t.input_summary, c.kind, c.tool, count(*)
            from commits c join turns t using (session_id, turn)
            where c.kind in ('decision', 'tool') and starts_with(c.session_id, 'nested') group by all order by all"""
        ).fetchall()
    assert told == [
        row
        for n in range(3)
        for row in (
            (f"nested{n}/1 outer", "decision", "", 6),
            (f"nested{n}/1 outer", "tool", "echo", 1),
            (f"nested{n}/1 outer", "tool", "middle", 1),
            (f"nested{n}/1 outer", "tool", "outer", 1),
            (f"nested{n}/2 again", "decision", "", 2),
            (f"nested{n}/2 again", "tool", "again", 4),
        )
    ]


def check_that_all_is_placed_and_over(directory: Path) -> None:
    """Only the sessions that the programs name, and nothing without a turn or without an end."""
    with queries.reading(Settings(directory=directory)) as db:
        named = db.execute("select distinct rtrim(session_id, '0123456789') from span_rows order by all").fetchall()
        assert db.execute("select name from span_rows where session_id = '' or turn_id = ''").fetchall() == []
        assert db.execute("select name from span_rows where outcome = 'in_flight'").fetchall() == []
    expected = {*ASKED, "nested", "callbacks", "forking", "spawning"}
    assert {name for (name,) in named} == expected


def check_memory(subject: str, directory: Path) -> None:
    before, after, calls = json.loads(play(subject, "memory", directory=directory))
    assert after[1] - before[1] < calls / 20
    # A framework that is too slow for more calls has not yet made turnlog forget the first of them.
    if calls > MOST_REMEMBERED:
        assert after[0] - before[0] < calls / 20
