"""`turnlog.resume()`: real processes that go on with what others left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from programs import commits, environment, run, run_code
from turnlog import queries
from turnlog.settings import Settings

pytestmark = pytest.mark.usefixtures("made_here")

# A chat of one question and its answer; then what a test wants to do.
_CHAT = """
import json, sys, turnlog
from openai import OpenAI
from turnlog.demo.scripted_model import ScriptedModel

def ask(messages, text, answer):
    with ScriptedModel([answer]) as model:
        messages = [*messages, {"role": "user", "content": text}]
        client = OpenAI(base_url=model.base_url, api_key="none")
        said = client.chat.completions.create(model="scripted", messages=messages).choices[0].message
        return [*messages, said.model_dump(exclude_none=True)]
"""
_FIRST = """
turnlog.init(session="s")
ask([], "Which way?", "Left.")
turnlog.note("it is raining", key="weather")
turnlog.decide("left", about="way", why="it is shorter")
"""


def python(directory: Path, code: str, **more: str) -> Any:
    """What the program says last, as JSON."""
    said = run_code(_CHAT + code, directory, TURNLOG_CAPTURE="full", **more).stdout
    return json.loads(said.splitlines()[-1]) if said else None


def ask(directory: Path, question: str) -> list[tuple[Any, ...]]:
    with queries.reading(Settings(directory=directory)) as db:
        return db.execute(question).fetchall()


def test_the_next_turn_is_of_the_same_session_and_its_conversation_the_same(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    code = """
state = turnlog.resume("s")
ask(turnlog.messages("s"), "And then?", "Right.")
print(json.dumps([state.session_id, state.turn, state.goal, state.answer, [fact.value for fact in state.facts]]))
"""
    assert python(tmp_path, code) == ["s", 1, "Which way?", "Left.", ["it is raining"]]
    assert commits(tmp_path, "s") == [
        (1, "decision", "", "ok"),
        (1, "note", "", "ok"),
        (1, "decision", "", "ok"),
        (1, "lifecycle", "", "ok"),
        (2, "decision", "", "ok"),
    ]
    assert ask(tmp_path, "select role from context_at('s', 2) order by position") == [("user",), ("assistant",), ("user",)]
    assert ask(tmp_path, "select session_id, turn from resumptions") == [("s", 2)]
    assert ask(tmp_path, "select count(*) from evictions") == [(0,)]


def test_a_session_of_its_own_says_which_one_it_continues(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    code = """
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry import trace
turnlog.init()
spans = InMemorySpanExporter()
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(spans))
state = turnlog.resume("s", new=True)
ask(turnlog.messages("s"), "And then?", "Right.")
said = [[span.attributes.get("session.id"), span.attributes.get("session.previous_id")] for span in spans.get_finished_spans()]
print(json.dumps([state.session_id, state.previous_session, [fact.value for fact in state.facts], said]))
"""
    new, before, facts, said = python(tmp_path, code)
    assert new != "s"
    assert (before, facts, said) == ("s", ["it is raining"], [[new, "s"]])
    assert [turn for turn, *_ in commits(tmp_path, new)] == [1]
    assert {turn for turn, *_ in commits(tmp_path, "s")} == {1}
    assert ask(tmp_path, "select session_id, previous_id from continued_sessions") == [(new, "s")]
    assert 'It continues session "s".' in run(sys.executable, "-m", "turnlog", "resume", new, directory=tmp_path).stdout


def test_a_block_belongs_to_the_session_and_what_follows_does_not(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    code = """
turnlog.init(session="mine")
with turnlog.resume("s") as state, turnlog.turn("inside"):
    turnlog.note("in", key="in")
with turnlog.turn("outside"):
    turnlog.note("out", key="out")
again = turnlog.resume("s")
print(json.dumps(sorted(fact.key for fact in again.facts)))
"""
    assert python(tmp_path, code) == ["in", "weather"]
    assert commits(tmp_path, "mine") == [(1, "note", "", "ok")]


def test_one_that_waits_or_is_closed_goes_on_and_an_archived_one_does_not(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    turnlog = (sys.executable, "-m", "turnlog")
    for word, status in (("pause", "paused"), ("close", "closed")):
        run(*turnlog, word, "s", directory=tmp_path)
        assert python(tmp_path, 'print(json.dumps(turnlog.resume("s").status))') == status
        with queries.reading(Settings(directory=tmp_path)) as db:
            assert queries.lifecycle(db, "s")[0].state == "resumed"
    run(*turnlog, "close", "s", directory=tmp_path)
    run(*turnlog, "archive", "s", directory=tmp_path)
    code = """
try:
    turnlog.resume("s")
except turnlog.IllegalTransition as error:
    print(json.dumps(str(error)))
"""
    assert python(tmp_path, code) == "session s is archived and cannot become resumed. This is its end."


def test_only_a_whole_id_is_gone_on_with(tmp_path: Path) -> None:
    python(tmp_path, _FIRST.replace('"s"', '"session-1"'))
    code = """
said = []
for name in ("session", "sesion-1"):
    try:
        turnlog.resume(name)
    except turnlog.NotFound as error:
        said.append(str(error))
print(json.dumps(said))
"""
    assert python(tmp_path, code) == [
        "there is no session 'session'. Give the whole id: session-1",
        "there is no session 'sesion-1'. Nearest: session-1.",
    ]


def test_disabled_it_still_tells_the_state_and_writes_nothing(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    before = commits(tmp_path, "s")
    assert python(tmp_path, 'print(json.dumps(turnlog.resume("s").goal))', TURNLOG_DISABLED="1") == "Which way?"
    assert commits(tmp_path, "s") == before


def test_an_unchanged_program_goes_on_with_turnlog_run(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    program = (sys.executable, "-c", _CHAT + 'ask([], "And then?", "Right.")')
    run(sys.executable, "-m", "turnlog", "run", "--resume", "s", *program, directory=tmp_path)
    assert [row for row in commits(tmp_path, "s") if row[0] == 2] == [(2, "decision", "", "ok")]


def test_processes_that_resume_at_once_keep_all_and_one_of_them_counts_at_a_time(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    code = """
import sys, turnlog
turnlog.init(instrument=False)
print("ready", flush=True)
sys.stdin.readline()
try:
    turnlog.resume("s")
except turnlog.SessionLeased:
    turnlog.resume("s", take_over=True)
for number in range(20):
    with turnlog.turn(f"{number}"):
        turnlog.note(f"{os.getpid()} {number}", key="who")
print("done", flush=True)
sys.stdin.readline()
"""
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", "import os" + code],
            env=environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(3)
    ]
    for heard in ("ready\n", "done\n"):
        assert [each.stdout.readline() for each in programs if each.stdout] == [heard] * 3
        for each in programs:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
    for each in programs:
        each.communicate(timeout=60)
    assert ask(tmp_path, "select count(*), count(distinct turn) from commits where kind = 'note' and turn > 1") == [(60, 60)]
    claims = ask(tmp_path, "select pid, taken_from from leases order by epoch")
    assert sorted(pid for pid, _ in claims) == sorted(each.pid for each in programs)
    # What counts is the last holder's, and before it what each had done until then.
    ((value,),) = ask(tmp_path, "select value from state where kind = 'fact' and key = 'who'")
    assert value == f"{claims[-1][0]} 19"
    whose = "select split_part(json_extract_string(delta, '$[0].value'), ' ', 1)::int as pid, ended_ns, fenced from commits"
    assert ask(
        tmp_path,
        f"select count(*) from ({whose} where kind = 'note' and turn > 1) as c join leases as l on l.pid = c.pid "
        "where (c.fenced <> '') <> exists (from leases as n where n.epoch > l.epoch and n.since_ns <= c.ended_ns)",
    ) == [(0,)]


def test_one_that_another_process_paused_goes_on_whatever_this_one_said_of_it_before(tmp_path: Path) -> None:
    code = """
import subprocess
turnlog.init(instrument=False)
with turnlog.session("s") as s, turnlog.turn("go"):
    turnlog.note("in", key="in")
s.pause()
s.resume()
subprocess.run([sys.executable, "-m", "turnlog", "pause", "s"], check=True, stdout=subprocess.DEVNULL)
print(json.dumps(turnlog.resume("s").status))
"""
    assert python(tmp_path, code) == "paused"
    with queries.reading(Settings(directory=tmp_path)) as db:
        assert queries.lifecycle(db, "s")[0].state == "resumed"


def test_a_block_gives_back_only_the_lease_that_it_took(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    code = """
from turnlog.journal import holding
said = []
with turnlog.resume("s"):
    with turnlog.resume("s"):
        pass
    said.append(holding.held("s") is not None)
said.append(holding.held("s") is not None)
print(json.dumps(said))
"""
    assert python(tmp_path, code) == [True, False]


def test_blocks_that_overlap_hold_the_lease_until_the_last_is_left(tmp_path: Path) -> None:
    python(tmp_path, _FIRST)
    code = """
import threading
from turnlog.journal import holding
left, said = threading.Event(), []

def longer():
    with turnlog.resume("s"):
        entered.set()
        left.wait()
        said.append(holding.held("s") is not None)
    said.append(holding.held("s") is not None)

entered, thread = threading.Event(), threading.Thread(target=longer)
with turnlog.resume("s"):
    thread.start()
    entered.wait()
left.set()
thread.join()
print(json.dumps(said))
"""
    assert python(tmp_path, code) == [True, False]


def test_a_replay_of_a_program_that_resumes_leaves_the_session_as_it_is(tmp_path: Path) -> None:
    program = """
from turnlog.continuing.openai_agents import TurnlogSession
import asyncio
turnlog.init(session=sys.argv[1] if len(sys.argv) > 1 else None)
memory = TurnlogSession("s")
asyncio.run(memory.add_items([{"role": "user", "content": "Which way?"}]))
if len(sys.argv) == 1:
    turnlog.resume("s")
ask([], "Which way?", "Left.")
print(json.dumps(asyncio.run(memory.get_items())))
"""
    one = [{"role": "user", "content": "Which way?"}]
    command = (sys.executable, "-c", _CHAT + program)
    run(*command, "s", directory=tmp_path, TURNLOG_CAPTURE="full")
    before = commits(tmp_path, "s")
    replayed = run(
        sys.executable, "-m", "turnlog", "run", "--replay", "s", *command, directory=tmp_path, TURNLOG_CAPTURE="full"
    )
    assert one in [json.loads(line) for line in replayed.stdout.splitlines() if line.startswith("[")]
    assert commits(tmp_path, "s") == before
    assert ask(tmp_path, "from leases") == []
