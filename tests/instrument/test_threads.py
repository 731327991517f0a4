"""Sessions and turns go along to threads and pools; nothing else does, and the application does not notice."""

from __future__ import annotations

import ast
import asyncio
import gc
import json
import multiprocessing
import multiprocessing.dummy
import sys
import threading
import urllib.request
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from opentelemetry.trace import get_current_span

import turnlog
from instrument.recorder import identities
from programs import ROOT, run_code
from recording import Recording, session_of, turn_of
from turnlog import carried
from turnlog.background import BackgroundLoader
from turnlog.carried import carried_from_here, is_here
from turnlog.demo.scripted_model import ScriptedModel
from turnlog.instrument import instrument, uninstrument, uninstrument_all

# Those that the `recorded` fixture hooks: threads need none.
FRAMEWORKS = ()
SESSIONS = ("a", "b")

Work = Callable[[], object]
pytestmark = pytest.mark.usefixtures("recorded")


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Of as many workers as there are sessions, so that each serves both."""
    with ThreadPoolExecutor(len(SESSIONS)) as pool:
        yield pool


def in_thread(work: Work, pool: ThreadPoolExecutor | None = None) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def in_own_class(work: Work, pool: ThreadPoolExecutor) -> None:
    class Worker(threading.Thread):
        def run(self) -> None:
            work()

    thread = Worker(daemon=True)
    thread.start()
    thread.join()


def in_own_run(work: Work, pool: ThreadPoolExecutor) -> None:
    thread: Any = threading.Thread()
    thread.run = work
    thread.start()
    thread.join()
    assert thread.run is work


def in_timer(work: Work, pool: ThreadPoolExecutor) -> None:
    timer = threading.Timer(0.001, work)
    timer.start()
    timer.join()


def in_dummy_process(work: Work, pool: ThreadPoolExecutor) -> None:
    """Calls `Thread.start` on the class."""
    process = multiprocessing.dummy.Process(target=work)
    process.start()
    process.join()


def in_pool(work: Work, pool: ThreadPoolExecutor) -> None:
    pool.submit(work).result()


def in_map(work: Work, pool: ThreadPoolExecutor) -> None:
    list(pool.map(lambda _: work(), [1]))


def in_executor(work: Work, pool: ThreadPoolExecutor) -> None:
    async def hand_over() -> None:
        await asyncio.get_running_loop().run_in_executor(None, work)

    asyncio.run(hand_over())


def in_thread_of_pool(work: Work, pool: ThreadPoolExecutor) -> None:
    pool.submit(in_thread, work).result()


def in_pool_of_thread(work: Work, pool: ThreadPoolExecutor) -> None:
    in_thread(lambda: in_pool(work, pool))


WAYS = [
    *(in_thread, in_own_class, in_own_run, in_timer, in_dummy_process),
    *(in_pool, in_map, in_executor, in_thread_of_pool, in_pool_of_thread),
]


def at_once(do: Callable[[str], object]) -> None:
    workers = [threading.Thread(target=do, args=(session,)) for session in SESSIONS]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def places(recording: Recording) -> list[tuple[str, str, str]]:
    """Session, turn and name of every span, sorted."""
    return sorted((session_of(span), turn_of(span), span.name) for span in recording.spans)


@pytest.mark.parametrize("hand_over", WAYS)
@pytest.mark.parametrize("by_name", [True, False], ids=["named by hand", "named by the framework"])
def test_sessions_at_once_stay_apart(
    recorded: Recording, pool: ThreadPoolExecutor, hand_over: Callable[[Work, ThreadPoolExecutor], None], by_name: bool
) -> None:
    both_run = threading.Barrier(len(SESSIONS), timeout=10)
    expected = []

    def work() -> None:
        both_run.wait()
        recorded.tool("ours")
        recorded.tracer.start_span("theirs").end()

    def converse(session: str) -> None:
        for _ in range(2):
            with recorded.agent("hi", conversation="" if by_name else session) as agent:
                hand_over(work, pool)
            names = ("execute_tool", "invoke_agent", "theirs")
            expected.extend((session, turn_of(agent), name) for name in names)

    def named(session: str) -> None:
        with turnlog.session(session):
            converse(session)

    at_once(named if by_name else converse)
    assert places(recorded) == sorted(expected)


@pytest.mark.parametrize("hand_over", WAYS)
def test_a_session_without_a_turn_goes_along(
    recorded: Recording, pool: ThreadPoolExecutor, hand_over: Callable[[Work, ThreadPoolExecutor], None]
) -> None:
    for session in SESSIONS:
        with turnlog.session(session):
            hand_over(lambda: recorded.tool("work"), pool)
    assert [session_of(span) for span in recorded.spans] == ["a", "b"]


@pytest.mark.parametrize("hand_over", WAYS)
def test_an_operation_is_a_child_of_the_one_around_and_a_span_of_the_application_is_as_it_was(
    recorded: Recording, pool: ThreadPoolExecutor, hand_over: Callable[[Work, ThreadPoolExecutor], None]
) -> None:
    def work() -> None:
        assert not get_current_span().is_recording()
        recorded.tool("ours")
        recorded.tracer.start_span("theirs").end()

    with recorded.agent("hi") as agent:
        hand_over(work, pool)
    parents = {span.name: span.parent for span in recorded.spans}
    assert parents == {"execute_tool": agent.span.get_span_context(), "theirs": None, "invoke_agent": None}


@pytest.mark.parametrize("by_pool", [False, True])
def test_what_outlives_its_turn_belongs_to_it(recorded: Recording, pool: ThreadPoolExecutor, by_pool: bool) -> None:
    is_over = threading.Event()
    turns = []

    def work() -> None:
        is_over.wait(10)
        recorded.tool("ours")
        recorded.tracer.start_span("theirs").end()

    started: list[Any] = []
    for session in SESSIONS:
        with recorded.agent("first", conversation=session) as agent:
            turns.append((session, turn_of(agent)))
            started.append(pool.submit(work) if by_pool else threading.Thread(target=work))
            if not by_pool:
                started[-1].start()
        with recorded.agent("second", conversation=session):
            pass
    is_over.set()
    for each in started:
        each.result() if by_pool else each.join()
    left = [place for place in places(recorded) if place[2] != "invoke_agent"]
    assert left == sorted((*turn, name) for turn in turns for name in ("execute_tool", "theirs"))


def test_inside_a_span_of_another_instrumentation_its_turn_goes_along(recorded: Recording) -> None:
    for session in SESSIONS:
        with recorded.tracer.start_as_current_span(
            "agent", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": session}
        ):
            in_thread(lambda: recorded.tracer.start_span("theirs").end())
    assert [(session_of(span), span.name) for span in recorded.spans] == [
        *(("a", "theirs"), ("a", "agent"), ("b", "theirs"), ("b", "agent"))
    ]
    assert len({turn_of(span) for span in recorded.spans}) == 2


def test_a_span_around_that_is_in_no_turn_keeps_no_conversations_together(recorded: Recording) -> None:
    def converse(session: str) -> None:
        with recorded.agent("hi", conversation=session):
            pass

    with recorded.tracer.start_as_current_span("main"):
        for session in SESSIONS:
            in_thread(lambda session=session: converse(session))
        in_thread(lambda: recorded.chat([{"role": "user", "parts": [{"type": "text", "content": "apart"}]}], []))
    assert len({session_of(span) for span in recorded.spans if span.name != "main"}) == 3


def test_an_agent_that_names_its_conversation_is_a_turn_of_its_own_once_what_started_its_thread_is_over(
    recorded: Recording,
) -> None:
    is_over = threading.Event()

    def work() -> None:
        is_over.wait(10)
        for session in ("a", "c"):
            with recorded.agent("later", conversation=session):
                recorded.tool("work")

    with recorded.agent("first", conversation="a"):
        thread = threading.Thread(target=work)
        thread.start()
    is_over.set()
    thread.join()
    assert [session_of(span) for span in recorded.spans] == ["a", "a", "a", "c", "c"]
    assert len({turn_of(span) for span in recorded.spans}) == 3


def test_a_worker_has_nothing_of_the_job_that_it_was_started_for() -> None:
    found: list[bool] = []
    with ThreadPoolExecutor(1, initializer=lambda: found.append(is_here())) as pool:
        with turnlog.session("a"):
            assert pool.submit(carried.named_session.get).result() == "a"
            assert carried.named_session.get() == "a"
        found.append(pool.submit(is_here).result())
        with turnlog.session("b"):
            assert pool.submit(carried.named_session.get).result() == "b"
        found.append(pool.submit(is_here).result())
    assert found == [False, False, False]


def test_a_context_that_python_hands_over_stands() -> None:
    """As from Python 3.14, where threads can be made with a context."""
    found = []

    class Inheriting(threading.Thread):
        def _bootstrap_inner(self) -> None:
            with turnlog.session("inherited"):
                super()._bootstrap_inner()  # type: ignore[misc]

    with turnlog.session("a"):
        thread = Inheriting(target=lambda: found.append(carried.named_session.get()))
        thread.start()
        thread.join()
    assert found == ["inherited"]


def test_the_exception_of_a_thread_is_the_same_object(monkeypatch: pytest.MonkeyPatch) -> None:
    error, seen = ValueError("kaboom"), []

    def explode() -> None:
        seen.append(is_here())
        raise error

    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append((args.exc_value, args.thread)))
    with turnlog.session("a"):
        thread = threading.Thread(target=explode)
        thread.start()
        thread.join()
        job = ThreadPoolExecutor(1).submit(explode)
    assert job.exception() is error
    assert seen == [True, (error, thread), True]


def test_what_cannot_be_started_says_the_same_and_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("can't start new thread")

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise error

    class Unmade(threading.Thread):
        def __init__(self) -> None:
            pass

    with turnlog.session("a"):
        done = threading.Thread(target=carried_from_here)
        done.start()
        done.join()
        with pytest.raises(RuntimeError, match="threads can only be started once"):
            done.start()
        with pytest.raises(RuntimeError, match=r"__init__\(\) not called"):
            Unmade().start()
        refused = threading.Thread()
        before = dict(vars(refused))
        for name in ("_start_new_thread", "_start_joinable_thread"):
            monkeypatch.setattr(threading, name, refuse, raising=False)
        with pytest.raises(RuntimeError) as caught:
            refused.start()
        monkeypatch.undo()
        pool = ThreadPoolExecutor(1)
        with pytest.raises(TypeError):
            pool.submit()  # type: ignore[call-arg]
        pool.shutdown()
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            pool.submit(is_here)
    assert caught.value is error
    assert "run" not in vars(done)
    assert dict(vars(refused)) == before


def test_the_code_of_a_thread_sees_nothing_of_it_and_nothing_is_left_behind() -> None:
    class Held:
        pass

    def work(held: Held) -> None:
        seen.append((is_here(), "run" in vars(threading.current_thread())))

    seen: list[tuple[bool, bool]] = []
    gc.disable()
    try:
        with turnlog.session("a"), ThreadPoolExecutor(1) as pool:
            held = Held()
            thread = threading.Thread(target=work, args=(held,))
            job: Future[None] = pool.submit(work, held)
            thread.start()
            thread.join()
            job.result()
        left = [weakref.ref(each) for each in (held, thread, job)]
        del held, thread, job, pool
        assert [each() for each in left] == [None, None, None]
    finally:
        gc.enable()
    assert sorted(seen) == [(True, False), (True, False)]


def test_a_pool_of_interpreters_gets_the_job_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interpreters(ThreadPoolExecutor):
        pass

    fake: Any = SimpleNamespace(InterpreterPoolExecutor=Interpreters)
    monkeypatch.setitem(sys.modules, "concurrent.futures.interpreter", fake)
    with turnlog.session("a"), Interpreters(1) as pool, ThreadPoolExecutor(1) as other:
        assert (pool.submit(is_here).result(), other.submit(is_here).result()) == (False, True)


def test_a_failure_of_ours_costs_the_session_and_one_line(
    recorded: Recording, monkeypatch: pytest.MonkeyPatch, complaints: list[str]
) -> None:
    def fail(span: Any) -> bool:
        raise ValueError("kaboom")

    found: list[bool] = []
    monkeypatch.setattr(carried, "has_come", fail)
    with turnlog.session("a"), recorded.tracer.start_as_current_span("app"):
        for _ in range(2):
            in_thread(lambda: found.append(is_here()))
    assert found == [False, False]
    assert complaints == ["turnlog: threads: starting a thread failed, its facts are missing: ValueError('kaboom')"]


def patched() -> list[dict[str, int]]:
    return [identities(owner) for owner in (threading, threading.Thread, ThreadPoolExecutor)]


def test_uninstrument_puts_back_every_attribute() -> None:
    hooked = patched()
    uninstrument_all()
    bare = patched()
    assert hooked != bare
    assert {type(vars(threading.Thread)["start"]), type(vars(ThreadPoolExecutor)["submit"])} == {type(in_thread)}
    instrument("openai", "anthropic")
    assert patched() != bare
    uninstrument("openai")
    assert patched() != bare
    uninstrument("anthropic")
    assert patched() == bare


@pytest.mark.parametrize("first", [True, False], ids=["before us", "after us"])
def test_beside_opentelemetrys_own_threading_both_work_and_either_can_go(
    request: pytest.FixtureRequest, recorded: Recording, pool: ThreadPoolExecutor, first: bool
) -> None:
    threading_instrumentation: ModuleType = pytest.importorskip("opentelemetry.instrumentation.threading")
    theirs = threading_instrumentation.ThreadingInstrumentor()
    # It leaves a `start` on Timer, which had none of its own.
    request.addfinalizer(lambda: (theirs.uninstrument(), delattr(threading.Timer, "start")))
    found: list[tuple[str, bool]] = []

    def look() -> None:
        found.append((carried.named_session.get(), get_current_span().is_recording()))

    def go() -> list[tuple[str, bool]]:
        found.clear()
        with turnlog.session("a"), recorded.tracer.start_as_current_span("app"):
            for hand_over in (in_thread, in_timer, in_pool, in_executor):
                hand_over(look, pool)
        return found

    uninstrument_all()
    bare = patched()
    for hook in (theirs.instrument, instrument) if first else (instrument, theirs.instrument):
        hook()
    assert go() == [("a", True)] * 4
    theirs.uninstrument()
    assert go() == [("a", False)] * 4
    theirs.instrument()
    uninstrument_all()
    assert go() == [("", True)] * 4
    theirs.uninstrument()
    assert patched() == bare
    theirs.instrument()


def test_a_fork_inside_a_thread_is_in_its_session(recorded: Recording) -> None:
    context = multiprocessing.get_context("fork")
    found = context.SimpleQueue()

    def child() -> None:
        found.put((session_of(recorded.tool("forked")), carried.named_session.get()))

    def fork() -> None:
        process = context.Process(target=child)
        process.start()
        process.join()

    for session in SESSIONS:
        with turnlog.session(session):
            in_thread(fork)
    assert [found.get(), found.get()] == [("a", "a"), ("b", "b")]


def test_turnlogs_own_threads_have_nothing(recorded: Recording) -> None:
    looked, found = threading.Event(), []

    def look(*args: Any) -> str:
        found.append(is_here())
        looked.set()
        return "hello"

    settings: Any = SimpleNamespace(load_interval=0.001, journals=Path("nowhere"))
    with turnlog.session("a"):
        in_thread(look)
        loader = BackgroundLoader(settings, SimpleNamespace(show_life=look))  # type: ignore[arg-type]
        looked.clear()
        loader.start()
        looked.wait(10)
        loader.finish()
        with ScriptedModel(look) as model:
            ask(model.url)
    assert (found[0], set(found[1:])) == (True, {False})


def ask(url: str) -> None:
    body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}).encode()
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request).close()


def test_every_thread_of_turnlogs_own_is_known_by_its_name() -> None:
    unnamed = [
        f"{path.name}:{node.lineno}"
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "threading.Thread"
        and not any(given.arg == "name" and "turnlog-" in ast.unparse(given.value) for given in node.keywords)
    ]
    assert unnamed == []


@pytest.mark.parametrize(("disabled", "patched"), [("", "True True"), ("1", "False False")])
def test_the_kill_switch_leaves_threads_alone(tmp_path: Path, disabled: str, patched: str) -> None:
    code = """
import threading, turnlog
from concurrent.futures import ThreadPoolExecutor
bare = vars(threading.Thread)["start"], vars(ThreadPoolExecutor)["submit"]
turnlog.init()
print(vars(threading.Thread)["start"] is not bare[0], vars(ThreadPoolExecutor)["submit"] is not bare[1])
turnlog.shutdown()
assert bare == (vars(threading.Thread)["start"], vars(ThreadPoolExecutor)["submit"])
"""
    assert run_code(code, tmp_path, TURNLOG_DISABLED=disabled).stdout == f"{patched}\n"
