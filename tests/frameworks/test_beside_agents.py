"""Agents beside other instrumentations of their framework: the log is what it is without them, and each call has one span."""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from frameworks.scenario import SESSION, expected
from programs import commits, run
from turnlog import queries
from turnlog.settings import Settings

HERE = Path(__file__).parent
ORDERS = ("turnlog first", "peer first")
OPENINFERENCE_ADK = "openinference.instrumentation.google_adk"
OPENINFERENCE, OPENLLMETRY, OTEL = (
    f"{family}.openai_agents"
    for family in ("openinference.instrumentation", "opentelemetry.instrumentation", "opentelemetry.instrumentation.genai")
)
BEGIN = """
import asyncio, importlib, json, sys, warnings
warnings.simplefilter("ignore")
import turnlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from turnlog.foreign import operation_of

folder, name, order, *peers = sys.argv[1:]
sys.path.insert(0, folder)
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

def activate():
    for peer in peers:
        module = importlib.import_module(peer)
        library = peer.rpartition(".")[2].replace("_", "")
        (kind,) = [each for each in vars(module) if each.lower() == f"{library}instrumentor"]
        getattr(module, kind)().instrument(tracer_provider=provider, skip_dep_check=True)

if order == "peer first":
    activate()
turnlog.init()
if order == "turnlog first":
    activate()
if name == "openai_agents":
    import agents
    # The scenario has no use for the SDK's tracing; others make their spans of it.
    agents.set_tracing_disabled = lambda disabled: None
"""
END = """
turnlog.shutdown()
# ADK has a span that only sums up tools that ran at once. OpenInference fills that of an agent until it says nothing else.
no_calls = ("execute_tool (merged)", "invoke_agent ")
print(json.dumps([
    (
        span.instrumentation_scope.name,
        "" if span.name.startswith(no_calls) else operation_of(span.attributes),
        span.attributes.get("turnlog.commit.kind", ""),
    )
    for span in exporter.get_finished_spans()
]))
"""
SCENARIO = 'importlib.import_module("scenario").main(name)'
OWN_MODEL = """
from agents.items import ModelResponse
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

class Own(Model):
    async def get_response(self, *args, **kwargs):
        text = ResponseOutputText(type="output_text", text="a", annotations=[])
        said = ResponseOutputMessage(id="1", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse([said], agents.Usage(), "r1")
    def stream_response(self, *args, **kwargs): ...

asyncio.run(agents.Runner.run(agents.Agent("a", model=Own()), "q"))
"""


def play(program: str, directory: Path, name: str, order: str, *peers: str, **more: str) -> list[tuple[str, str, str]]:
    """Scope, operation and kind of commit of every span."""
    for peer in peers:
        if find_spec(peer.partition(".")[0]) is None or not _is_here(peer):
            pytest.skip(
                f"{peer} is not installed: `python tests/frameworks/environments.py {name.replace('_', '-')}` runs this"
            )
    command = (sys.executable, "-c", BEGIN + program + END, HERE, name, order, *peers)
    done = run(*command, directory=directory, OPENAI_API_KEY="", **more)
    return [tuple(span) for span in json.loads(done.stdout.splitlines()[-1])]


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def calls(spans: list[tuple[str, str, str]]) -> Counter[tuple[str, str]]:
    """How many spans there are of model calls and tools, by scope."""
    kinds = {"chat": "model", "generate_content": "model", "execute_tool": "tool"}
    return Counter((kinds[operation], scope) for scope, operation, _ in spans if operation in kinds)


def check(directory: Path, spans: list[tuple[str, str, str]], models: str, tools: str) -> None:
    wanted = expected(raises=False, cancels=False)
    assert commits(directory, SESSION) == wanted
    with queries.reading(Settings(directory=directory)) as db:
        assert [session.session_id for session in queries.sessions(db)] == [SESSION]
        assert db.execute("select name from span_rows where outcome = 'in_flight'").fetchall() == []
    made = Counter(kind for _, kind, _, _ in wanted)
    assert calls(spans) == {("model", models): made["decision"], ("tool", tools): made["tool"]}
    assert Counter(scope for scope, _, kind in spans if kind) == Counter({models: made["decision"]}) + Counter(
        {tools: made["tool"]}
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("peer", "models"),
    [(OPENINFERENCE, OPENINFERENCE), (OPENLLMETRY, OPENLLMETRY), (OTEL, "turnlog.openai_agents")],
    ids=["openinference", "openllmetry", "otel has none for model calls"],
)
def test_openai_agents_have_one_span_per_call_the_peers(peer: str, models: str, order: str, tmp_path: Path) -> None:
    check(tmp_path, play(SCENARIO, tmp_path, "openai_agents", order, peer), models, tools=peer)


def test_openai_agents_beside_several_at_once_have_one_commit_per_call(tmp_path: Path) -> None:
    spans = play(SCENARIO, tmp_path, "openai_agents", ORDERS[0], OPENINFERENCE, OTEL, OPENLLMETRY)
    assert commits(tmp_path, SESSION) == expected(raises=False, cancels=False)
    assert {scope for _, scope in calls(spans)} == {OPENINFERENCE, OTEL, OPENLLMETRY}


def test_a_model_of_the_applications_own_of_which_a_peer_hears_nothing_has_a_span_of_ours(tmp_path: Path) -> None:
    spans: Any = play(OWN_MODEL, tmp_path, "openai_agents", ORDERS[0], OPENINFERENCE)
    assert [span for span in spans if span[2]] == [("turnlog.openai_agents", "chat", "decision")]


@pytest.mark.parametrize("order", ORDERS)
def test_google_adk_beside_openinference_which_has_no_span_for_model_calls(order: str, tmp_path: Path) -> None:
    spans = play(SCENARIO, tmp_path, "google_adk", order, OPENINFERENCE_ADK)
    check(tmp_path, spans, models="turnlog.google_adk", tools=OPENINFERENCE_ADK)


def test_google_adk_beside_openinference_in_the_older_form_of_its_spans(tmp_path: Path) -> None:
    """There it has a span around a model call and the tools that the model asks for, which is neither."""
    more = {"ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN": "1"}
    play(SCENARIO, tmp_path, "google_adk", ORDERS[0], OPENINFERENCE_ADK, **more)
    assert commits(tmp_path, SESSION) == expected(raises=False, cancels=False)
