"""Whose code is it? Tool calls in threads, tasks, executors and frameworks, at once and inside each other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from opentelemetry.sdk.trace import TracerProvider

import turnlog
from observe.observing import MakeObserved, calls, touched
from recording import Recording
from turnlog import semconv
from turnlog.instrument import instrument, uninstrument_all
from turnlog.observe import hook
from turnlog.semconv import GenAiOperation

NAMES = [f"file-{number}" for number in range(8)]


def each_its_own(names: list[str]) -> list[tuple[str, list[str]]]:
    return [("work", [f"create {name} (observed)", f"create {name}.log (observed)"]) for name in names]


def in_thread(body: Callable[[], object]) -> None:
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


def test_calls_in_threads_get_their_own_files(observed: Recording) -> None:
    all_run = threading.Barrier(len(NAMES))

    @turnlog.tool
    def work(name: str) -> None:
        all_run.wait(60)
        Path(name).write_text("x")
        all_run.wait(60)
        Path(f"{name}.log").write_text("y")
        all_run.wait(60)

    with ThreadPoolExecutor(len(NAMES)) as pool:
        list(pool.map(work, NAMES))
    assert sorted(calls(observed)) == each_its_own(NAMES)
    assert hook.running == hook.ending == {}


async def test_calls_in_tasks_get_their_own_files(observed: Recording) -> None:
    @turnlog.tool
    async def work(name: str) -> None:
        await asyncio.sleep(0)
        Path(name).write_text("x")
        await asyncio.sleep(0.001)
        await asyncio.to_thread(Path(f"{name}.log").write_text, "y")

    await asyncio.gather(*(work(name) for name in NAMES))
    assert sorted(calls(observed)) == each_its_own(NAMES)


async def test_what_the_application_writes_while_a_task_waits_is_not_the_tasks(observed: Recording) -> None:
    started, goes_on = asyncio.Event(), asyncio.Event()

    @turnlog.tool
    async def work() -> None:
        started.set()
        await goes_on.wait()
        Path("its").write_text("x")

    task = asyncio.create_task(work())
    await started.wait()
    Path("mine").write_text("x")
    goes_on.set()
    await task
    assert touched(observed) == ["create its (observed)"]


def test_what_the_reader_of_a_generator_writes_is_not_the_tools(observed: Recording) -> None:
    @turnlog.tool
    def steps() -> Iterator[int]:
        for number in range(3):
            Path(f"step-{number}").write_text("x")
            yield number

    with turnlog.turn():
        for number in steps():
            Path(f"mine-{number}").write_text("x")
    assert touched(observed) == [f"create step-{number} (observed)" for number in range(3)]


def test_a_thread_without_a_context_belongs_to_the_only_call_there_is(observed: Recording) -> None:
    @turnlog.tool
    def work() -> None:
        in_thread(lambda: Path("plain").write_text("x"))
        with ThreadPoolExecutor(1) as pool:
            pool.submit(Path("pooled").write_text, "x").result()
            pool.submit(copy_context().run, Path("copied").write_text, "x").result()

    work()
    assert touched(observed) == ["create copied (observed)", "create plain (observed)", "create pooled (observed)"]


def test_with_two_calls_a_thread_without_a_context_belongs_to_neither(observed: Recording) -> None:
    both_run = threading.Barrier(2)

    @turnlog.tool
    def work(name: str) -> None:
        both_run.wait(60)
        in_thread(lambda: Path(f"{name}-thread").write_text("x"))
        Path(name).write_text("x")
        both_run.wait(60)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, ["a", "b"]))
    assert sorted(calls(observed)) == [("work", ["create a (observed)"]), ("work", ["create b (observed)"])]


def test_a_thread_without_a_context_belongs_to_the_innermost_of_nested_calls(observed: Recording) -> None:
    @turnlog.tool
    def inner() -> None:
        in_thread(lambda: Path("a").write_text("x"))

    @turnlog.tool
    def outer() -> None:
        inner()
        in_thread(lambda: Path("b").write_text("x"))

    outer()
    assert calls(observed) == [("inner", ["create a (observed)"]), ("outer", ["create b (observed)"])]


def test_two_calls_that_write_one_file_in_turn_both_have_written_it(observed: Recording) -> None:
    both_run, first_wrote, second_wrote = threading.Barrier(2), threading.Event(), threading.Event()

    @turnlog.tool
    def write_file(path: str, content: str) -> None:
        both_run.wait(60)
        if content == "second":
            first_wrote.wait(60)
        Path(path).write_text(content)
        (first_wrote if content == "first" else second_wrote).set()
        second_wrote.wait(60)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda content: write_file("a", content), ["first", "second"]))
    assert sorted(calls(observed)) == [("write_file", ["create a (both)"]), ("write_file", ["write a (both)"])]


def test_a_call_that_declared_a_file_is_not_blamed_for_another_that_wrote_it(observed: Recording) -> None:
    both_run, wrote = threading.Barrier(2), threading.Event()

    @turnlog.tool
    def write_file(path: str, content: str) -> None:
        both_run.wait(60)
        wrote.wait(60)

    @turnlog.tool
    def work() -> None:
        both_run.wait(60)
        Path("a").write_text("x")
        wrote.set()

    with ThreadPoolExecutor(2) as pool:
        for call in [pool.submit(write_file, "a", "y"), pool.submit(work)]:
            call.result()
    assert dict(calls(observed)) == {"work": ["create a (observed)"], "write_file": ["write a (declared)"]}


def test_what_happens_below_a_span_of_the_application_is_the_calls(observed: Recording) -> None:
    elsewhere = TracerProvider(shutdown_on_exit=False).get_tracer("elsewhere")

    @turnlog.tool
    def work() -> None:
        with observed.tracer.start_as_current_span("GET /"), observed.tracer.start_as_current_span("read body"):
            Path("a").write_text("x")
        with elsewhere.start_as_current_span("unknown provider"):
            Path("b").write_text("x")

    work()
    assert touched(observed) == ["create a (observed)", "create b (observed)"]


def test_the_work_of_a_span_beside_the_call_is_not_the_calls(observed: Recording) -> None:
    beside = observed.tracer.start_span("beside")

    @turnlog.tool
    def work() -> None:
        from opentelemetry.trace import use_span

        in_thread(lambda: copy_context().run(body))
        with use_span(beside):
            Path("c").write_text("x")

    def body() -> None:
        from opentelemetry.trace import use_span

        with use_span(beside):
            Path("b").write_text("x")

    work()
    assert touched(observed) == []


def test_a_foreign_span_that_is_never_made_current_gets_its_files(observed: Recording) -> None:
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
        semconv.GEN_AI_TOOL_NAME: "save",
        semconv.GEN_AI_TOOL_CALL_ARGUMENTS: '{"path": "a", "content": "x"}',
    }
    span = observed.tracer.start_span("execute_tool save", attributes=attributes)
    Path("a").write_text("x")
    Path("b").write_text("x")
    span.end()
    assert touched(observed) == ["create a (both)", "create b (observed)"]


def test_a_call_that_ran_out_of_time_is_not_blamed_for_what_it_does_later(observed: Recording) -> None:
    late, done = threading.Event(), threading.Event()

    @turnlog.tool(timeout=0.05)
    def slow() -> None:
        Path("in-time").write_text("x")
        late.wait(60)
        Path("late").write_text("x")
        done.set()

    @turnlog.tool
    def other() -> None:
        late.set()
        done.wait(60)

    assert slow().error.kind == "timeout"
    other()
    assert calls(observed) == [("slow", ["create in-time (observed)"]), ("other", [])]


@tool
def save(name: str) -> str:
    """Save."""
    Path(name).write_text("x")
    in_thread(lambda: copy_context().run(lambda: None))
    return "saved"


@tool
async def save_async(name: str) -> str:
    """Save."""
    await asyncio.sleep(0.001)
    Path(name).write_text("x")
    return "saved"


@pytest.fixture
def hooked(make_observed: MakeObserved) -> Iterator[Recording]:
    observed = make_observed()
    instrument("langchain", "langgraph", tracer_provider=observed.provider)
    yield observed
    uninstrument_all()


def test_calls_at_once_get_the_files_that_their_threads_write(hooked: Recording) -> None:
    all_run = threading.Barrier(len(NAMES))

    @turnlog.tool
    def work(name: str) -> None:
        all_run.wait(60)
        in_thread(lambda: Path(name).write_text("x"))
        with ThreadPoolExecutor(1) as pool:
            pool.submit(Path(f"{name}.log").write_text, "y").result()
        all_run.wait(60)

    with ThreadPoolExecutor(len(NAMES)) as pool:
        list(pool.map(work, NAMES))
    assert sorted(calls(hooked)) == each_its_own(NAMES)


def test_a_tool_of_langchain_gets_its_files(hooked: Recording) -> None:
    assert save.invoke({"name": "a"}) == "saved"
    assert calls(hooked) == [("save", ["create a (observed)"])]


@pytest.mark.parametrize("langchain_tool", [save, save_async], ids=["sync in an executor", "async"])
async def test_tools_of_langchain_at_once_get_their_own_files(hooked: Recording, langchain_tool: BaseTool) -> None:
    await asyncio.gather(*(langchain_tool.ainvoke({"name": name}) for name in NAMES))
    assert sorted(files for _, files in calls(hooked)) == [[f"create {name} (observed)"] for name in NAMES]


def test_tools_that_one_message_asks_for_get_their_own_files(hooked: Recording) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([save]))
    graph.add_edge(START, "tools")
    asked = AIMessage("", tool_calls=[{"name": "save", "args": {"name": name}, "id": name} for name in NAMES])
    state: Any = {"messages": [asked]}
    graph.compile().invoke(state)
    assert sorted(files for _, files in calls(hooked)) == [[f"create {name} (observed)"] for name in NAMES]
