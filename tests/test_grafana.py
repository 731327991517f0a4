"""examples/grafana: the dashboards are what Grafana takes, and ask only for what the collector, Tempo and the store have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pytest
import yaml

from dashboards import DASHBOARDS, GRAFANA, PROMQL, SQL, TRACEQL, each, panels
from programs import ROOT
from turnlog import semconv
from turnlog.cli.parser import build_parser
from turnlog.receiver import guard_for
from turnlog.settings import Settings

COLLECTOR = yaml.safe_load((ROOT / "collector-config.yaml").read_text())
COMPOSE = yaml.safe_load((GRAFANA / "compose.yaml").read_text())

SCHEMA = "13.2.3"
PACKAGES = {
    "@grafana/schema": SCHEMA,
    "@grafana/lezer-traceql": "1.0.0",
    "@lezer/lr": "1.4.10",
    "typescript": "5.9.3",
}
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnlog-test-stack"


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Grafana's own types and its grammar of TraceQL, with what checks them; kept between runs."""
    if shutil.which("npm") is None:
        pytest.skip("Grafana's types and grammars are npm packages: needs node and npm")
    folder = CACHE / f"grafana-schema-{SCHEMA}"
    modules = folder / "node_modules"
    if not all((modules / name / "package.json").exists() for name in PACKAGES):
        folder.mkdir(parents=True, exist_ok=True)
        packages = [f"{name}@{version}" for name, version in PACKAGES.items()]
        install = ["npm", "install", "--prefix", str(folder), "--save-exact", "--no-audit", "--no-fund", *packages]
        done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot install {' '.join(packages)}: {done.stderr.strip()}")
    return modules


@pytest.fixture
def scratch(node_modules: Path, tmp_path: Path) -> Path:
    (tmp_path / "node_modules").symlink_to(node_modules)
    return tmp_path


# Enums of the types are plain strings in JSON.
TYPES = """
import type { Dashboard } from "@grafana/schema/dist/esm/raw/dashboard/x/Dashboard_types.gen";
import type * as stat from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as table from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import type * as timeseries from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";
type Plain<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
"""


def complaints(dashboard: dict[str, Any], scratch: Path) -> str:
    """What the compiler has to say about a dashboard, and about the options of its panels."""
    lines = [TYPES, f"export const dashboard: Plain<Dashboard> = {json.dumps(dashboard, indent=1)};"]
    for panel in panels(dashboard):
        if "options" in panel:
            type_name = f"Plain<Partial<{panel['type']}.Options>>"
            lines.append(f"export const panel{panel['id']}: {type_name} = {json.dumps(panel['options'])};")
    (scratch / "dashboard.ts").write_text("\n".join(lines))
    flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]
    command = ["node", "node_modules/typescript/bin/tsc", *flags, "dashboard.ts"]
    return subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=300, check=False).stdout


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_of_grafanas_own_types(path: Path, scratch: Path) -> None:
    assert complaints(json.loads(path.read_text()), scratch) == ""


def test_grafanas_types_refuse_what_they_should(scratch: Path) -> None:
    dashboard = json.loads(DASHBOARDS[0].read_text())
    dashboard["schemaVersion"] = "42"
    dashboard["panels"][0]["options"]["graphMode"] = "Area"
    dashboard["panels"][1]["options"]["colourMode"] = "none"
    said = complaints(dashboard, scratch)
    assert re.findall(r"error TS\d+: .*?'(.*?)'", said) == ["string", '"Area"', '"colourMode"'], said


def test_dashboards_have_their_own_ids_and_no_inputs_to_ask_for() -> None:
    read = [json.loads(path.read_text()) for path in DASHBOARDS]
    assert [dashboard["uid"] for dashboard in read] == [f"turnlog-{path.stem}" for path in DASHBOARDS]
    for dashboard in read:
        ids = [panel["id"] for panel in panels(dashboard)]
        assert len(ids) == len(set(ids))
        assert dashboard["schemaVersion"] == 42
        assert "__inputs" not in dashboard
        sources = {
            variable["name"]: variable["query"]
            for variable in dashboard["templating"]["list"]
            if variable["type"] == "datasource"
        }
        used = [part["datasource"] for panel in panels(dashboard) if "targets" in panel for part in (panel, *panel["targets"])]
        assert {(source["uid"], source["type"]) for source in used} == {
            (f"${{{name}}}", kind) for name, kind in sources.items()
        }


def test_panels_do_not_overlap() -> None:
    for path in DASHBOARDS:
        taken = [
            (panel["title"], x, y)
            for panel in json.loads(path.read_text())["panels"]
            for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
            for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        ]
        assert len({(x, y) for _, x, y in taken}) == len(taken)
        assert max(x for _, x, _ in taken) < 24


def label(attribute: str) -> str:
    return attribute.replace(".", "_")


SPAN_METRICS = COLLECTOR["connectors"]["span_metrics"]
DIMENSIONS = [dimension["name"] for dimension in SPAN_METRICS["dimensions"]]
NAMESPACE = label(SPAN_METRICS.get("namespace", "traces.span.metrics"))
METRICS = {f"{NAMESPACE}_calls_total", f"{NAMESPACE}_duration_seconds_bucket"}
LABELS = {"le", *map(label, ("service.name", "span.name", "span.kind", "status.code", *DIMENSIONS))}


@each(PROMQL)
def test_promql_names_what_the_collector_makes(query: str) -> None:
    assert SPAN_METRICS["histogram"]["unit"] == "s"
    assert set(re.findall(r"(\w+)\{", query)) <= METRICS
    matchers = re.findall(r'(\w+)(?:=~|!=|!~|=)"([^"]*)"', query)
    grouped = [name.strip() for names in re.findall(r"by \(([^)]*)\)", query) for name in names.split(",")]
    assert {name for name, _ in matchers} | set(grouped) <= LABELS
    values = {label(attribute): set(map(str, enum)) for attribute, enum in semconv.ATTRIBUTE_VALUES.items()}
    assert [
        (name, value) for name, value in matchers if name in values and not set(value.split("|")) <= values[name] | {""}
    ] == []


def test_every_dimension_of_the_span_metrics_is_shown() -> None:
    shown = " ".join(PROMQL.values())
    assert [name for name in DIMENSIONS if label(name) not in shown] == []


@each(TRACEQL)
def test_traceql_names_attributes_of_the_convention(query: str) -> None:
    named = re.findall(r"(?:span|resource)\.([\w.]+)", query)
    assert named
    assert set(named) <= set(semconv.ATTRIBUTE_TYPES)
    values = {attribute: set(map(str, enum)) for attribute, enum in semconv.ATTRIBUTE_VALUES.items()}
    compared = re.findall(r'span\.([\w.]+) (?:=|!=) "([^"]*)"', query)
    assert [(name, value) for name, value in compared if name in values and value not in values[name]] == []


PARSE = """
import { readFileSync } from "node:fs";
import { parser } from "@grafana/lezer-traceql";
for (const query of JSON.parse(readFileSync(0))) {
  let wrong = false;
  parser.parse(query).iterate({ enter: (node) => { wrong ||= node.type.isError; } });
  if (wrong) console.log(query);
}
"""


def test_traceql_is_of_grafanas_own_grammar(scratch: Path) -> None:
    (scratch / "parse.mjs").write_text(PARSE)
    wrong = ['{ span.session.id == "S" }', "{ status = eror }", "{} | select("]
    asked = json.dumps([*TRACEQL.values(), *wrong])
    done = subprocess.run(["node", "parse.mjs"], input=asked, cwd=scratch, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == wrong


def test_traceql_selects_nothing_that_the_collector_drops() -> None:
    quoted = re.findall(r'delete_matching_keys\(span\.attributes, "(.*)"\)', (ROOT / "collector-config.yaml").read_text())
    dropped = [pattern.replace(r"\\", "\\") for pattern in quoted]
    assert any(re.search(pattern, semconv.COMMIT_OUTPUT_SUMMARY) for pattern in dropped)
    selected = {name for query in TRACEQL.values() for name in re.findall(r"span\.([\w.]+)", query)}
    assert [name for name in selected for pattern in dropped if re.search(pattern, name)] == []


@each(SQL)
def test_sql_runs_in_a_copy_of_the_store(query: str, settings: Settings) -> None:
    with duckdb.connect(settings.database, read_only=True) as database:
        assert database.execute(query).fetchall() == []
        ((_, plan),) = database.execute(f"explain {query}").fetchall()
    # Grafana's plugin holds DuckDB 1.5, which does not take these as 2.0 writes them into a view.
    assert re.findall(r"\b(?:lag|lead)\(", plan.lower()) == []


def mounted() -> list[Path]:
    volumes = [volume for service in COMPOSE["services"].values() for volume in service.get("volumes", ())]
    return [(GRAFANA / volume.partition(":")[0]).resolve() for volume in volumes if volume.startswith(".")]


def test_compose_mounts_files_that_exist() -> None:
    assert ROOT / "collector-config.yaml" in mounted()
    assert [path for path in mounted() if not path.exists()] == []


def test_compose_sets_every_variable_that_holds_for_one_machine_only_and_none_that_nobody_reads() -> None:
    read = dict(re.findall(r"\$\{env:(\w+)(?::-([^}]*))?\}", (ROOT / "collector-config.yaml").read_text()))
    set_here = set(COMPOSE["services"]["collector"]["environment"])
    of_one_machine = {
        name for name, default in read.items() if "127.0.0.1" in default or "/" in default or default in ("", "none")
    }
    assert of_one_machine <= set_here <= {*read, "GOMEMLIMIT"}


def test_compose_sends_to_services_that_it_runs() -> None:
    texts = [str(value) for value in COMPOSE["services"]["collector"]["environment"].values()]
    texts += [path.read_text() for path in (GRAFANA / "prometheus.yaml", GRAFANA / "provisioning/datasources/stack.yaml")]
    texts.append(COMPOSE["services"]["probe"]["healthcheck"]["test"])
    hosts = {host for text in texts for host in re.findall(r"\b([a-z]+):\d{4,5}\b", text)}
    assert hosts == set(COMPOSE["services"]) - {"grafana", "probe"}


def test_turnlog_takes_what_the_collector_sends_it_under_the_name_that_compose_gives_it() -> None:
    program, *words = COMPOSE["services"]["turnlog"]["command"]
    options = build_parser().parse_args(words)
    assert (program, options.command) == ("turnlog", "serve")
    endpoint = urlsplit(COMPOSE["services"]["collector"]["environment"]["TURNLOG_ENDPOINT"])
    assert (endpoint.hostname, endpoint.port) == ("turnlog", options.port)
    assert options.token_file == f"/run/secrets/{COMPOSE['services']['turnlog']['secrets'][0]}"
    headers = Message()
    headers["Host"] = endpoint.netloc
    guard_for(options.host, "a" * 32, options.allow_host).check_source(headers)


def test_compose_pins_every_image_and_publishes_on_loopback_only() -> None:
    for service in COMPOSE["services"].values():
        image = service.get("image") or re.findall(r"FROM (\S+)", service["build"]["dockerfile_inline"])[0]
        assert re.search(r":v?\d+\.\d+\.\d+", image), image
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_grafana_is_given_the_dashboards_and_their_data_sources() -> None:
    provisioning = GRAFANA / "provisioning"
    (provider,) = yaml.safe_load((provisioning / "dashboards/turnlog.yaml").read_text())["providers"]
    assert f"./dashboards:{provider['options']['path']}:ro" in COMPOSE["services"]["grafana"]["volumes"]
    given = yaml.safe_load((provisioning / "datasources/stack.yaml").read_text())["datasources"]
    assert {source["type"] for source in given} == {"prometheus", "tempo", "jaeger"}
    links = [
        link["datasourceUid"] for source in given for link in source.get("jsonData", {}).get("exemplarTraceIdDestinations", ())
    ]
    assert set(links) <= {source["uid"] for source in given}
