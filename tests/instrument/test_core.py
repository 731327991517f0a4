"""The core applies a framework's hooks, drives every call shape, and takes itself out again."""

from __future__ import annotations

import asyncio
import copy
import gc
import importlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import wrapt
from opentelemetry import context, trace
from opentelemetry.instrumentation.utils import suppress_instrumentation, unwrap
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from instrument.recorder import Recorder, identities
from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.identity import Sessions
from turnlog.instrument import core
from turnlog.instrument.adopted import Adopted, adopted
from turnlog.instrument.calls import Account, Call, Facts, Hook, Start, finish_operation
from turnlog.instrument.core import Extension, Framework, Instrumentation
from turnlog.instrument.late import end_late
from turnlog.operation import awaited, claim_started
from turnlog.processor import SessionProcessor
from turnlog.semconv import GenAiOperation
from turnlog.settings import Settings

SOURCE = """
import asyncio

class Boom(Exception):
    pass

class Base:
    def inherited(self):
        return "inherited"

class Agent(Base):
    def run(self, text, fail=None):
        if fail is not None:
            raise fail
        return text.upper()

    async def arun(self, text, wait=0.0):
        await asyncio.sleep(wait)
        return text.upper()

    def stream(self, count, fail=None):
        got = []
        try:
            for number in range(count):
                try:
                    got.append((yield number))
                except Boom:
                    got.append("boom")
            if fail is not None:
                raise fail
            return got
        finally:
            self.closed = True

    async def astream(self, count, fail=None, wait=0.0):
        try:
            for number in range(count):
                await asyncio.sleep(wait)
                try:
                    yield number
                except Boom:
                    yield "boom"
            if fail is not None:
                raise fail
        finally:
            self.closed = True

    @classmethod
    def make(cls):
        return cls()

    @staticmethod
    def version():
        return "1"

    def outer(self, text):
        return self.run(text)
"""
AGENT_METHODS = ("run", "arun", "stream", "astream", "make", "version", "inherited")


class Sum:
    def __init__(self) -> None:
        self.items: list[Any] = []

    def add(self, item: Any) -> None:
        self.items.append(item)

    def facts(self) -> Facts:
        return Facts({}, {"items": list(self.items)})


def hook(method: str, **extra: Any) -> Hook:
    readers: dict[str, Any] = {
        "at_start": lambda call: Start(f"call {method}", {"given": str(call.argument(0, "text"))}),
        "at_end": lambda call, result: Facts({}, {"result": result}),
        "collect": lambda call: Sum(),
    }
    return Hook(f"toy_framework:Agent.{method}", GenAiOperation.INVOKE_AGENT, **(readers | extra))


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], ModuleType]]:
    """Imports the toy framework, which no other test has imported."""
    (tmp_path / "toy_framework.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda: importlib.import_module("toy_framework")
    sys.modules.pop("toy_framework", None)


Apply = Callable[..., Instrumentation]


@pytest.fixture
def apply(provider: TracerProvider) -> Iterator[Apply]:
    applied: list[Instrumentation] = []

    def apply(*hooks: Hook, requires: str = "toy-framework >= 1", **parts: Any) -> Instrumentation:
        applied.append(Instrumentation(Framework("toy", "Toy", requires, "nothing", hooks, **parts)))
        applied[-1].apply(provider)
        return applied[-1]

    yield apply
    for instrumentation in applied:
        instrumentation.undo()


@pytest.fixture
def agent(toy: Callable[[], ModuleType], apply: Apply) -> Any:
    apply(*(hook(method) for method in AGENT_METHODS))
    return toy().Agent()


def test_undo_leaves_every_class_exactly_as_it_was(toy: Callable[[], ModuleType], apply: Apply) -> None:
    module = toy()
    before = [identities(module.Agent), identities(module.Base)]
    instrumentation = apply(*(hook(method) for method in AGENT_METHODS))
    assert [name for name, value in identities(module.Agent).items() if value != before[0].get(name)] == list(AGENT_METHODS)
    instrumentation.undo()
    assert [identities(module.Agent), identities(module.Base)] == before


def test_class_and_static_methods_keep_their_kind(agent: Any, recorder: Recorder) -> None:
    assert (type(agent).make().version(), agent.inherited()) == ("1", "inherited")
    assert recorder.names == ["call make", "call version", "call inherited"]


def test_a_framework_imported_later_is_hooked_when_it_is_imported(
    toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder
) -> None:
    instrumentation = apply(hook("run"))
    assert "toy_framework" not in sys.modules
    assert instrumentation.status()[3:] == (False, "not installed", 0, ("turnlog.toy",))
    assert toy().Agent().run("hi") == "HI"
    assert recorder.names == ["call run"]
    assert instrumentation.status()[3:] == (True, "", 1, ("turnlog.toy",))


def test_a_hooked_method_is_copied_and_pickled_as_the_method_that_it_is(toy: Callable[[], ModuleType], apply: Apply) -> None:
    module = toy()
    apply(hook("run"))
    agent = module.Agent()
    for made in (copy.copy(agent.run), copy.deepcopy(agent.run), pickle.loads(pickle.dumps(agent.run))):
        assert made("hi") == "HI"
    assert copy.copy(agent.run).__self__ is agent
    assert copy.deepcopy(agent.run).__self__ is not agent


@pytest.mark.usefixtures("processor")
def test_what_runs_inside_a_call_is_inside_although_somebody_has_replaced_the_context(
    toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder
) -> None:
    module = toy()
    apply(hook("run"))

    class Text(str):
        def upper(self) -> str:
            token = context.attach(context.Context())
            try:
                return module.Agent().run("inner")
            finally:
                context.detach(token)

    assert module.Agent().run(Text("outer")) == "INNER"
    assert recorder.tree == [(None, "call run"), ("call run", "call run")]
    assert len({span[semconv.TURN_ID] for span in recorder.spans}) == 1


def test_after_undo_a_later_import_is_left_alone(toy: Callable[[], ModuleType], apply: Apply) -> None:
    instrumentation = apply(hook("run"))
    instrumentation.undo()
    module = toy()
    assert type(vars(module.Agent)["run"]).__name__ == "function"
    instrumentation.apply()
    assert type(vars(module.Agent)["run"]).__name__ != "function"


def test_undo_under_somebody_elses_wrapper_steps_aside(toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder) -> None:
    module = toy()
    instrumentation = apply(hook("run"))
    ours = module.Agent.run
    module.Agent.run = theirs = lambda self, text: ours(self, text) + "!"
    instrumentation.undo()
    assert (module.Agent.run, module.Agent().run("hi")) == (theirs, "HI!")
    assert recorder.names == []


def test_importing_the_instrumentation_imports_no_framework() -> None:
    code = "import sys, turnlog.instrument as i; i.instrument_all(); print([m for m in sys.argv[1:] if m in sys.modules])"
    names = ["openai", "anthropic", "langchain_core", "langgraph", "duckdb", "opentelemetry.instrumentation.instrumentor"]
    ran = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_zero_code_instrumentors_hook_what_is_imported_and_unhook_it(tmp_path: Path) -> None:
    code = """
import anthropic, openai, langgraph.pregel.main, langchain_core.tools.base
from turnlog.instrument import AnthropicInstrumentor, LangChainInstrumentor, LangGraphInstrumentor, OpenAIInstrumentor, status
for instrumentor in (OpenAIInstrumentor(), AnthropicInstrumentor(), LangChainInstrumentor(), LangGraphInstrumentor()):
    instrumentor.instrument(skip_dep_check=True)
    print([each.framework for each in status() if each.hooked])
    instrumentor.uninstrument()
print([each.framework for each in status() if each.hooked])
"""
    env = {**os.environ, "TURNLOG_DIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert ran.stdout.splitlines() == ["['openai']", "['anthropic']", "['langchain']", "['langgraph']", "[]"]
    assert ran.stderr == ""


def test_zero_code_instrumentors_of_a_disabled_turnlog_patch_nothing(tmp_path: Path) -> None:
    code = """
import threading, openai
from turnlog.instrument import OpenAIInstrumentor, status
before = threading.Thread.start, openai.OpenAI.request
OpenAIInstrumentor().instrument(skip_dep_check=True)
print((threading.Thread.start, openai.OpenAI.request) == before, [each.framework for each in status() if each.hooked])
"""
    env = {**os.environ, "TURNLOG_DIR": str(tmp_path), "TURNLOG_DISABLED": "1"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert (ran.stdout, ran.stderr) == ("True []\n", "")


def test_a_version_out_of_range_is_skipped_with_one_line(
    toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder, complaints: list[str]
) -> None:
    module = toy()
    instrumentation = apply(hook("run"), hook("arun"), requires="pytest >= 1, < 2")
    assert module.Agent().run("hi") == "HI"
    assert recorder.started == 0
    why = f"version {pytest.__version__} is outside the tested range"
    assert complaints == [f"turnlog: toy is not recorded: {why} (pytest >= 1, < 2)"]
    assert instrumentation.status()[2:] == (pytest.__version__, False, why, 0, ("turnlog.toy",))


def test_a_missing_target_costs_one_hook_and_a_line_with_its_name(
    toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder, complaints: list[str]
) -> None:
    module = toy()
    instrumentation = apply(hook("renamed"), hook("run"))
    assert module.Agent().run("hi") == "HI"
    assert recorder.names == ["call run"]
    assert [line.partition(", it")[0] for line in complaints] == ["turnlog: toy: cannot hook toy_framework:Agent.renamed"]
    assert instrumentation.status()[3:5] == (True, "not found: toy_framework:Agent.renamed")


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("target", "requires", "why"),
    [
        ("renamed", "toy-framework >= 1", "cannot hook toy_framework:Agent.renamed"),
        ("run", "pytest >= 1, < 2", f"version {pytest.__version__} is outside the tested range (pytest >= 1, < 2)"),
    ],
)
@pytest.mark.usefixtures("complaints")
def test_whoever_cannot_do_without_a_hook_is_told(
    toy: Callable[[], ModuleType],
    apply: Apply,
    monkeypatch: pytest.MonkeyPatch,
    late: bool,
    target: str,
    requires: str,
    why: str,
) -> None:
    told: list[tuple[str, str, bool]] = []
    monkeypatch.setattr(core, "unhooked", lambda framework, why, late: told.append((framework.name, why, late)))
    if not late:
        toy()
    apply(hook(target), requires=requires)
    toy()
    assert told == [("toy", why, late)]


@pytest.mark.parametrize(("target", "hooked"), [("outer|run", []), ("newer|run", ["call newer|run"])])
def test_of_several_names_the_first_that_the_framework_has_is_hooked(
    toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder, complaints: list[str], target: str, hooked: list[str]
) -> None:
    agent = toy().Agent()
    apply(hook(target))
    assert agent.run("hi") == "HI"
    assert (recorder.names, complaints) == (hooked, [])


def test_a_second_time_under_somebody_elses_wrapper_records_each_call_once(
    toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder
) -> None:
    module = toy()
    instrumentation = apply(hook("run"))
    ours = module.Agent.run
    module.Agent.run = lambda self, text: ours(self, text) + "!"
    instrumentation.undo()
    apply(hook("run"))
    assert module.Agent().run("hi") == "HI!"
    assert recorder.names == ["call run"]


def test_an_extension_is_installed_with_its_module_and_taken_out(toy: Callable[[], ModuleType], apply: Apply) -> None:
    def install(module: ModuleType, account: Any) -> Callable[[], None]:
        module.extended = account.framework
        return lambda: delattr(module, "extended")

    instrumentation = apply(extensions=(Extension("toy_framework", install),))
    module = toy()
    assert module.extended == "toy"
    instrumentation.undo()
    assert not hasattr(module, "extended")


@pytest.mark.parametrize("broken", ["at_start", "at_end", "collect"])
def test_a_failing_extractor_costs_its_facts_and_one_line_not_the_call(
    broken: str, toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder, complaints: list[str]
) -> None:
    def fail(*args: Any) -> Any:
        raise LookupError("changed upstream")

    apply(hook("run", **{broken: fail}), hook("stream", **{broken: fail}))
    agent = toy().Agent()
    assert [agent.run("a"), agent.run("b"), list(agent.stream(2))] == ["A", "B", [0, 1]]
    assert len(recorder.spans) == 3
    assert not any(span.failed for span in recorder.spans)
    target = {"collect": "toy_framework:Agent.stream"}.get(broken, "toy_framework:Agent.run")
    assert complaints[0] == f"turnlog: toy: {target} failed, its facts are missing: LookupError('changed upstream')"
    assert len(complaints) == len(set(complaints))


def test_a_call_gives_its_facts_and_its_result(agent: Any, recorder: Recorder) -> None:
    assert agent.run("hi") == "HI"
    (span,) = recorder.spans
    assert span.attributes == {semconv.GEN_AI_OPERATION_NAME: "invoke_agent", "given": "hi"}
    assert span.content == {"result": "HI"}


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), SystemExit(3)])
def test_an_error_is_passed_on_untouched(agent: Any, recorder: Recorder, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        agent.run("hi", fail=error)
    assert caught.value is error
    assert (error.__cause__, error.__context__, error.__suppress_context__) == (None, None, False)
    (span,) = recorder.spans
    assert (span.failed, span[semconv.ERROR_TYPE]) == (True, type(error).__name__)


async def test_a_coroutine_is_recorded_until_it_is_done(agent: Any, recorder: Recorder) -> None:
    assert await agent.arun("hi") == "HI"
    assert recorder.one("call arun").content == {"result": "HI"}


async def test_a_cancelled_coroutine_ends_as_cancelled(agent: Any, recorder: Recorder) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await agent.arun("hi", wait=5)
    assert recorder.one("call arun")[semconv.ERROR_TYPE] == "CancelledError"
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_generator_keeps_its_whole_protocol(agent: Any, recorder: Recorder) -> None:
    module = sys.modules["toy_framework"]
    generator = agent.stream(3)
    assert (next(generator), generator.send("sent"), generator.throw(module.Boom())) == (0, 1, 2)
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == ["sent", "boom", None]
    assert recorder.one("call stream").content == {"items": [0, 1, 2]}


def test_leaving_a_generator_early_ends_the_span_and_keeps_what_was_read(agent: Any, recorder: Recorder) -> None:
    for item in agent.stream(5):
        if item == 1:
            break
    (span,) = recorder.spans
    assert (span.content, span.failed, agent.closed) == ({"items": [0, 1]}, False, True)


def test_closing_a_generator_ends_the_span(agent: Any, recorder: Recorder) -> None:
    generator = agent.stream(5)
    next(generator)
    generator.close()
    assert recorder.one("call stream").content == {"items": [0]}


def test_an_error_in_a_generator_ends_the_span_with_what_was_read(agent: Any, recorder: Recorder) -> None:
    error = ValueError("bad")
    with pytest.raises(ValueError, match="bad") as caught:
        list(agent.stream(2, fail=error))
    assert caught.value is error
    (span,) = recorder.spans
    assert (span["items"], span[semconv.ERROR_TYPE]) == ([0, 1], "ValueError")


def test_a_generator_that_is_never_started_is_no_operation(agent: Any, recorder: Recorder) -> None:
    agent.stream(5)
    gc.collect()
    assert recorder.started == 0


@pytest.fixture
def no_collections() -> Iterator[None]:
    """None but those that the test asks for."""
    gc.disable()
    yield
    gc.enable()


def test_a_collection_inside_a_span_processor_does_not_end_spans_there(
    agent: Any, provider: TracerProvider, recorder: Recorder, no_collections: None
) -> None:
    class Locked(SpanProcessor):
        """As any that keeps a plain lock while it works."""

        lock = threading.Lock()

        def on_end(self, span: ReadableSpan) -> None:
            assert self.lock.acquire(timeout=10)
            gc.collect()
            self.lock.release()

    provider.add_span_processor(Locked())
    cycle: list[Any] = [agent.stream(5)]
    cycle.append(cycle)
    next(cycle[0])
    del cycle
    agent.run("one")
    assert recorder.names == ["call run"]
    agent.run("two")
    assert sorted(recorder.names) == ["call run", "call run", "call stream"]


def test_the_span_is_current_in_the_framework_and_never_in_the_consumer(
    toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder
) -> None:
    module = toy()
    inside: list[str] = []

    def note(self: Any) -> Iterator[int]:
        for number in range(2):
            inside.append(trace.get_current_span().name)
            yield number

    module.Agent.stream = note
    apply(hook("stream"))
    outside = [trace.get_current_span() for _ in module.Agent().stream()]
    assert inside == ["call stream"] * 2
    assert outside == [trace.INVALID_SPAN] * 2


async def test_an_async_generator_keeps_its_whole_protocol(agent: Any, recorder: Recorder) -> None:
    module = sys.modules["toy_framework"]
    generator = agent.astream(2)
    assert [await anext(generator), await generator.athrow(module.Boom()), await generator.asend(None)] == [
        0,
        "boom",
        1,
    ]
    assert await anext(generator, "over") == "over"
    assert recorder.one("call astream").content == {"items": [0, "boom", 1]}


async def test_leaving_an_async_generator_early_ends_the_span(agent: Any, recorder: Recorder, complaints: list[str]) -> None:
    async for item in agent.astream(5):
        if item == 1:
            break
    await asyncio.sleep(0.01)
    (span,) = recorder.spans
    assert (span.content, span.failed, agent.closed) == ({"items": [0, 1]}, False, True)
    assert complaints == []


async def test_cancelling_the_consumer_of_an_async_generator_ends_the_span(
    agent: Any, recorder: Recorder, complaints: list[str]
) -> None:
    async def consume() -> list[int]:
        return [item async for item in agent.astream(5, wait=0.02)]

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (span,) = recorder.spans
    assert (span[semconv.ERROR_TYPE], span["items"][0]) == ("CancelledError", 0)
    assert complaints == []


async def test_steps_of_one_async_generator_may_run_in_different_tasks(
    agent: Any, recorder: Recorder, complaints: list[str]
) -> None:
    generator = agent.astream(2)
    items = [await asyncio.create_task(anext(generator)) for _ in range(2)]
    await asyncio.create_task(generator.aclose())
    assert (items, recorder.one("call astream").content) == ([0, 1], {"items": [0, 1]})
    assert complaints == []


def test_suppressed_instrumentation_records_nothing(agent: Any, recorder: Recorder) -> None:
    with suppress_instrumentation():
        assert (agent.run("hi"), list(agent.stream(2))) == ("HI", [0, 1])
    assert recorder.started == 0


def test_the_outermost_model_call_owns_the_span(toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder) -> None:
    def start(call: Call) -> Start:
        name = "outer" if call.kwargs else "inner"
        return Start(name, {semconv.SERVER_ADDRESS: name, semconv.GEN_AI_REQUEST_MODEL: name})

    apply(*(Hook(f"toy_framework:Agent.{method}", GenAiOperation.CHAT, at_start=start) for method in ("outer", "run")))
    agent = toy().Agent()
    agent.outer(text="hi")
    (span,) = recorder.spans
    assert (span.name, span[semconv.GEN_AI_REQUEST_MODEL], span[semconv.SERVER_ADDRESS]) == ("outer", "outer", "inner")
    agent.run("hi")
    assert recorder.names == ["outer", "inner"]


def peers_wrapper(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs) + "!"


@pytest.mark.parametrize("wrapped", ["Agent", "Base"])
def test_a_hook_is_inside_the_wrappers_of_others_and_either_can_be_taken_out(
    wrapped: str, toy: Callable[[], ModuleType], apply: Apply, recorder: Recorder
) -> None:
    """As `openai.OpenAI.request`, which one instrumentation wraps on the subclass and we on its base."""
    module = toy()
    wrapt.wrap_function_wrapper(module, f"{wrapped}.inherited", peers_wrapper)
    before = [identities(module.Agent), identities(module.Base)]
    theirs = vars(getattr(module, wrapped))["inherited"]
    plain = theirs.__wrapped__
    instrumentation = apply(
        Hook("toy_framework:Base.inherited", GenAiOperation.INVOKE_AGENT, at_start=lambda call: Start("call"))
    )
    assert (module.Agent().inherited(), recorder.names) == ("inherited!", ["call"])
    unwrap(getattr(module, wrapped), "inherited")
    assert (module.Agent().inherited(), recorder.names) == ("inherited", ["call", "call"])
    getattr(module, wrapped).inherited = theirs
    instrumentation.undo()
    assert (module.Agent().inherited(), recorder.names) == ("inherited!", ["call", "call"])
    assert [identities(module.Agent), identities(module.Base)] == before
    assert theirs.__wrapped__ is plain


@pytest.fixture
def processor(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SessionProcessor:
    for scope in ("one", "other", "peer", "strange"):
        monkeypatch.setitem(awaited, scope, 1)
    made = SessionProcessor(ContentPolicy(Settings(directory=tmp_path)), Sessions())
    provider.add_span_processor(made)
    claim_started()
    return made


@pytest.mark.usefixtures("processor")
def test_a_peers_span_ends_when_both_it_and_our_hook_are_done(provider: TracerProvider, recorder: Recorder) -> None:
    span = provider.get_tracer("peer").start_span("theirs")
    taken = Adopted.take(span, {semconv.GEN_AI_REQUEST_MODEL: "m"}, {}, waits=True)
    assert taken is not None
    span.end()
    assert recorder.names == []
    taken.set({semconv.GEN_AI_RESPONSE_ID: "r"})
    taken.end()
    span.end()
    (seen,) = recorder.spans
    assert (seen[semconv.GEN_AI_REQUEST_MODEL], seen[semconv.GEN_AI_RESPONSE_ID]) == ("m", "r")


@pytest.mark.usefixtures("processor")
def test_a_failure_counts_when_our_hook_has_seen_it_although_the_agent_ends_before_the_peers_span(
    provider: TracerProvider, recorder: Recorder
) -> None:
    account = Account("test")
    account.use(provider)
    agent = account.start(Start("agent", {semconv.GEN_AI_OPERATION_NAME: "invoke_agent"}))
    with agent.current():
        span = provider.get_tracer("peer").start_span("theirs")
    tool = Adopted.take(span, {semconv.GEN_AI_OPERATION_NAME: "execute_tool"}, {}, waits=True)
    assert tool is not None
    for operation in (tool, agent):
        finish_operation(operation, asyncio.CancelledError())
    span.end()
    assert [(seen.name, seen.attributes.get(semconv.COMMIT_OUTCOME)) for seen in recorder.spans] == [
        ("agent", None),
        ("theirs", "cancelled"),
    ]


@pytest.mark.usefixtures("processor")
def test_a_span_that_its_instrumentation_forgets_ends_with_the_call(provider: TracerProvider, recorder: Recorder) -> None:
    taken = Adopted.take(provider.get_tracer("peer").start_span("theirs"), {}, {}, waits=True)
    assert taken is not None
    taken.end()
    assert recorder.names == []
    claim_started()
    del taken
    gc.collect()
    end_late()
    assert recorder.names == ["theirs"]


@pytest.mark.usefixtures("processor")
def test_a_span_that_its_instrumentation_keeps_and_does_not_end_is_ended_a_while_after_the_call(
    provider: TracerProvider, recorder: Recorder
) -> None:
    span = provider.get_tracer("peer").start_span("theirs")
    taken = Adopted.take(span, {}, {}, waits=True)
    assert taken is not None
    end_late(patience=0.0)
    assert recorder.names == []
    taken.end()
    end_late(patience=60.0)
    assert recorder.names == []
    end_late(patience=0.0)
    span.end()
    assert recorder.names == ["theirs"]


@pytest.mark.usefixtures("processor")
def test_of_the_spans_that_callbacks_have_just_started_the_latest_is_adopted_and_those_of_others_go_with_it(
    provider: TracerProvider, recorder: Recorder
) -> None:
    account = Account("test", ("one", "other"))
    first, second, strange = (provider.get_tracer(name).start_span(name) for name in ("one", "other", "strange"))
    operation = account.start(Start("ours", {semconv.GEN_AI_OPERATION_NAME: "chat"}))
    assert operation.span is second
    assert (adopted(first), adopted(second), adopted(strange)) == (operation, operation, None)
    for span in (first, second, strange):
        span.end()
    assert recorder.names == ["one", "other", "strange"]
