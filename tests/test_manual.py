"""The by-hand API: what the caller sees is unchanged, what happened is recorded."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import multiprocessing
import pickle
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import turnlog
from recording import journal_rows
from turnlog import queries, semconv
from turnlog.settings import Settings


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    turnlog.init(directory=tmp_path, instrument=False)
    yield tmp_path
    turnlog.shutdown()


def log(directory: Path) -> list[tuple[int, str, str, str, str, str]]:
    with queries.reading(Settings(directory=directory)) as db:
        found = queries.log(db, "s", limit=1000)
    return [(c.turn, c.kind, c.tool, c.outcome, c.input_summary, c.output_summary) for c in reversed(found)]


def test_a_function_keeps_its_result_and_is_recorded(directory: Path) -> None:
    @turnlog.tool
    def add(a: int, b: int = 2) -> int:
        return a + b

    with turnlog.session("s"), turnlog.turn(input="add"):
        assert add(1) == 3
    assert log(directory) == [(1, "tool", "add", "ok", '{"a":1}', "3")]


def test_an_exception_reaches_the_caller_as_the_same_object(directory: Path) -> None:
    error = ValueError("no such thing")

    @turnlog.tool
    def fail() -> None:
        raise error

    with turnlog.session("s"), pytest.raises(ValueError, match="no such thing") as caught:
        fail()
    assert caught.value is error
    assert log(directory) == [(1, "tool", "fail", "error", "{}", "no such thing")]


async def test_a_coroutine_stays_a_coroutine_function(directory: Path) -> None:
    @turnlog.tool(name="lookup")
    async def find(key: str) -> str:
        await asyncio.sleep(0)
        return key.upper()

    assert inspect.iscoroutinefunction(find)
    with turnlog.session("s"):
        assert await find("a") == "A"
    assert log(directory) == [(1, "tool", "lookup", "ok", '{"key":"a"}', "A")]


def test_a_generator_that_is_left_early_keeps_what_was_read(directory: Path) -> None:
    @turnlog.tool
    def lines() -> Iterator[str]:
        yield "one"
        yield "two"
        yield "three"

    with turnlog.session("s"):
        for line in lines():
            if line == "two":
                break
    assert log(directory) == [(1, "tool", "lines", "ok", "{}", '["one","two"]')]


async def test_an_async_generator_is_recorded_when_it_is_exhausted(directory: Path) -> None:
    @turnlog.tool
    async def numbers() -> AsyncIterator[int]:
        yield 1
        yield 2

    with turnlog.session("s"):
        assert [number async for number in numbers()] == [1, 2]
    assert log(directory) == [(1, "tool", "numbers", "ok", "{}", "[1,2]")]


def test_a_method_is_recorded_without_its_instance(directory: Path) -> None:
    class Shop:
        @turnlog.tool
        def buy(self, item: str) -> str:
            return f"bought {item}"

    with turnlog.session("s"):
        assert Shop().buy("tea") == "bought tea"
    assert log(directory) == [(1, "tool", "buy", "ok", '{"item":"tea"}', "bought tea")]


def test_a_timeout_is_a_value_that_the_caller_can_branch_on(directory: Path) -> None:
    @turnlog.tool(timeout=0.05, retries=1)
    def slow() -> str:
        time.sleep(2)
        return "late"

    with turnlog.session("s"):
        result = slow()
    assert (result.ok, result.value, result.error.kind, result.error.attempts) == (False, None, "timeout", 2)
    assert [row[3] for row in log(directory)] == ["timeout", "timeout"]


async def test_a_coroutine_that_recovers_gives_its_value_and_both_attempts(directory: Path) -> None:
    calls = []

    @turnlog.tool(retries=2)
    async def flaky() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise ConnectionError("gone")
        return "here"

    with turnlog.session("s"):
        assert await flaky() == turnlog.ToolResult("here")
    assert [row[3] for row in log(directory)] == ["error", "ok"]


def test_attempts_are_tied_to_the_first(directory: Path) -> None:
    @turnlog.tool(retries=1)
    def fail() -> None:
        raise ValueError("x")

    with turnlog.session("s"):
        fail()
    with queries.reading(Settings(directory=directory)) as db:
        second, first = queries.log(db, "s")
        tied = db.execute("select commit_id, retry_of, attempt from commits order by started_ns").fetchall()
    assert tied == [(first.commit_id, "", 0), (second.commit_id, first.span_id, 2)]


async def test_cancellation_passes_through_a_guarded_tool(directory: Path) -> None:
    @turnlog.tool(timeout=5)
    async def wait() -> None:
        await asyncio.sleep(5)

    async def work() -> None:
        with turnlog.session("s"):
            await wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [row[3] for row in log(directory)] == ["cancelled"]


def test_a_generator_cannot_be_guarded() -> None:
    with pytest.raises(TypeError, match="generator"):

        @turnlog.tool(timeout=1)
        def lines() -> Iterator[str]:
            yield "x"


def test_a_later_decision_about_the_same_thing_replaces_the_first(directory: Path) -> None:
    with turnlog.session("s"):
        with turnlog.turn(input="first"):
            turnlog.decide("dict", why="simple", alternatives=["Counter"], about="counting")
        with turnlog.turn(input="second"):
            turnlog.decide("Counter", why="fast", about="counting")
    with queries.reading(Settings(directory=directory)) as db:
        found = queries.diff(db, "s", 1, 2)
    assert [(d.kind, d.key, d.change, d.before_value, d.after_value) for d in found.differences] == [
        ("decision", "counting", "changed", "dict", "Counter")
    ]
    assert [(d.choice, d.reason, d.reason_source) for d in found.decisions] == [("Counter", "fast", "stated")]


def test_a_pending_action_is_pending_until_it_is_resolved(directory: Path) -> None:
    with turnlog.session("s"):
        action = turnlog.pending("send the mail", key="mail")
        with queries.reading(Settings(directory=directory)) as db:
            before = [(p.status, p.action_id, p.action) for p in queries.pending(db, "s")]
        action.resolve()
    with queries.reading(Settings(directory=directory)) as db:
        after = queries.pending(db, "s")
    assert (before, after) == ([("pending", "mail", "send the mail")], [])


def test_a_fact_is_state(directory: Path) -> None:
    with turnlog.session("s"):
        turnlog.note("the user is in Oslo", key="place")
        turnlog.note("the user is in Bergen", key="place")
    with queries.reading(Settings(directory=directory)) as db:
        found = [(e.kind, e.key, e.value, e.tier) for e in queries.state(db, "s")]
    assert found == [("fact", "place", "the user is in Bergen", "durable")]


def test_values_that_are_no_text_are_written_as_text(directory: Path) -> None:
    with turnlog.session(4711):
        turnlog.note({"a": 1}, key="map")
        turnlog.note(None, key="none")
        turnlog.pending(5).resolve()
    with queries.reading(Settings(directory=directory)) as db:
        found = [(e.key, e.value) for e in queries.state(db, "4711")]
    assert sorted(found) == [("map", '{"a":1}'), ("none", "null")]


@turnlog.tool
def double(number: int) -> int:
    return 2 * number


@pytest.mark.usefixtures("directory")
def test_a_tool_goes_where_functions_go() -> None:
    assert copy.deepcopy(double) is double
    assert pickle.loads(pickle.dumps(double)) is double
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        assert pool.submit(double, 2).result() == 4


def test_class_methods_partials_and_builtins_are_tools(directory: Path) -> None:
    class Shop:
        @turnlog.tool
        @classmethod
        def buy(cls, item: str) -> str:
            return f"{cls.__name__} sold {item}"

        @staticmethod
        @turnlog.tool
        def sell(item: str) -> str:
            return item

    with turnlog.session("s"):
        assert Shop.buy("tea") == "Shop sold tea"
        assert Shop.sell("tea") == "tea"
        assert turnlog.tool(functools.partial(int, base=16))("ff") == 255
        assert turnlog.tool(max, name="largest")(1, 2) == 2
    assert [row[2:5] for row in log(directory)] == [
        ("buy", "ok", '{"item":"tea"}'),
        ("sell", "ok", '{"item":"tea"}'),
        ("partial", "ok", '{"args":["ff"]}'),
        ("largest", "ok", '{"args":[1,2]}'),
    ]


async def test_a_coroutine_that_is_too_slow_says_so(directory: Path) -> None:
    @turnlog.tool(timeout=0.01)
    async def slow() -> None:
        await asyncio.sleep(5)

    with turnlog.session("s"):
        result = await slow()
    assert result.error.message == "slow did not finish within 0.01 s"


def test_the_answer_of_a_turn_is_kept(directory: Path) -> None:
    with turnlog.session("s"):
        with turnlog.turn(input="store it") as turn:
            turn.answer("Stored with password=hunter22")
        with turnlog.turn(input="and then?"):
            pass
    with queries.reading(Settings(directory=directory)) as db:
        found = [(turn.input_summary, turn.output_summary, turn.answer_commit) for turn in queries.turns(db, "s")]
    assert found == [("and then?", "", ""), ("store it", "Stored with password=[REDACTED:credential]", "")]


def test_an_answer_is_kept_as_the_capture_level_says(tmp_path: Path) -> None:
    turnlog.init(directory=tmp_path, instrument=False, capture="none")
    with turnlog.session("s"), turnlog.turn(input="store it") as turn:
        turn.answer("Stored.")
    turnlog.shutdown()
    [ended] = [row for row in journal_rows(Settings(directory=tmp_path)) if row["record"] == "end"]
    assert "turn_output" not in ended or not ended["turn_output"]
    assert ended["attributes"][semconv.TURN_OUTPUT_HASH].startswith("sha256:")


def test_a_turn_that_breaks_off_is_a_failure(directory: Path) -> None:
    with turnlog.session("s"), pytest.raises(KeyError), turnlog.turn(input="x"):
        raise KeyError("gone")
    assert log(directory) == [(1, "lifecycle", "", "error", "", "'gone'")]


def test_a_failure_that_a_turn_only_passes_on_is_recorded_once(directory: Path) -> None:
    @turnlog.tool
    def fail() -> None:
        raise ValueError("no")

    with turnlog.session("s"), pytest.raises(ValueError, match="no"), turnlog.turn(input="x"):
        fail()
    assert [row[1] for row in log(directory)] == ["tool"]


def test_deleting_a_file_that_the_session_did_not_write_is_in_the_diff(directory: Path) -> None:
    @turnlog.tool
    def delete_file(path: str) -> None: ...

    with turnlog.session("s"), turnlog.turn(input="clean up"):
        delete_file("legacy.py")
    with queries.reading(Settings(directory=directory)) as db:
        found = [(d.kind, d.key, d.change, d.action, d.tool) for d in queries.diff(db, "s", 0, 1).differences]
    assert found == [
        ("file", "legacy.py", "removed", "delete", "delete_file"),
        ("tool", "delete_file", "added", "", "delete_file"),
    ]


def test_before_init_everything_works_and_nothing_is_recorded(tmp_path: Path) -> None:
    @turnlog.tool(timeout=1)
    def work() -> int:
        return 1

    with turnlog.session("s"), turnlog.turn(input="x") as turn:
        turnlog.decide("a")
        turnlog.note("b")
        turnlog.pending("c").resolve()
        turn.answer("d")
        assert work() == turnlog.ToolResult(1)


class Hostile:
    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Array:
    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    def __str__(self) -> str:
        return "[1 2]"


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_what_cannot_be_read_costs_its_words_and_not_the_program(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    with turnlog.session("s"):
        with turnlog.turn(input=Hostile()) as turn:
            turn.answer(Hostile())
            turnlog.decide("a", alternatives=None)
            turnlog.decide("b", alternatives=5)  # type: ignore[arg-type]
        with turnlog.turn(input=Array()) as turn:
            turn.answer(Array())
    assert [row[1] for row in log(directory)] == ["decision"]
    with queries.reading(Settings(directory=directory)) as db:
        assert [(turn.input_summary, turn.output_summary) for turn in queries.turns(db, "s")] == [("[1 2]", "[1 2]"), ("", "")]
    assert len(caplog.records) == 3


def test_an_error_without_a_text_reaches_the_program_as_it_is(directory: Path) -> None:
    @turnlog.tool(retries=1)
    def fail() -> None:
        raise MuteError

    with turnlog.session("s"), pytest.raises(MuteError), turnlog.turn(input="x"):
        result = fail()
        assert (result.error.type, result.error.message) == (f"{__name__}.MuteError", "")
        raise result.error.exception
