"""The dashboards' PromQL in a real Prometheus, which scrapes the real collector as examples/grafana sets it up."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from dashboards import GRAFANA, PROMQL, each
from programs import run
from stack.parts import eventually, free_ports, get
from stack.sessions import Stack
from turnlog import queries
from turnlog.settings import Settings

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnlog-test-stack"
# What the other sessions have not: a context that loses messages, a model that refuses, and a run that fails of it.
FORGETFUL = """
import openai
import turnlog
from turnlog.demo.scripted_model import Reply, ScriptedModel

with ScriptedModel([Reply("One."), Reply("Two."), Reply("Three."), Reply("Too long.", status=400)]) as model:
    client = openai.OpenAI(base_url=model.base_url, api_key="none", max_retries=0)
    messages = []
    for question in ("one?", "two?", "three?", "four?"):
        messages = [*messages[-2:], {"role": "user", "content": question}]
        with turnlog.session("forgetful"), turnlog.turn(input=question, agent="forgetful"):
            answer = client.chat.completions.create(model="forgetful", messages=messages)
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
"""


class Prometheus:
    """Started as in examples/grafana, but for where it scrapes, how often, and where its data is."""

    def __init__(self, folder: Path, scraped: str) -> None:
        (port,) = free_ports(1)
        self._address = f"127.0.0.1:{port}"
        config = (GRAFANA / "prometheus.yaml").read_text()
        config = config.replace("collector:8889", scraped).replace("scrape_interval: 15s", "scrape_interval: 1s")
        (folder / "prometheus.yaml").write_text(config)
        command = yaml.safe_load((GRAFANA / "compose.yaml").read_text())["services"]["prometheus"]["command"]
        self.flags = [
            *(flag for flag in command if flag.startswith("--enable-feature")),
            *(f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data"),
            f"--web.listen-address={self._address}",
        ]

    def is_ready(self) -> bool:
        return bool(get(f"http://{self._address}/-/ready"))

    def ask(self, query: str) -> list[float]:
        answer = get(f"http://{self._address}/api/v1/query?{urllib.parse.urlencode({'query': query})}")
        return [float(series["value"][1]) for series in json.loads(answer)["data"]["result"]]


@pytest.fixture(scope="module")
def binary() -> str:
    found = shutil.which("prometheus", path=os.pathsep.join([*map(str, CACHE.glob("prometheus-*")), os.environ["PATH"]]))
    if found is None:
        pytest.skip("no prometheus on the PATH: install Prometheus 3")
    told = subprocess.run([found, "--help"], capture_output=True, text=True, check=True)
    if "created-timestamp-zero-ingestion" not in re.sub(r"\s", "", told.stdout + told.stderr):
        pytest.skip(f"needs Prometheus 3, where a series can begin with a zero; {found} is older")
    return found


@pytest.fixture(scope="module")
def forgetful(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the forgetful agent was recorded, on its way through the collector."""
    folder = tmp_path_factory.mktemp("forgetful")
    (folder / "agent.py").write_text(FORGETFUL)
    run(
        *(sys.executable, "-m", "turnlog", "run", sys.executable, folder / "agent.py"),
        directory=folder / "recorded",
        code=1,
        OTEL_SERVICE_NAME="forgetful",
        **stack.collector.for_programs,
    )
    return folder / "recorded"


@pytest.fixture(scope="module")
def prometheus(binary: str, stack: Stack, forgetful: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    made = Prometheus(folder, urllib.parse.urlsplit(stack.collector.span_metrics).netloc)
    with (folder / "log").open("wb") as log, subprocess.Popen([binary, *made.flags], stdout=log, stderr=log) as process:
        try:
            eventually(made.is_ready, what=f"prometheus is ready: {folder / 'log'}")
            yield made
        finally:
            process.kill()


@each(PROMQL)
def test_a_panel_has_something_to_show(query: str, prometheus: Prometheus) -> None:
    eventually(lambda: [number for number in prometheus.ask(query) if number > 0], what=query)


def test_what_happened_once_is_counted(prometheus: Prometheus, stack: Stack, forgetful: Path) -> None:
    """`rate` and `increase` take a series' first sample for no increase, and a short-lived agent makes little else."""
    kinds = {
        "Agent runs A": "operation = 'invoke_agent'",
        "Model calls A": "operation = 'chat'",
        "Tool calls A": "operation = 'execute_tool'",
        "Evictions A": "commit_kind = 'eviction'",
    }

    def recorded() -> dict[str, int]:
        return {name: spans(stack.recorded, condition) + spans(forgetful, condition) for name, condition in kinds.items()}

    def counted() -> dict[str, int]:
        return {name: round(sum(prometheus.ask(PROMQL[name]))) for name in kinds}

    with suppress(AssertionError):
        eventually(lambda: counted() == recorded(), what="all calls are counted")
    assert counted() == recorded()
    tools = kinds["Tool calls A"]
    failed = spans(stack.recorded, f"{tools} and outcome <> 'ok'") / spans(stack.recorded, tools)
    assert prometheus.ask(PROMQL["Failed tool calls A"]) == [pytest.approx(failed, rel=0.05)]


def spans(directory: Path, condition: str) -> int:
    with queries.reading(Settings(directory=directory)) as db:
        ((number,),) = db.execute(f"select count(*) from span_rows where {condition}").fetchall()
    return int(number)
