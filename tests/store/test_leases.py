"""Claims of sessions, and what fenced writers did: the same answers in whichever order it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import pytest

from store.story import SECOND, START, Story, change
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load
from turnlog.store.reading import Reading

Rows = list[tuple[Any, ...]]


class Writer(Story):
    def claim(self, session: str, epoch: int, *taken_from: Story) -> None:
        self._count += 1
        now = START + self._count * SECOND
        self.row(
            record="end",
            trace_id=f"{self._count:032x}",
            span_id=f"{self._count:016x}",
            session_id=session,
            start_ns=now,
            end_ns=now,
            commit_kind="lifecycle",
            outcome="ok",
            lease_epoch=epoch,
            lease_holder=self.writer.process.id,
            lease_fences=[other.writer.process.id for other in taken_from],
        )

    def fact(self, label: str, turn: str, value: str, key: str = "k") -> None:
        self.note(label, "s", turn, change("fact", key, value))


@pytest.fixture(params=["journals", "store", "one after the other", "the other way round"])
def ask(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Callable[..., Reading]]:
    """Load the journals of some writers, or not, in one order or the other, and read."""
    opened: list[Any] = []

    def reading(*writers: Story) -> Reading:
        for writer in writers:
            writer.writer.close()
        files = {writer: next(settings.journals.glob(f"{writer.writer.process.id}.*")) for writer in writers}
        if request.param == "store":
            load(settings, patience=1)
        elif request.param != "journals":
            aside = {writer: path.rename(path.with_suffix(".aside")) for writer, path in files.items()}
            for writer in writers if request.param == "one after the other" else reversed(writers):
                aside[writer].rename(files[writer])
                load(settings, patience=1)
        opened.append(Store(settings).reading())
        db: Reading = opened[-1].__enter__()
        return db

    yield reading
    for each in opened:
        each.__exit__(None, None, None)


def fenced(db: Reading) -> set[str]:
    return {commit for (commit,) in db.execute("select commit_id from commits where fenced = 'true'").fetchall()}


def test_what_a_process_does_after_another_took_over_is_kept_and_changes_no_state(
    settings: Settings, ask: Callable[..., Reading]
) -> None:
    a, b = Writer(settings), Writer(settings, after=2)
    a.agent("a1", "s", "t1", "go")
    a.fact("a2", "t1", "from a")
    b.claim("s", 1, a)
    b.agent("b2", "s", "t2", "go on")
    b.fact("b3", "t2", "from b")
    a._count = 5
    a.agent("a3", "s", "t3", "and I too")
    a.fact("a4", "t3", "from a, too late")
    a.tool("a5", "s", "t3", "search", outcome="error", error_type="ValueError")
    a.span("a6", "s", "", commit_kind="lifecycle", lifecycle_state="closed")
    db = ask(a, b)
    assert fenced(db) == {a.ids["a4"], a.ids["a5"], a.ids["a6"]}
    assert db.execute("select value, commit_id from state where kind = 'fact'").fetchall() == [("from b", b.ids["b3"])]
    assert db.execute("select value from state_at('s', 3) where kind = 'fact'").fetchall() == [("from b",)]
    assert db.execute("select key from state where kind = 'tool'").fetchall() == []
    assert db.execute("select commit_id from unresolved_failures").fetchall() == []
    assert db.execute("select status, turns from sessions").fetchall() == [("idle", 3)]
    assert db.execute("select count(*) from commits").fetchall() == [(6,)]


def test_leases(settings: Settings, ask: Callable[..., Reading]) -> None:
    a, b = Writer(settings), Writer(settings, after=2)
    a.agent("works", "s", "t1", "go")
    b.claim("s", 1, a)
    assert ask(a, b).execute("select session_id, epoch, since_ns, holder, taken_from from leases").fetchall() == [
        ("s", 1, START + 3 * SECOND, b.writer.process.id, a.writer.process.id)
    ]


def test_a_claim_is_no_work_of_a_turn(settings: Settings, ask: Callable[..., Reading]) -> None:
    a, b = Writer(settings), Writer(settings, after=9)
    a.agent("a1", "s", "t1", "go")
    b.claim("s", 1, a)
    db = ask(a, b)
    assert db.execute("select kind, fenced from commits").fetchall() == [("lifecycle", "")]
    assert db.execute("select ended_ns from turn_numbers").fetchall() == [(START + SECOND + SECOND // 2,)]


def test_who_takes_the_session_back_counts_again_and_the_other_no_more(settings: Settings, ask: Callable[..., Reading]) -> None:
    a, b = Writer(settings), Writer(settings, after=1)
    a.agent("a1", "s", "t1", "go")
    b.claim("s", 1, a)
    b.fact("b2", "t1", "b")
    a._count = 3
    a.fact("a2", "t1", "lost")
    a.claim("s", 2, b)
    a.fact("a4", "t1", "a again")
    b._count = 6
    b.fact("b3", "t1", "lost too")
    db = ask(a, b)
    assert fenced(db) == {a.ids["a2"], b.ids["b3"]}
    assert db.execute("select value from state").fetchall() == [("a again",)]


def test_a_claim_that_is_said_late_lifts_no_later_fence(settings: Settings, ask: Callable[..., Reading]) -> None:
    a, b = Writer(settings), Writer(settings, after=1)
    a.agent("a1", "s", "t1", "go")
    b.claim("s", 2, a)
    b.fact("b2", "t1", "b")
    a._count = 5
    a.claim("s", 1)
    a.fact("a2", "t1", "lost")
    db = ask(a, b)
    assert a.ids["a2"] in fenced(db) and b.ids["b2"] not in fenced(db)
    assert db.execute("select value from state").fetchall() == [("b",)]


def test_a_process_that_is_fenced_twice_is_told_once(settings: Settings, ask: Callable[..., Reading]) -> None:
    a, b, c = Writer(settings), Writer(settings, after=1), Writer(settings, after=2)
    a.agent("a1", "s", "t1", "go")
    b.claim("s", 1, a)
    c.claim("s", 2, b, a)
    a._count = 3
    a.fact("a2", "t1", "lost")
    db = ask(a, b, c)
    assert db.execute("select count(*), count(*) filter (fenced = 'true') from commits").fetchall() == [(3, 1)]


def test_only_the_session_that_was_taken_over_is_fenced(settings: Settings, ask: Callable[..., Reading]) -> None:
    a, b = Writer(settings), Writer(settings)
    b.claim("s", 1, a)
    a._count = 1
    a.note("a1", "other", "t1", change("fact", "k", "v"))
    db = ask(a, b)
    assert fenced(db) == set()


def test_what_a_fenced_process_leaves_unfinished_is_no_open_work(settings: Settings, ask: Callable[..., Reading]) -> None:
    a, b = Writer(settings), Writer(settings, after=1)
    a.agent("a1", "s", "t1", "go")
    b.claim("s", 1, a)
    a._count = 2
    a.span("a2", "s", "t1", ends=False, operation="execute_tool", tool="search")
    db = ask(a, b)
    assert db.execute("select * from pending_actions").fetchall() == []
    assert db.execute("select status, in_flight from sessions").fetchall() == [("idle", 0)]


def test_the_order_of_three_journals_does_not_matter(settings: Settings) -> None:
    answers = set()
    for number, order in enumerate(permutations(range(3))):
        session = f"s{number}"
        a, b, c = Writer(settings), Writer(settings, after=1), Writer(settings, after=4)
        a.note("a1", session, "t1", change("fact", "k", "a"))
        b.claim(session, 1, a)
        b.note("b2", session, "t1", change("fact", "k", "b"))
        a._count = 3
        a.note("a2", session, "t1", change("fact", "k", "lost"))
        c.claim(session, 2, a, b)
        c.note("c2", session, "t1", change("fact", "k", "c"))
        b._count = 7
        b.note("b3", session, "t1", change("fact", "k", "lost too"))
        paths = []
        for writer in (a, b, c):
            writer.writer.close()
            path = next(settings.journals.glob(f"{writer.writer.process.id}.*"))
            paths.append((path.rename(path.with_suffix(".aside")), path))
        for place in order:
            paths[place][0].rename(paths[place][1])
            load(settings, patience=1)
        with Store(settings).reading() as db:
            state = db.execute("select value from state where session_id = ?", [session]).fetchall()
            count = db.execute("select count(*) from commits where session_id = ? and fenced = 'true'", [session]).fetchall()
        answers.add((str(state), str(count)))
    assert answers == {("[('c',)]", "[(2,)]")}
