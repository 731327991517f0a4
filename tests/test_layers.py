"""Data walks one way. Each layer imports only from those before it; the reading side never meets the tracing side."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from programs import ROOT, environment

SOURCE = ROOT / "src" / "turnlog"

LAYERS = (
    ("semconv", "settings", "errors", "tokens", "transitions", "trusted"),
    ("content", "received", "stating"),
    ("operation", "identity", "carried", "span_attributes", "foreign", "unsampled", "otlp"),
    ("derive", "vocabulary"),
    ("journal", "observe"),
    ("conversation", "watching"),
    ("running",),
    ("processor",),
    ("intake",),
    ("store",),
    ("background",),
    ("queries",),
    ("lease",),
    ("telling",),
    ("brief", "resume_brief"),
    ("instrument",),
    ("importing", "exporting", "bundling", "receiver"),
    ("manual", "lifecycle"),
    ("replay",),
    ("runtime", "exporter"),
    ("resuming", "continuing"),
    ("mcp_server",),
    ("__init__", "cli", "web", "demo", "bootstrap", "__main__"),
)
PLACE = {name: place for place, names in enumerate(LAYERS) for name in names}

# Beyond the order: who must not know whom although it comes later.
TRACING = {
    "operation",
    "unsampled",
    "identity",
    "carried",
    "derive",
    "observe",
    "conversation",
    "running",
    "processor",
    "intake",
    "instrument",
    "replay",
    "manual",
    "lifecycle",
    "runtime",
    "exporter",
    "resuming",
    "continuing",
}
STRANGERS = {
    "derive": {"operation", "identity"},
    "journal": {"operation", "identity", "derive"},
    "store": TRACING | {"content"},
    "queries": TRACING | {"content"},
    "telling": TRACING | {"content"},
    "brief": TRACING | {"content"},
    "resume_brief": TRACING | {"content"},
    "mcp_server": TRACING | {"content"},
    "cli": TRACING,
    "web": TRACING | {"content"},
    "instrument": {"identity", "derive", "journal", "processor", "intake", "store", "queries"},
    "manual": {"identity", "derive", "journal", "processor", "intake", "store", "queries"},
    "lifecycle": {"derive", "journal", "processor", "intake", "store", "queries"},
}
# The joint that OpenTelemetry's entry point needs: it is loaded by name and brings the runtime up.
# A briefing without a session is about that of the enclosing `with turnlog.session(...)`.
ALLOWED = {
    ("instrument.entry_points", "runtime"),
    ("cli.doctor", "instrument"),
    ("cli.frameworks", "instrument"),
    ("brief", "identity"),
    # What an agent reports of itself is derived as what it states in process is.
    ("mcp_server.reporting", "content"),
    ("mcp_server.reporting", "identity"),
    ("mcp_server.reporting", "operation"),
    ("mcp_server.reporting", "processor"),
    # What comes finished goes the same way as what runs here.
    ("cli.asking", "intake"),
}

# Which packages a layer may import, of those that cost start-up time.
HEAVY = {
    "duckdb": {"store", "queries", "bundling", "mcp_server", "cli"},
    "opentelemetry": TRACING - {"derive"}
    | {"journal.record", "span_attributes", "otlp", "mcp_server.caller", "mcp_server.reporting"},
    "wrapt": {"instrument", "manual", "replay"},
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        yield name, ast.parse(path.read_text())


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that the code names in an import, at the top or in a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import hides where it goes"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == "turnlog" else (module,)


def ours(tree: ast.Module) -> set[str]:
    return {name.removeprefix("turnlog.") for name in imports(tree) if name.startswith("turnlog.")}


def layer(module: str) -> str:
    return module.partition(".")[0]


EDGES = sorted((name, target) for name, tree in modules() for target in ours(tree) if layer(target) in PLACE)


def test_every_module_has_a_layer() -> None:
    assert {layer(name) for name, _ in modules()} == set(PLACE)


@pytest.mark.parametrize(("module", "target"), EDGES, ids=[f"{module} to {target}" for module, target in EDGES])
def test_no_module_steps_back(module: str, target: str) -> None:
    if (module, layer(target)) in ALLOWED:
        return
    assert PLACE[layer(target)] <= PLACE[layer(module)]
    assert layer(target) not in STRANGERS.get(layer(module), set())


def test_expensive_packages_are_imported_only_where_they_belong() -> None:
    found = {
        (name, package)
        for name, tree in modules()
        for package in {layer(target) for target in imports(tree)} & set(HEAVY)
        if layer(name) not in HEAVY[package] and name not in HEAVY[package]
    }
    assert found == set()


def test_there_are_no_allowances_that_nobody_needs() -> None:
    used = {(module, layer(target)) for module, target in EDGES}
    assert used >= ALLOWED


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*(name.partition('.')[0] for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(Path("unused")), capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("turnlog", {"opentelemetry", "duckdb", "orjson", "wrapt"}),
        ("turnlog.queries", {"opentelemetry", "wrapt"}),
        ("turnlog.brief", {"opentelemetry", "duckdb", "wrapt"}),
        ("turnlog.store.loader", {"opentelemetry", "wrapt"}),
        ("turnlog.cli", {"opentelemetry", "duckdb", "wrapt"}),
        ("turnlog.runtime", {"duckdb", "langchain", "openai"}),
        ("turnlog.manual", {"duckdb"}),
    ],
)
def test_a_side_is_loaded_without_what_only_the_other_needs(module: str, absent: set[str]) -> None:
    assert loaded_by(module) & absent == set()
