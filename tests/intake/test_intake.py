"""What arrives in any order, twice, late or by halves is one log in the end, and a sensible one before."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from programs import ROOT, environment, run
from recording import Recording, assistant, user
from sent import TOOLS, later, span, two_turns
from turnlog import semconv
from turnlog.errors import StoreLocked
from turnlog.intake import GIVE_UP, Intake
from turnlog.journal.reader import list_provisional
from turnlog.otlp.sdk import from_sdk
from turnlog.received import ReceivedSpan
from turnlog.settings import Capture, Settings
from turnlog.store.loader import load
from turnlog.store.store import Store

FACT = [{"op": "set", "kind": "fact", "key": "k", "value": "v", "tier": "durable"}]
Row = tuple[Any, ...]
LOG = """
select session_id, turn, kind, tool, outcome, choice, output_summary, commit_id, decision_id, delta
from commits
order by ended_ns, commit_id
"""


def log(settings: Settings) -> list[Row]:
    with Store(settings).reading() as db:
        return db.execute(LOG).fetchall()


@pytest.fixture
def intake(settings: Settings) -> Iterator[Intake]:
    intake = Intake(settings, quiet=0.0)
    yield intake
    intake.close()


def taken(settings: Settings, *batches: Sequence[ReceivedSpan], quiet: float = 0.0) -> list[Row]:
    intake = Intake(settings, quiet=quiet)
    for batch in batches:
        intake.take(batch)
        intake.settle()
    intake.close()
    return log(settings)


@pytest.fixture
def expected(tmp_path: Path) -> list[Row]:
    return taken(Settings(directory=tmp_path / "expected"), two_turns())


def test_a_finished_conversation_becomes_turns_decisions_tools_and_files(settings: Settings, expected: list[Row]) -> None:
    assert [row[:7] for row in expected] == [
        ("s", 1, "decision", "", "ok", "call write_file", ""),
        ("s", 1, "tool", "write_file", "ok", "", "done"),
        ("s", 1, "decision", "", "ok", "answer", "Written."),
        ("s", 2, "decision", "", "ok", "call run_tests", ""),
        ("s", 2, "tool", "run_tests", "timeout", "", "TimeoutError"),
        ("s", 2, "decision", "", "ok", "answer", "It broke."),
    ]
    decided, ran = expected[0], expected[1]
    assert ran[8] == decided[8] == "0001000000000002"


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_arrival_and_the_cut_into_batches_change_nothing(
    settings: Settings, expected: list[Row], seed: int
) -> None:
    order = random.Random(seed)
    spans = two_turns()
    order.shuffle(spans)
    cuts = sorted(order.sample(range(1, len(spans)), 3))
    batches = [spans[first:last] for first, last in zip([0, *cuts], [*cuts, len(spans)], strict=True)]
    assert taken(settings, *batches, quiet=60.0) == expected


def test_what_is_sent_again_is_stored_once(settings: Settings, expected: list[Row]) -> None:
    spans = two_turns()
    assert taken(settings, spans, spans, spans[3:5]) == expected
    # The receiver has been started anew and remembers nothing; the store does.
    assert taken(settings, spans[2:], spans) == expected
    load(settings, patience=1)
    assert taken(settings, spans) == expected
    load(settings, patience=1)
    assert log(settings) == expected


@pytest.mark.parametrize("seconds", [-7.0, 7.0])
def test_clocks_that_disagree_do_not_change_who_did_what_when(settings: Settings, expected: list[Row], seconds: float) -> None:
    skewed = [later(each, seconds) if each.resource is TOOLS else each for each in two_turns(tools=TOOLS)]
    rows = taken(settings, skewed)
    assert [row[:7] for row in rows] == [row[:7] for row in expected]
    # Sent again in pieces, without the trace that tells how far the clock is off.
    assert taken(settings, [each for each in skewed if each.resource is TOOLS]) == rows


def test_a_session_that_nobody_names_is_the_senders_and_goes_on(settings: Settings) -> None:
    rows = taken(settings, two_turns(session=""))
    assert len({row[0] for row in rows}) == 1
    assert [row[1] for row in rows] == [1, 1, 1, 2, 2, 2]


def test_unnamed_work_of_a_sender_that_is_no_process_is_a_session_per_trace(settings: Settings) -> None:
    spans = [span(trace, 1, 0, "invoke_agent", (trace, trace + 1), {"service.name": "web"}) for trace in (1, 2)]
    taken(settings, spans)
    with Store(settings).reading() as db:
        assert db.execute("select count(*) from sessions").fetchall() == [(2,)]


def test_calls_without_an_agent_around_them_are_one_conversation(settings: Settings) -> None:
    """As a bare SDK sends them: each call a trace of its own, the tool run by the application's own loop."""
    calls = [
        replace(each, parent_id="", trace_id=f"{number:032x}")
        for number, each in enumerate((each for each in two_turns("") if each.name == "chat"), 1)
    ]
    rows = taken(settings, *([call] for call in calls))
    assert [row[1:6] for row in rows] == [
        (1, "decision", "", "ok", "call write_file"),
        (1, "tool", "write_file", "ok", ""),
        (1, "decision", "", "ok", "answer"),
        (2, "decision", "", "ok", "call run_tests"),
        (2, "tool", "run_tests", "timeout", ""),
        (2, "decision", "", "ok", "answer"),
    ]


def test_two_spans_of_one_call_are_one_commit_with_what_both_say(settings: Settings, expected: list[Row]) -> None:
    spans = two_turns()
    outer = spans[0]
    inner = span(1, 9, 2, "chat", (1.1, 1.9), gen_ai__response__id="resp-1", gen_ai__request__model="m")
    assert taken(settings, [inner, *spans]) == expected
    with Store(settings).reading() as db:
        found = db.execute("select response_id from raw.spans where span_id = ?", [outer.span_id]).fetchall()
    assert found == [("resp-1",)]


def test_a_trace_in_which_no_agent_works_is_not_kept_and_counted(intake: Intake, settings: Settings) -> None:
    intake.take([span(7, 1, 0, "", (0, 1)), span(7, 2, 1, "", (0, 1))])
    intake.settle()
    assert (intake.nobodys, log(settings)) == (2, [])


def test_a_trace_without_its_root_is_told_for_the_time_being_and_rightly_in_the_end(
    settings: Settings, expected: list[Row]
) -> None:
    *children, root = two_turns()[:4]
    intake = Intake(settings, quiet=0.0)
    intake.take(children)
    intake.start()
    assert _until(lambda: list_provisional(settings.journals))
    assert [row[1:7] for row in log(settings)] == [row[1:7] for row in expected[:3]]
    assert {row[0] for row in log(settings)} != {"s"}
    intake.take([root])
    assert _until(lambda: not list_provisional(settings.journals))
    assert log(settings) == expected[:3]
    intake.close()
    assert log(settings) == expected[:3]


def test_a_turn_waits_for_the_one_before_it(settings: Settings, expected: list[Row]) -> None:
    spans = two_turns(session="")
    named = [replace(each, attributes={**each.attributes, "session.id": "s"}) for each in spans]
    first, second = named[:4], named[4:]
    assert [row[:7] for row in taken(settings, second, first[:3], first[3:])] == [row[:7] for row in expected]


def test_what_was_taken_survives_kill_and_is_told_once_by_the_next(settings: Settings, expected: list[Row]) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from sent import two_turns\n"
        "from turnlog.intake import Intake\n"
        "from turnlog.settings import read_settings\n"
        "intake = Intake(read_settings(), quiet=0.0)\n"
        "spans = two_turns()\n"
        "intake.start()\n"
        "intake.take(spans[:4])\n"
        "intake.settle()\n"
        "intake.take(spans[4:7])\n"
        "print('taken', flush=True)\n"
        "import time; time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, "", str(ROOT / "tests")]
    with subprocess.Popen(command, env=environment(settings.directory), stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "taken\n"
        program.send_signal(signal.SIGKILL)
    assert list((settings.directory / "inbox" / "journal").glob("*.journal"))
    intake = Intake(settings, quiet=0.0)
    intake.start()
    intake.take(two_turns())
    intake.close()
    assert log(settings) == expected
    assert not list((settings.directory / "inbox" / "journal").glob("*.journal"))
    assert not list_provisional(settings.journals)


def test_secrets_do_not_reach_the_inbox(settings: Settings) -> None:
    secret = "sk-ant-" + "a" * 40
    intake = Intake(settings)
    intake.take([replace(two_turns()[0], attributes={"gen_ai.operation.name": "chat", "note": f"key {secret}"})])
    (file,) = (settings.directory / "inbox" / "journal").glob("*.journal")
    assert secret.encode() not in file.read_bytes()
    assert b"[REDACTED" in file.read_bytes()
    intake.close()


def test_a_span_that_its_own_process_wrote_here_too_is_one_commit(recording: Recording) -> None:
    with recording.agent("Write a.py", conversation="s"):
        recording.chat([user("Write a.py")], [assistant("", "write_file")])
        recording.tool("write_file", {"path": "a.py"}, "done")
    recording.start("", {semconv.COMMIT_DELTA: FACT}, {semconv.COMMIT_KIND: "note", semconv.SESSION_ID: "s"}).end()
    sent = [from_sdk(each) for each in recording.exporter.get_finished_spans()]
    before = log(recording.settings)
    assert before
    assert taken(recording.settings, sent) == before
    recording.journal.close()
    load(recording.settings, patience=1)
    assert log(recording.settings) == before
    # Elsewhere, the same spans alone make the same log.
    other = replace(recording.settings, directory=recording.settings.directory / "other")
    assert [row[:7] for row in taken(other, sent)] == [row[:7] for row in before]


def _until(holds: Callable[[], Any], seconds: float = 30.0) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            if holds():
                return True
        except StoreLocked:
            pass
        time.sleep(0.05)
    return False


def test_a_question_derives_what_a_receiver_that_never_came_back_left(settings: Settings, expected: list[Row]) -> None:
    abandoned = Intake(settings)
    abandoned.take(two_turns())
    assert abandoned._inbox is not None
    abandoned._inbox.close()
    run(sys.executable, "-m", "turnlog", "log", "--session", "s", directory=settings.directory, code=1)
    (file,) = settings.inbox.glob("*.journal")
    long_ago = time.time() - 2 * GIVE_UP
    os.utime(file, (long_ago, long_ago))
    run(sys.executable, "-m", "turnlog", "log", "--session", "s", directory=settings.directory)
    assert log(settings) == expected


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_span_that_comes_after_its_trace_was_told_is_no_second_commit_and_no_eviction(
    settings: Settings, expected: list[Row], late: int
) -> None:
    spans = two_turns()
    rows = taken(settings, [each for each in spans if each is not spans[late]], [spans[late]])
    assert sorted(row[:5] for row in rows) == sorted(row[:5] for row in expected)


def test_a_path_below_the_senders_folder_is_told_as_seen_from_there(settings: Settings) -> None:
    sender = {"service.instance.id": "one", "process.working_directory": "/home/ada/shop"}
    attributes = {"gen_ai__tool__name": "write_file", "gen_ai__tool__call__arguments": {"path": "/home/ada/shop/src/a.py"}}
    taken(settings, [span(1, 1, 0, "execute_tool", (0, 1), sender, **attributes)])
    with Store(settings).reading() as db:
        assert db.execute("select key from entries where kind = 'file'").fetchall() == [("src/a.py",)]


def test_a_forked_child_leaves_the_parents_spans_alone(settings: Settings, expected: list[Row]) -> None:
    intake = Intake(settings, quiet=60.0)
    intake.start()
    intake.take(two_turns()[:4])
    child = os.fork()
    if not child:
        intake.take([span(9, 1, 0, "invoke_agent", (50, 51), session__id="child")])
        intake.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    intake.take(two_turns()[4:])
    assert settings.inbox.exists() and list(settings.inbox.glob("*.journal"))
    intake.close()
    assert log(settings) == expected
    with Store(settings).reading() as db:
        assert db.execute("select session_id from sessions order by session_id").fetchall() == [("child",), ("s",)]


def test_what_is_not_whole_when_a_receiver_stops_is_the_next_ones(settings: Settings, expected: list[Row]) -> None:
    *children, root = two_turns()[:4]
    assert {row[0] for row in taken(settings, children)} != {"s"}
    intake = Intake(settings, quiet=0.0)
    intake.start()
    intake.take([root])
    intake.close()
    assert log(settings) == expected[:3]


@pytest.mark.parametrize(
    "odd",
    [
        {"turnlog.received.clock_shift": "soon"},
        {"turnlog.received.clock_shift": 2**62},
        {"turnlog.context.changes": "not JSON", "turnlog.turn.id": "t"},
        {"turnlog.commit.delta": "{", "turnlog.turn.id": "t"},
        {"session.id": 'a"\n{"record":"span"'},
        {"ai.operationId": 7, "ai.toolCall.args": [1], "openinference.span.kind": ["LLM"], "traceloop.span.kind": {}},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_an_odd_value_costs_nobody_elses_span(settings: Settings, expected: list[Row], odd: dict[str, Any]) -> None:
    stranger = replace(span(8, 1, 0, "execute_tool", (0, 1), {"service.name": "odd"}), attributes=odd)
    latest = replace(stranger, span_id="f" * 16, start_ns=2**63 - 1, end_ns=2**63 - 1)
    rows = taken(settings, [stranger, latest, *two_turns()])
    assert [row for row in rows if row[0] == "s"] == expected
    load(settings, patience=1)
    assert [row for row in log(settings) if row[0] == "s"] == expected


def test_an_answers_id_that_another_application_had_too_is_another_answer(settings: Settings) -> None:
    answered = {"gen_ai__response__id": "chatcmpl-1", "gen_ai__input__messages": [], "session__id": "s"}
    first = span(1, 1, 0, "chat", (0, 1), {"service.instance.id": "a"}, **answered)
    second = span(2, 1, 0, "chat", (5, 6), {"service.instance.id": "b"}, **answered)
    assert len(taken(settings, [replace(first, scope="x"), replace(second, scope="y")])) == 2


def test_secrets_in_a_senders_names_and_lists_are_redacted(settings: Settings) -> None:
    secret = "sk-ant-" + "a" * 40
    sender = {"process.command_args": ["agent", f"--key={secret}"]}
    given = span(1, 1, 0, "execute_tool", (0, 1), sender, gen_ai__tool__name="t", mine={"deep": [secret]})
    taken(settings, [replace(given, name=f"call {secret}")])
    (journal,) = settings.journals.glob("*.journal")
    assert secret.encode() not in journal.read_bytes()


def test_a_receiver_that_keeps_nothing_keeps_no_summary_of_anothers(settings: Settings) -> None:
    given = span(1, 1, 0, "execute_tool", (0, 1), turnlog__turn__id="t", session__id="s", turnlog__commit__kind="tool")
    summed = {**given.attributes, "turnlog.commit.output.summary": "all of it"}
    taken(replace(settings, capture=Capture.NONE), [replace(given, attributes=summed)])
    assert [row[6] for row in log(settings)] == [""]


def test_a_process_that_sends_its_trace_in_many_requests_has_one_clock(settings: Settings, expected: list[Row]) -> None:
    """A tool begins while the answer that asks for it still comes in: that is no other clock."""
    early = [later(each, -0.5) if each.name == "execute_tool" else each for each in two_turns()]
    taken(settings, *([replace(each, resource=dict(each.resource))] for each in early), quiet=60.0)
    with Store(settings).reading() as db:
        starts = db.execute("select span_id, start_ns from raw.spans").fetchall()
    assert sorted(starts) == sorted((each.span_id, each.start_ns) for each in early)
