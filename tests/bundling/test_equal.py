"""A session is the same on the other machine: whatever is asked of it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

import pytest

from bundling.stores import beside, carry, different, held, said, sessions_of
from programs import run
from store.attempts import Attempts
from store.story import SECOND, START, Story, change
from store.talk import Talk, report
from store.test_blame import Files
from store.test_checkpoints import tell as tell_checkpoints
from store.test_context import First, Second
from store.test_leases import Writer
from store.test_lifecycle import Life
from store.test_questions import Told
from store.test_retention import Past, collect, say
from store.test_taint import SCENARIOS
from turnlog import queries
from turnlog.settings import Settings
from turnlog.store.loader import load

UNREFERRED = "sha256:nobody's"
STORIES: dict[str, Callable[[Settings], object]] = {}


def story(tell: Callable[[Settings], object]) -> Callable[[Settings], object]:
    STORIES[tell.__name__] = tell
    return tell


@story
def questions(settings: Settings) -> Story:
    told = Told(settings)
    told.first_half()
    load(settings, patience=1)
    told.second_half()
    return told


@story
def contexts(settings: Settings) -> list[Story]:
    first, second = First(settings), Second(settings, after=100)
    first.first_half()
    first.second_half()
    second.whole()
    return [first, second]


@story
def checkpoints(settings: Settings) -> Story:
    return tell_checkpoints(settings)


@story
def files(settings: Settings) -> Story:
    told = Files(settings)
    told.first_half()
    told.second_half()
    return told


@story
def attempts(settings: Settings) -> Story:
    told = Attempts(settings)
    told.run("t1", run={"outcome": "timeout"})
    told.run("t2", read={"retry_of": told.ids["t1 reads"], "attempt": 2})
    told.open("t3", prefix="longer", text="more", ends=False)
    return told


@story
def provenance(settings: Settings) -> Story:
    talk = Talk(settings)
    report(talk)
    return talk


@story
def taint(settings: Settings) -> list[Story]:
    talks = []
    for number, (name, tell) in enumerate(SCENARIOS.items()):
        talks.append(Talk(settings, name, after=1000 * number))
        tell(talks[-1])
    return talks


@story
def lifecycles(settings: Settings) -> Story:
    life = Life(settings)
    life.say("early", "s", "open")
    for turn in ("t1", "t2"):
        life.agent(f"agent {turn}", "s", turn, "go")
        life.say(f"pause {turn}", "s", "paused", turn, pause_reason="waiting")
        life.say(f"resume {turn}", "s", "resumed")
    life.say("refused", "s", "archived")
    life.span("pin", "s", "", commit_kind="lifecycle", pinned=True)
    life.span("runs", "s", "t2", ends=False, operation="execute_tool", tool="slow")
    life.die(settings, seconds=60)
    life.writer.close()
    return life


@story
def leases(settings: Settings) -> list[Story]:
    first, second = Writer(settings), Writer(settings, after=100)
    first.agent("agent", "s", "t1", "go")
    first.claim("s", 1)
    first.fact("mine", "t1", "1")
    second.claim("s", 2, first)
    second.fact("yours", "t2", "2")
    late = Writer(settings, after=200)
    late.writer = first.writer
    late.fact("late", "t1", "3")
    return [first, second]


@story
def all_that_a_row_has(settings: Settings) -> Story:
    told = Story(settings)
    told.agent("agent", "s", "t1", "go")
    odd = {"deep": {"a": [1, 1.0, 1e300, -0.0, 2**63, None, True, "é\n\u2028\x00"]}, "n": 12345678901234567890}
    told.tool("odd", "s", "t1", "odd", change("fact", "\x1f'; drop table", 'v"\n', evidence="both"), attributes=odd)
    told.chat(
        "kept", "s", "t1", self_reported=True, memory_operation="add", memory_items=["sha256:m"], replay_record="sha256:r"
    )
    for name in ("m", "r", "nobody's"):
        told.row(record="blob", start_ns=START, hash=f"sha256:{name}", text=f"{name}\n'\"\\ \x00 é")
    told.span("linked", "s", "t1", links=[{"trace_id": "0" * 32, "span_id": "0" * 16}], lost=2)
    told.span("next", "later", "t9", operation="invoke_agent", previous_session="s", events=[{"name": "e", "at_ns": 1}])
    told.row(record="loss", start_ns=START + 5, name="journal not writable", lost=3)
    return told


def close(told: Any) -> None:
    for each in told if isinstance(told, list) else [told]:
        each.writer.close()


@pytest.mark.parametrize("tell", STORIES.values(), ids=STORIES)
def test_a_story_is_told_the_same_elsewhere(tell: Callable[[Settings], object], settings: Settings, other: Settings) -> None:
    close(tell(settings))
    result = carry(settings, other)
    here, there = said(settings), said(other)
    here["raw.blobs"] = [row for row in here["raw.blobs"] if row[0] != UNREFERRED]
    assert different(here, there) == {}
    assert [each.is_same for each in result.sessions] == [True] * len(sessions_of(settings))
    again = carry(settings, other)
    assert [(each.before, each.is_same) for each in again.sessions] == [(each.after, True) for each in again.sessions]
    assert different(held(other), there) == {}


def test_what_comes_back_is_known(settings: Settings, other: Settings) -> None:
    close(questions(settings))
    carry(settings, other)
    before = said(settings)
    carry(other, settings)
    assert different(before, said(settings)) == {}


def test_what_runs_is_told_as_running(settings: Settings, other: Settings) -> None:
    told = Told(settings)
    told.first_half()
    told.second_half()
    result = carry(settings, other)
    assert different(said(settings), said(other)) == {}
    assert [(pid, spans) for _, pid, spans in result.running] == [(told.writer.process.pid, 1)]
    told.writer.close()


def test_a_session_that_retention_stripped_is_the_same_elsewhere(settings: Settings, other: Settings) -> None:
    old = Past(settings)
    for name in ("old", "archived", "pinned"):
        old.session(name)
    old.span("runs", "old", "old t", ends=False, operation="execute_tool", tool="slow")
    old.span("pin", "pinned", "", commit_kind="lifecycle", pinned=True)
    old.writer.close()
    (journal,) = settings.journals.glob("*.journal")
    os.utime(journal, ns=(START, START + 100 * SECOND))
    say(settings, "archived", state="closed")
    say(settings, "archived", state="archived")
    load(settings, patience=1)
    assert len(collect(settings, keep_durable=True).plan.sessions) == 2
    carry(settings, other)
    assert different(said(settings), said(other)) == {}


def test_the_demo_is_the_same_elsewhere(settings: Settings, other: Settings) -> None:
    run(sys.executable, "-m", "turnlog", "demo", directory=settings.directory, TURNLOG_CAPTURE="full")
    with queries.reading(settings) as db:
        (name,) = sessions_of(settings)
        assert queries.totals(db).commits > 20
        assert db.execute("select count(*) from raw.blobs").fetchall()[0][0] > 10
    result = carry(settings, other, name)
    assert different(said(settings), said(other)) == {}
    assert result.sessions[0].is_same


def test_what_two_machines_did_apart_comes_together_in_either_order(settings: Settings, other: Settings) -> None:
    close(questions(settings))
    third = beside(settings, "third")
    shutil.copytree(other.directory, third.directory)
    carry(settings, other, "s")
    code = "import turnlog; turnlog.resume('s')\nwith turnlog.turn('{0}'): turnlog.note('{0}', key='who')"
    for machine in (settings, other):
        run(sys.executable, "-c", code.format(machine.directory.name), directory=machine.directory)
    for source in (settings, other):
        carry(source, third, "s")
    (arrived,) = carry(settings, other, "s").sessions
    assert (arrived.is_same, arrived.is_wrong, arrived.others) == (False, False, 3)
    assert different(said(other), said(third)) == {}
    with queries.reading(third) as db:
        assert [fact.value for fact in queries.session_state(db, "s").facts if fact.key == "who"] == ["other"]
