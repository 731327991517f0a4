"""`turnlog watch`: what running agents do, as they do it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.history import Turnlog
from cli.terminal import Terminal
from programs import environment, run_code, running_code
from recording import Recording
from turnlog import semconv
from turnlog.cli.watch import pause_after
from turnlog.semconv import GenAiOperation
from turnlog.settings import Settings
from turnlog.store import Store

_PATIENCE = 60.0
HEAD = "watching all sessions: Ctrl-C ends it\n"


@contextmanager
def watching(settings: Settings, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "turnlog", "watch", *words]
    with subprocess.Popen(
        command, env=environment(settings.directory), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def line(program: subprocess.Popen[str]) -> str:
    """The next line; nothing when none comes."""
    assert program.stdout is not None
    watchdog = threading.Timer(_PATIENCE, program.kill)
    watchdog.start()
    try:
        return program.stdout.readline()
    finally:
        watchdog.cancel()


def test_what_is_written_is_shown_once_with_its_session_and_turn(recorded: Settings, recording: Recording) -> None:
    with watching(recorded) as program:
        assert line(program) == HEAD
        with recording.agent("look again", conversation="demo"):
            recording.tool("look", {"at": "it"}, "seen")
        assert line(program) == "session demo\n"
        assert re.fullmatch(r"turn 4  \S+ \S+  look again\n", line(program))
        assert line(program).endswith('  look          {"at":"it"} -> seen\n')
        with recording.agent("hello", conversation="another"):
            recording.tool("greet", {}, error=TimeoutError("nobody there"))
        assert line(program) == "session another\n"
        assert line(program).endswith("  hello\n")
        assert "  TIMEOUT TimeoutError: nobody there  " in line(program)


def test_what_was_done_before_is_not_shown_and_other_sessions_are_left_out(recorded: Settings, recording: Recording) -> None:
    with watching(recorded, "--session", "demo-o", "--json") as program:
        assert json.loads(line(program)) == {"event": "watching", "session_id": "demo-old"}
        for conversation in ("demo", "demo-old"):
            with recording.agent("look", conversation=conversation):
                recording.tool("look", {}, "seen")
        event = json.loads(line(program))
    assert (event["event"], event["commit"]["session_id"], event["commit"]["tool"]) == ("commit", "demo-old", "look")


def test_a_call_that_takes_long_is_shown_while_it_runs_and_when_it_has_ended(recorded: Settings, recording: Recording) -> None:
    named = {semconv.GEN_AI_TOOL_NAME: "build", semconv.GEN_AI_CONVERSATION_ID: "demo"}
    call = recording.start(GenAiOperation.EXECUTE_TOOL, {}, named)
    with watching(recorded, "--json") as program:
        line(program)
        running = json.loads(line(program))["commit"]
        assert (running["tool"], running["outcome"]) == ("build", "in_flight")
        call.end()
        ended = json.loads(line(program))["commit"]
    assert (ended["commit_id"], ended["outcome"]) == (running["commit_id"], "ok")


def test_a_call_whose_process_is_killed_is_told_to_be_interrupted(recorded: Settings) -> None:
    code = """
import time, turnlog
turnlog.init()
@turnlog.tool
def build(): time.sleep(600)
with turnlog.session("s"), turnlog.turn(input="go"): build()
"""
    with watching(recorded, "--json") as program, running_code(code, recorded.directory) as agent:
        line(program)
        assert json.loads(line(program))["commit"]["outcome"] == "in_flight"
        agent.kill()
        agent.wait()
        ended = json.loads(line(program))["commit"]
    assert (ended["tool"], ended["outcome"]) == ("build", "interrupted")


def test_a_tool_that_is_called_in_circles_is_told(recorded: Settings, recording: Recording) -> None:
    with watching(recorded, "--json") as program:
        line(program)
        with recording.agent("go", conversation="demo"):
            for _ in range(3):
                recording.tool("look", {"at": "it"}, "nothing")
        events = [json.loads(line(program)) for _ in range(4)]
    loop: dict[str, Any] = next(event["loop"] for event in events if event["event"] == "loop")
    assert (loop["session_id"], loop["tool"], loop["times"], loop["is_going_on"]) == ("demo", "look", 3, 1)


def test_however_many_come_at_once_all_are_shown(recorded: Settings) -> None:
    many = 1200
    code = f"""
import turnlog
turnlog.init()
with turnlog.session("busy"), turnlog.turn(input="go"):
    for number in range({many}):
        turnlog.note(f"step {{number}}")
"""
    with watching(recorded, "--json") as program:
        line(program)
        # While the store is held, nothing can be looked at; then all of it comes in one look.
        with Store(recorded).writing(patience=5):
            run_code(code, recorded.directory)
        shown = [json.loads(line(program))["commit"]["commit_id"] for _ in range(many)]
    assert len(set(shown)) == many


def test_nobody_waits_for_a_watch(recorded: Settings) -> None:
    with watching(recorded) as program:
        assert line(program) == HEAD
        with Store(recorded).writing(patience=1) as db:
            assert db.execute("select count(*) from sessions").fetchall() == [(2,)]
        assert program.poll() is None


def test_ctrl_c_ends_it_quietly(recorded: Settings) -> None:
    with Terminal("watch", settings=recorded) as terminal:
        terminal.expect("Ctrl-C ends it")
        terminal.type("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.all()


def test_it_follows_a_terminal_that_becomes_wider(recorded: Settings, recording: Recording) -> None:
    with Terminal("watch", settings=recorded, columns=50) as terminal:
        terminal.expect("Ctrl-C ends it")
        with recording.agent("look", conversation="demo"):
            recording.tool("look", {"at": "x" * 60}, "first seen")
        terminal.expect("x…")
        terminal.resize(150)
        with recording.agent("look again", conversation="demo"):
            recording.tool("look", {"at": "x" * 60}, "seen again")
        terminal.expect("-> seen again")


def test_the_next_look_comes_soon_and_costs_no_more_than_a_fifth() -> None:
    assert [pause_after(spent) for spent in (0.0, 0.05, 0.2, 0.4, 30.0)] == [0.5, 0.5, 1.0, 2.0, 2.0]


def test_it_ends_when_nobody_reads_although_nothing_happens(recorded: Settings) -> None:
    with watching(recorded) as program:
        assert line(program) == HEAD
        assert program.stdout is not None and program.stderr is not None
        program.stdout.close()
        assert (program.wait(_PATIENCE), program.stderr.read()) == (0, "")


def test_it_waits_for_the_first_session(settings: Settings, make_recording: Callable[..., Recording]) -> None:
    with watching(settings) as program:
        assert line(program) == HEAD
        recording = make_recording()
        with recording.agent("hello", conversation="first"):
            recording.tool("greet", {}, "hi")
        assert line(program) == "session first\n"


def test_while_nothing_happens_it_costs_next_to_nothing(recorded: Settings) -> None:
    def used(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    with watching(recorded) as program:
        assert line(program) == HEAD
        time.sleep(3)
        before = used(program.pid)
        time.sleep(4)
        assert used(program.pid) - before < 0.2
        program.send_signal(signal.SIGINT)
        assert program.wait(_PATIENCE) == 130


def test_a_session_that_is_not_there_is_an_error_with_the_nearest(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("watch", "-s", "demi") == (1, "", "turnlog: there is no session 'demi'. Nearest: demo, demo-old.\n")
