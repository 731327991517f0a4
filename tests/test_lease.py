"""One writer: real processes that resume the same session, at once, one after the other, killed and taken over."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from programs import environment, run, running_code
from turnlog import queries
from turnlog.journal import holding
from turnlog.settings import Settings

pytestmark = pytest.mark.usefixtures("made_here")

# Does what it is told, line by line, as a program that its user resumes does.
_OBEDIENT = """
import os, sys, turnlog
from turnlog import lease, runtime
turnlog.init(instrument=False)

def claim(session="s", take_over=False):
    active = runtime.start()
    return lease.claim(active.settings, session, process_id=active.journal.process.id, take_over=take_over)

def work(fact, session="s"):
    with turnlog.session(session), turnlog.turn(fact):
        turnlog.note(fact, key="k")

print("ready", flush=True)
for line in sys.stdin:
    try:
        exec(line)
        print("done", flush=True)
    except turnlog.TurnlogError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
"""


class Program:
    def __init__(self, directory: Path, *command: str, **more: str) -> None:
        self.process = subprocess.Popen(
            [*command, sys.executable, "-c", _OBEDIENT],
            env=environment(directory, **more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid
        self.heard()

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def heard(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def do(self, line: str) -> str:
        self.say(line)
        return self.heard()

    def end(self) -> str:
        """What it wrote to stderr."""
        return self.process.communicate(timeout=60)[1]

    def kill(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        self.process.wait(60)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    started: list[Program] = []

    def start(*command: str, **more: str) -> Program:
        started.append(Program(tmp_path, *command, **more))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def ask(directory: Path, question: str) -> list[tuple[Any, ...]]:
    with queries.reading(Settings(directory=directory)) as db:
        return db.execute(question).fetchall()


def facts(directory: Path) -> list[tuple[str, str]]:
    """What was noted, oldest first, and whether it is fenced."""
    return ask(
        directory, "select json_extract_string(delta, '$[0].value'), fenced from commits where kind = 'note' order by ended_ns"
    )


def state(directory: Path) -> list[str]:
    return [value for (value,) in ask(directory, "select value from state where kind = 'fact'")]


def test_of_processes_that_resume_at_once_exactly_one_wins_and_the_others_say_who(
    tmp_path: Path, program: Callable[..., Program]
) -> None:
    programs = [program() for _ in range(3)]
    for number in range(6):
        for each in programs:
            each.say(f"claim('s{number}')")
        answers = {each.pid: each.heard() for each in programs}
        (winner,) = (pid for pid, answer in answers.items() if answer == "done")
        for pid, answer in answers.items():
            if pid != winner:
                assert f"SessionLeased: session s{number} is being written by process {winner} (python" in answer
                assert f"turnlog run --resume s{number} --take-over" in answer
    assert len(ask(tmp_path, "from leases")) == 6


def test_a_refusal_says_who_where_since_when_and_what_to_do(tmp_path: Path, program: Callable[..., Program]) -> None:
    first, second = program(), program()
    first.do("claim()")
    holder = holding.holder_of(tmp_path / "leases", "s")
    assert holder is not None
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(holder.since_ns // 10**9))
    name = Path(sys.executable).name
    assert second.do("claim()") == (
        f"SessionLeased: session s is being written by process {first.pid} ({name} -c) on {os.uname().nodename} since {since} "
        "UTC. Let it end, or take the session over: turnlog run --resume s --take-over COMMAND, or "
        "turnlog.resume('s', take_over=True); what that process does in it afterwards then no longer counts."
    )


def test_after_a_take_over_the_first_goes_on_unharmed_and_fenced(tmp_path: Path, program: Callable[..., Program]) -> None:
    first, second = program(), program()
    assert [first.do("claim()"), first.do("work('one')")] == ["done", "done"]
    assert [second.do("claim(take_over=True)"), second.do("work('two')")] == ["done", "done"]
    assert [first.do("work('three')"), first.do("work('four')")] == ["done", "done"]
    assert facts(tmp_path) == [("one", ""), ("two", ""), ("three", "true"), ("four", "true")]
    assert state(tmp_path) == ["two"]
    assert ask(tmp_path, "select epoch, pid, taken_from <> '' from leases order by epoch") == [
        (1, first.pid, False),
        (2, second.pid, True),
    ]
    warnings = first.end()
    assert warnings.count("session s was taken over by process") == 1
    assert f"process {second.pid} on" in warnings
    assert second.end() == ""
    assert state(tmp_path) == ["two"]


def test_the_log_and_show_mark_what_is_fenced(tmp_path: Path, program: Callable[..., Program]) -> None:
    first, second = program(), program()
    first.do("claim()")
    second.do("claim(take_over=True)")
    first.do("work('late')")
    logged = run(sys.executable, "-m", "turnlog", "log", "--session", "s", directory=tmp_path).stdout
    assert [line.endswith("(fenced: another process had taken the session over)") for line in logged.splitlines()[2:3]] == [
        True
    ]
    assert f"claimed by process {first.pid}" in logged
    assert f"taken over by process {second.pid}" in logged
    commit = ask(tmp_path, "select commit_id from commits where fenced = 'true'")[0][0]
    shown = run(sys.executable, "-m", "turnlog", "show", commit, directory=tmp_path).stdout
    assert "fenced" in shown


def test_who_was_taken_over_can_take_it_back(tmp_path: Path, program: Callable[..., Program]) -> None:
    first, second = program(), program()
    first.do("claim()")
    second.do("claim(take_over=True)")
    assert first.do("claim()").startswith(f"SessionLeased: session s is being written by process {second.pid}")
    assert first.do("claim(take_over=True)") == "done"
    first.do("work('first')")
    second.do("work('second')")
    assert facts(tmp_path) == [("first", ""), ("second", "true")]
    assert [epoch for (epoch,) in ask(tmp_path, "select epoch from leases order by epoch")] == [1, 2, 3]


def test_a_killed_holder_holds_nothing(tmp_path: Path, program: Callable[..., Program]) -> None:
    first, second = program(), program()
    first.do("claim()")
    first.do("work('one')")
    assert second.do("claim()").startswith("SessionLeased")
    first.kill()
    assert [second.do("claim()"), second.do("work('two')")] == ["done", "done"]
    assert facts(tmp_path) == [("one", ""), ("two", "")]
    assert state(tmp_path) == ["two"]


def test_what_is_released_can_be_claimed_and_a_claim_can_be_made_twice(tmp_path: Path, program: Callable[..., Program]) -> None:
    first, second = program(), program()
    assert first.do("held = [claim(), claim()]; assert held[0] is held[1]; held[0].release()") == "done"
    assert second.do("claim()").startswith("SessionLeased")
    first.do("held[1].release()")
    assert second.do("claim()") == "done"
    second.end()
    assert list((tmp_path / "leases").glob("*.*")) == []


def test_a_session_that_a_living_program_records_is_not_resumed_by_another(
    tmp_path: Path, program: Callable[..., Program]
) -> None:
    recorded, other = program(), program()
    recorded.do("work('one')")
    refused = other.do("claim()")
    assert refused.startswith(f"SessionLeased: session s is being written by process {recorded.pid} (")
    assert other.do("claim(take_over=True)") == "done"
    assert recorded.do("work('two')") == "done"
    assert facts(tmp_path) == [("one", ""), ("two", "true")]
    assert recorded.end() == ""


def test_a_session_that_its_program_has_closed_or_left_can_be_resumed(tmp_path: Path, program: Callable[..., Program]) -> None:
    recorded, other = program(), program()
    recorded.do("work('one')")
    recorded.do("work('one', 'closed')")
    recorded.do("s = turnlog.session('closed'); s.__enter__().close()")
    assert other.do("claim('closed')") == "done"
    assert other.do("claim()").startswith("SessionLeased")
    recorded.end()
    assert other.do("claim()") == "done"


def test_programs_that_share_a_session_without_resuming_it_are_as_before(
    tmp_path: Path, program: Callable[..., Program]
) -> None:
    programs = [program(TURNLOG_SESSION="s") for _ in range(3)]
    for number, each in enumerate(programs):
        assert each.do(f"work('{number}')") == "done"
    assert facts(tmp_path) == [("0", ""), ("1", ""), ("2", "")]
    assert (ask(tmp_path, "from leases"), (tmp_path / "leases").exists()) == ([], False)


def test_a_forked_child_neither_keeps_the_lease_nor_is_fenced_until_it_is_taken_over(
    tmp_path: Path, program: Callable[..., Program]
) -> None:
    first, second = program(), program()
    first.do("claim()")
    first.say(
        "exec(\"import time\\nif not os.fork():\\n work('child')\\n"
        " open(os.environ['TURNLOG_DIR'] + '/child', 'w').close()\\n"
        " while not os.path.exists(os.environ['TURNLOG_DIR'] + '/taken'): time.sleep(0.01)\\n"
        " work('child, later')\\n open(os.environ['TURNLOG_DIR'] + '/over', 'w').close()\\n os._exit(0)\")"
    )
    first.heard()
    wait_for(tmp_path / "child")
    first.kill()
    assert holding.holder_of(tmp_path / "leases", "s") is None
    assert second.do("claim()").startswith("SessionLeased"), "the child lives and has written"
    second.do("claim(take_over=True)")
    (tmp_path / "taken").touch()
    wait_for(tmp_path / "over")
    assert facts(tmp_path) == [("child", ""), ("child, later", "true")]


def test_a_child_that_begins_after_the_take_over_fences_itself(tmp_path: Path, program: Callable[..., Program]) -> None:
    first, second = program(), program()
    first.do("claim()")
    second.do("claim(take_over=True)")
    first.do("exec(\"if not os.fork():\\n work('child')\\n os._exit(0)\\nos.wait()\")")
    second.do("work('second')")
    assert facts(tmp_path) == [("child", "true"), ("second", "")]


def wait_for(path: Path) -> None:
    for _ in range(3000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


class TestRun:
    """`turnlog run --resume`."""

    def recorded(self, directory: Path) -> None:
        code = "import turnlog\nwith turnlog.session('ticket-42'), turnlog.turn('x'): turnlog.note('one', key='k')"
        run(sys.executable, "-m", "turnlog", "run", "-c", code, directory=directory)

    def test_the_program_goes_on_with_the_session_and_holds_it(self, tmp_path: Path, program: Callable[..., Program]) -> None:
        self.recorded(tmp_path)
        resumed = program(sys.executable, "-m", "turnlog", "run", "--resume", "ticket")
        resumed.do("with turnlog.turn('y'): turnlog.note('two', key='k')")
        assert ask(tmp_path, "select session_id, epoch, pid, taken_from from leases") == [("ticket-42", 1, resumed.pid, "")]
        refused = run(
            sys.executable, "-m", "turnlog", "run", "--resume", "ticket-42", "true", directory=tmp_path, code=1
        ).stderr
        assert f"session ticket-42 is being written by process {resumed.pid} (" in refused
        assert ask(tmp_path, "select session_id, turns from sessions") == [("ticket-42", 2)]
        assert state(tmp_path) == ["two"]
        resumed.end()
        run(sys.executable, "-m", "turnlog", "run", "--resume", "ticket-42", "true", directory=tmp_path)

    def test_it_takes_over_from_a_program_that_was_resumed_too(self, tmp_path: Path, program: Callable[..., Program]) -> None:
        self.recorded(tmp_path)
        command = (sys.executable, "-m", "turnlog", "run", "--resume", "ticket-42")
        first = program(*command)
        first.do("work('one', 'ticket-42')")
        second = program(*command, "--take-over")
        second.do("work('two', 'ticket-42')")
        first.do("work('three', 'ticket-42')")
        assert facts(tmp_path)[-3:] == [("one", ""), ("two", ""), ("three", "true")]
        assert state(tmp_path) == ["two"]
        assert ask(tmp_path, "select epoch, pid from leases order by epoch") == [(1, first.pid), (2, second.pid)]

    def test_of_two_that_start_at_once_one_runs(self, tmp_path: Path) -> None:
        self.recorded(tmp_path)
        for number in range(3):
            until = tmp_path / f"until-{number}"
            waiting = f"while [ ! -e {until} ]; do sleep 0.05; done"
            command = [sys.executable, "-m", "turnlog", "run", "--resume", "ticket-42", "sh", "-c", waiting]
            both = [subprocess.Popen(command, env=environment(tmp_path), stderr=subprocess.PIPE, text=True) for _ in range(2)]
            while all(each.poll() is None for each in both):
                time.sleep(0.05)
            until.touch()
            said = "".join(each.communicate(timeout=60)[1] for each in both)
            assert sorted(each.returncode for each in both) == [0, 1]
            (winner,) = (each.pid for each in both if each.returncode == 0)
            assert f"session ticket-42 is being written by process {winner} (" in said

    def test_programs_that_a_script_starts_share_its_lease(self, tmp_path: Path) -> None:
        self.recorded(tmp_path)
        code = "import turnlog\nwith turnlog.turn('x'): turnlog.note('{}', key='k')"
        one, two = (f'{sys.executable} -c "{code.format(word)}"' for word in ("two", "three"))
        run(sys.executable, "-m", "turnlog", "run", "--resume", "ticket-42", "sh", "-c", f"{one}; {two}", directory=tmp_path)
        assert facts(tmp_path) == [("one", ""), ("two", ""), ("three", "")]
        assert [epoch for (epoch,) in ask(tmp_path, "select epoch from leases")] == [1]

    def test_nothing_is_claimed_for_a_program_that_cannot_run(self, tmp_path: Path) -> None:
        self.recorded(tmp_path)
        turnlog = (sys.executable, "-m", "turnlog", "run")
        run(*turnlog, "--resume", "ticket-42", "--take-over", "no-such-command", directory=tmp_path, code=1)
        run(*turnlog, "--resume", "no-such-session", "true", directory=tmp_path, code=1)
        run(*turnlog, "--take-over", "true", directory=tmp_path, code=2)
        assert (ask(tmp_path, "from leases"), (tmp_path / "leases").exists()) == ([], False)


def test_a_live_writer_is_not_taken_for_one_that_only_commented(tmp_path: Path, program: Callable[..., Program]) -> None:
    """`turnlog pause` and the like write of a session and not in it."""
    code = """
import time, turnlog
from turnlog.journal.transition import transition_row
from turnlog.journal.writer import JournalWriter
from turnlog.semconv import LifecycleState
from turnlog.settings import read_settings
writer = JournalWriter(read_settings())
writer.append(transition_row("s", state=LifecycleState.PAUSED))
print("said", flush=True)
time.sleep(60)
"""
    with running_code(code, tmp_path) as commenting:
        assert commenting.stdout is not None
        commenting.stdout.readline()
        assert program().do("claim()") == "done"


def test_threads_that_resume_at_once_have_one_lease_and_fence_nobody(tmp_path: Path, program: Callable[..., Program]) -> None:
    first = program()
    assert (
        first.do("import threading; threads = [threading.Thread(target=claim, args=('s', True)) for _ in range(4)]") == "done"
    )
    assert first.do("[each.start() for each in threads]; [each.join() for each in threads]; work('one')") == "done"
    assert facts(tmp_path) == [("one", "")]
    assert ask(tmp_path, "select epoch, taken_from from leases") == [(1, "")]
