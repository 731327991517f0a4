"""Beside other instrumentations of the same library: one span per call, theirs, with the state that we record alone."""

from __future__ import annotations

import functools
import json
import sys
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from programs import run, run_code

PROGRAM = Path(__file__).parent / "beside.py"
FAMILIES = {
    "openinference": "openinference.instrumentation",
    "traceloop": "opentelemetry.instrumentation",
    "otel": "opentelemetry.instrumentation.genai",
}
LIBRARIES = ("openai", "anthropic", "native", "langchain")
ORDERS = ("turnlog first", "peer first")
NATIVE = "com.anthropic.sdk.python"


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


pytestmark = pytest.mark.skipif(
    not all(
        _is_here(f"{family}.{library}") for family in FAMILIES.values() for library in ("openai", "anthropic", "langchain")
    ),
    reason="needs the instrumentations of others: `python tests/frameworks/environments.py beside-test`",
)

Seen = dict[str, Any]


def scope_of(family: str, library: str) -> str:
    if library == "native":
        return NATIVE
    # Traceloop's OpenAI package has one for each major version of the SDK that it knew.
    return f"{FAMILIES[family]}.{library}" + (".v1" if (family, library) == ("traceloop", "openai") else "")


def told(form: str, found: Seen) -> list[Seen]:
    """The commits. Whether a graph whose stream is left was cancelled or just dropped depends on who wraps the stream: seen
    beside Traceloop as dropped."""
    of_input = ("turn", "turnlog.commit.kind", "turnlog.commit.input.hash", "turnlog.context.hash")
    return [{key: each.get(key) for key in of_input} if form == "async left early" else each for each in found["state"]]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Seen]:
    """What the program recorded in a process of its own, by form of the call."""

    @functools.cache
    def seen(library: str, order: str, *families: str) -> Seen:
        directory = tmp_path_factory.mktemp("beside")
        done = run(sys.executable, "-W", "ignore", PROGRAM, library, order, *families, directory=directory)
        found: Seen = json.loads(done.stdout)
        assert (found.pop("elsewhere"), found.pop("troubles")) == ([], {})
        return found

    return seen


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_call_is_one_span_of_the_peers_with_the_state_that_we_record_alone(
    library: str, family: str, order: str, seen: Callable[..., Seen]
) -> None:
    alone, beside = seen(library, ORDERS[0]), seen(library, order, family)
    assert {form: told(form, found) for form, found in beside.items()} == {
        form: told(form, found) for form, found in alone.items()
    }
    for form, found in beside.items():
        # What the messages tell besides, of tools and evictions, has spans of ours: there are no others for it.
        ours = {scope for scope, each in zip(found["scopes"], found["state"], strict=True) if "gen_ai.request.model" in each}
        assert (form, ours) == (form, {scope_of(family, library)})
        assert (form, found["in turn"]) == (form, True)
        assert [scope for scope in found["others"] if scope.startswith("turnlog")] == []


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_beside_several_at_once_a_call_is_one_commit_and_their_spans_stay(
    library: str, order: str, seen: Callable[..., Seen]
) -> None:
    alone, beside = seen(library, ORDERS[0]), seen(library, order, *FAMILIES)
    assert {form: told(form, found) for form, found in beside.items()} == {
        form: told(form, found) for form, found in alone.items()
    }
    for family in FAMILIES:
        apart = seen(library, order, family)
        for form, found in beside.items():
            scope = f"{FAMILIES[family]}.{library}".replace("native", "anthropic")
            count, counted = (_spans_of(scope, each) for each in (apart[form], found))
            # Of a call that is left, some forget to end the span; we do so for those that we have adopted.
            if form not in ("left early", "closed", "async left early"):
                assert (form, family, counted) == (form, family, count)


def _spans_of(scope: str, found: Seen) -> int:
    counts = Counter([*found["scopes"], *found["others"]])
    return counts[scope] + counts[f"{scope}.v1"]


UNDONE = """
import importlib, sys
import wrapt
import openai, anthropic, langchain_openai, langchain.agents, langgraph.pregel.main, langgraph.callbacks
from turnlog.instrument import instrument, uninstrument
from turnlog.instrument.core import _Patch

def attributes():
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("openai", "anthropic", "langchain_core", "langgraph", "langchain"):
            for key, value in list(vars(module).items()):
                yield f"{name}.{key}", value
                if type(value) is type and value.__module__ == name:
                    yield from ((f"{name}.{key}.{inner}", each) for inner, each in list(vars(value).items()))

def holds_ours(value):
    while issubclass(type(value), wrapt.FunctionWrapper):
        if type(value) is _Patch:
            return True
        value = value.__wrapped__
    return False

family, order = sys.argv[1:]
libraries, ours = ("openai", "anthropic", "langchain"), ("openai", "anthropic", "langchain", "langgraph")

def activate():
    for library in libraries:
        module = importlib.import_module(f"{family}.{library}")
        (name,) = [name for name in vars(module) if name.lower() == f"{library}instrumentor"]
        getattr(module, name)().instrument(skip_dep_check=True)

if order == "peer first":
    activate()
before = {key: id(value) for key, value in attributes()}
instrument(*ours)
if order == "turnlog first":
    activate()
hooked = [key for key, value in attributes() if holds_ours(value)]
uninstrument(*ours)
after = dict(attributes())
print(len(hooked) > 8, [key for key, value in after.items() if holds_ours(value)])
print([key for key, value in after.items() if before.get(key, id(value)) != id(value)] if order == "peer first" else [])
"""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_undo_leaves_every_module_and_class_as_it_was_although_a_peer_is_active(
    family: str, order: str, tmp_path: Path
) -> None:
    done = run(sys.executable, "-W", "ignore", "-c", UNDONE, FAMILIES[family], order, directory=tmp_path)
    assert done.stdout == "True []\n[]\n"


def test_a_peer_that_is_taken_out_leaves_our_hook_in_place(tmp_path: Path) -> None:
    code = """
import warnings; warnings.simplefilter("ignore")
import openai
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInference
from turnlog.demo.scripted_model import ScriptedModel
from turnlog.instrument import instrument
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
for peer in (OpenAIInstrumentor(), OpenInference()):
    instrument("openai", tracer_provider=provider)
    peer.instrument(tracer_provider=provider)
    peer.uninstrument()
    with ScriptedModel(["a"]) as model, openai.OpenAI(base_url=model.base_url, api_key="none") as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}])
print([span.instrumentation_scope.name.startswith("turnlog") for span in exporter.get_finished_spans()])
"""
    assert run_code(code, tmp_path).stdout == "[True, True]\n"


def test_what_a_peer_writes_of_prompts_on_its_spans_stays_out_of_the_journal(tmp_path: Path) -> None:
    code = """
import warnings; warnings.simplefilter("ignore")
import openai, turnlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from openinference.instrumentation.openai import OpenAIInstrumentor
from turnlog.demo.scripted_model import ScriptedModel
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
turnlog.init()
OpenAIInstrumentor().instrument()
with ScriptedModel(["a"]) as model, openai.OpenAI(base_url=model.base_url, api_key="none") as client:
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "long " * 100 + "the secret end"}])
turnlog.shutdown()
(span,) = exporter.get_finished_spans()
print("the secret end" in span.attributes["llm.input_messages.0.message.content"], "turnlog.commit.kind" in span.attributes)
"""
    assert run_code(code, tmp_path).stdout == "True True\n"
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"llm.model_name" in written
    assert b"the secret end" not in written
