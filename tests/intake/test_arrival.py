"""However spans arrive, and whoever dies in between, the log in the end is that of the same spans at once and in order."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sent import later, two_turns
from turnlog.intake import Intake
from turnlog.received import ReceivedSpan
from turnlog.settings import Settings
from turnlog.store.store import Store

Row = tuple[Any, ...]
Batches = Iterable[Sequence[ReceivedSpan]]
LOG = """
select
    session_id, turn, kind, tool, input_hash, input_summary, output_hash, output_summary, outcome, error, delta,
    choice, reason, input_tokens, output_tokens, model, tool_call_id, decision_id, trace_id, span_id
from commits
order by session_id, ended_ns, span_id
"""


def taken(directory: Path, batches: Batches, *, quiet: float, deaths: Sequence[int] = ()) -> list[Row]:
    """The log of these batches, each sent alone, to receivers of which one is killed after each of the numbered batches."""
    settings = Settings(directory=directory)
    intake = Intake(settings, quiet=quiet)
    for number, batch in enumerate(batches):
        intake.take(batch)
        intake.settle()
        if number in deaths:
            _let_go(intake)
            intake = Intake(settings, quiet=quiet)
            intake._adopt()
    intake.close()
    with Store(settings).reading() as db:
        return db.execute(LOG).fetchall()


def _let_go(intake: Intake) -> None:
    """As the kernel does for the dead: what they had written stays, unlocked."""
    assert intake._inbox is not None
    intake._inbox.close()
    intake.journal.close()


@pytest.fixture
def expected(tmp_path: Path) -> list[Row]:
    return taken(tmp_path / "expected", [two_turns()], quiet=0.0)


def of_another(spans: Sequence[ReceivedSpan]) -> list[ReceivedSpan]:
    """The same work for another session of the same process, half a second later."""
    return [
        replace(
            later(each, 0.5),
            trace_id=each.trace_id[::-1],
            span_id=f"f{each.span_id[1:]}",
            parent_id=f"f{each.parent_id[1:]}" if each.parent_id else "",
        )
        for each in spans
    ]


def bare_calls() -> list[ReceivedSpan]:
    """As a bare SDK sends them: each model call a trace of its own, and only the messages tell of tools."""
    calls = [each for each in two_turns("") if each.name == "chat"]
    return [replace(each, parent_id="", trace_id=f"{number:032x}") for number, each in enumerate(calls, 1)]


def cut(spans: Sequence[ReceivedSpan], order: random.Random) -> list[list[ReceivedSpan]]:
    """In any order, in batches of one to three."""
    left = order.sample(spans, len(spans))
    batches = []
    while left:
        size = order.randint(1, 3)
        batches.append(left[:size])
        left = left[size:]
    return batches


def roots_last(order: random.Random, *traces: Sequence[ReceivedSpan]) -> list[list[ReceivedSpan]]:
    """One span at a time, from any of the traces; of each trace its children in any order, then its root."""
    queues = [[*order.sample(children, len(children)), root] for *children, root in traces]
    sent = []
    while queues:
        queue = order.choice(queues)
        sent.append([queue.pop(0)])
        queues = [queue for queue in queues if queue]
    return sent


@pytest.mark.parametrize("seed", range(8))
def test_a_trace_whose_root_comes_last_waits_for_it_however_long_that_takes(
    tmp_path: Path, expected: list[Row], seed: int
) -> None:
    spans = two_turns()
    sent = roots_last(random.Random(seed), spans[:4], spans[4:])
    assert taken(tmp_path / "store", sent, quiet=0.0) == expected


@pytest.mark.parametrize("seed", range(8))
def test_a_receiver_that_is_killed_between_two_requests_is_not_noticed(tmp_path: Path, expected: list[Row], seed: int) -> None:
    order, spans = random.Random(seed), two_turns()
    sent = roots_last(order, spans[:4], spans[4:])
    assert taken(tmp_path / "store", sent, quiet=0.0, deaths=order.sample(range(len(sent)), 3)) == expected


@pytest.mark.parametrize("seed", range(8))
def test_two_sessions_of_one_process_at_the_same_time_stay_apart(tmp_path: Path, seed: int) -> None:
    one, other = two_turns("s"), of_another(two_turns("t"))
    alone = [row for name in (one, other) for row in taken(tmp_path / name[0].span_id, [name], quiet=0.0)]
    order = random.Random(seed)
    assert taken(tmp_path / "any order", cut([*one, *other], order), quiet=60.0) == alone
    sent = roots_last(order, one[:4], one[4:], other[:4], other[4:])
    assert taken(tmp_path / "roots last", sent, quiet=0.0) == alone


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_that_is_sent_again_with_more_in_it_brings_what_is_new(tmp_path: Path, expected: list[Row], seed: int) -> None:
    batches = cut(two_turns(), random.Random(seed))
    again = [[*before, *batch] for before, batch in zip([[], *batches], batches, strict=False)]
    assert taken(tmp_path / "store", again, quiet=60.0) == expected


@pytest.mark.parametrize("again", range(8))
def test_a_span_that_the_next_receiver_gets_again_changes_nothing(tmp_path: Path, expected: list[Row], again: int) -> None:
    spans = two_turns()
    assert taken(tmp_path / "store", [spans, [spans[again]]], quiet=0.0, deaths=[0]) == expected


@pytest.mark.parametrize("again", range(4))
def test_a_call_that_the_next_receiver_gets_again_tells_of_no_tool_twice(tmp_path: Path, again: int) -> None:
    calls = bare_calls()
    expected = taken(tmp_path / "expected", [calls], quiet=0.0)
    assert taken(tmp_path / "store", [calls, [calls[again]]], quiet=0.0, deaths=[0]) == expected


def test_a_conversation_goes_on_with_the_next_receiver(tmp_path: Path) -> None:
    calls = bare_calls()
    expected = taken(tmp_path / "expected", [calls], quiet=0.0)
    assert taken(tmp_path / "store", [calls[:2], calls[2:]], quiet=0.0, deaths=[0]) == expected
