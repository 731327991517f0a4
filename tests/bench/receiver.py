"""What `turnlog serve` takes a second, and what a span costs it, against other local OTLP stores on the same batches.

`python tests/bench/receiver.py [--quick] [--stores turnlog,phoenix,mlflow] [--rounds N] [--batches N]`

One client with one connection sends the same requests to each store in turn; stores are interleaved and ratios taken inside one
round. The others are installed once, in virtual environments of their own in ${XDG_CACHE_HOME:-~/.cache}/turnlog-bench.
A span's CPU is that of the server and its children until they rest; turnlog's includes deriving, which it does when a trace has
been quiet for 5 s, and loading all of it into DuckDB, which this process does as any reader would.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple

from measure import print_machine, print_table, spread
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.identity import Sessions
from turnlog.journal.reader import journal_bytes
from turnlog.journal.writer import JournalWriter
from turnlog.operation import Operation
from turnlog.processor import SessionProcessor
from turnlog.settings import Settings
from turnlog.store.loader import load
from turnlog.store.store import Store

Json = dict[str, Any]

_BATCH = 512
_SPANS_PER_TURN = 4
_TURNS_PER_SESSION = 4
_FORMS = {
    "plain": "GenAI spans as other instrumentations send them",
    "derived": "The same work as our SDK sends it, with its state",
}
_TICKS = os.sysconf("SC_CLK_TCK")
_START = 300.0
_READABLE = 600.0
_CALM = 2.0
_IDLE_SHARE = 0.05


class Sample(NamedTuple):
    """What one store made of one round's batches. Rates are spans per second."""

    acknowledged: float
    readable: float
    cpu_ms: float


class Server:
    """A store in a process of its own, with one connection to it."""

    package = ""
    health = "/healthz"
    headers: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loading_seconds = 0.0
        self._asked_at = 0.0
        self.port = _free_port()
        self._log = (folder / "log").open("wb")
        self._child = subprocess.Popen(
            self.command(), cwd=folder, env={**os.environ, **self.environment()}, stdout=self._log, stderr=self._log
        )
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_READABLE)
        self._wait_until_up()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()
        self._child.terminate()
        try:
            self._child.wait(30)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._log.close()

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {}

    def count(self) -> int:
        """How many spans can be asked for."""
        raise NotImplementedError

    def finish(self) -> None:
        """Wait for work that is put off, where one can know of it."""

    def send(self, body: bytes) -> None:
        while True:
            status, answer = self.ask("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf", **self.headers})
            if status == 200:
                return
            if status not in (429, 503):
                raise RuntimeError(f"{type(self).__name__} answered {status}: {answer[:500]!r}")
            time.sleep(0.1)

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        # uvicorn hangs up on a connection that was idle for 5 s.
        if time.monotonic() - self._asked_at > 2:
            self._connection.close()
        self._connection.request(method, path, body, dict(headers or {}))
        answer = self._connection.getresponse()
        content = answer.read()
        self._asked_at = time.monotonic()
        return answer.status, content

    def ask_json(self, path: str, question: Json) -> Json:
        status, answer = self.ask("POST", path, json.dumps(question).encode(), {"Content-Type": "application/json"})
        if status != 200:
            raise RuntimeError(f"{type(self).__name__} answered {status}: {answer[:500]!r}")
        return json.loads(answer)  # type: ignore[no-any-return]

    def cpu_seconds(self) -> float:
        ticks = 0
        for pid in _tree(self._child.pid):
            with contextlib.suppress(OSError):
                # The name, in brackets, may hold spaces. User and system time, then those of children that were waited for.
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(int(field) for field in fields[11:15])
        return ticks / _TICKS + self.loading_seconds

    def peak_mb(self) -> float:
        """The most that each of its processes ever held, together."""
        total = 0
        for pid in _tree(self._child.pid):
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        return total / 1024

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline and self._child.poll() is None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask("GET", self.health)[0] == 200:
                    return
            self._connection.close()
            time.sleep(0.2)
        raise RuntimeError(f"{type(self).__name__} did not start: {(self.folder / 'log').read_text()[-2000:]}")


class Turnlog(Server):
    def __init__(self, folder: Path) -> None:
        self.settings = Settings(directory=folder / "store")
        super().__init__(folder)

    def command(self) -> list[str]:
        return [sys.executable, "-m", "turnlog", "serve", "--port", str(self.port)]

    def environment(self) -> dict[str, str]:
        return {"TURNLOG_DIR": str(self.settings.directory)}

    def count(self) -> int:
        # Not by `queries.reading`, which loads what is much: that is counted apart.
        with Store(self.settings).reading() as db:
            (found,) = db.execute("select count(*) from span_rows").fetchall()
        return int(found[0])

    def finish(self) -> None:
        deadline = time.monotonic() + _READABLE
        while journal_bytes(self.settings.inbox) and time.monotonic() < deadline:
            time.sleep(0.1)
        began = time.process_time()
        load(self.settings, 60)
        self.loading_seconds += time.process_time() - began


class Phoenix(Server):
    package = "arize-phoenix==20.26.1"

    def command(self) -> list[str]:
        return [str(_environment(self.package) / "phoenix"), "serve"]

    def environment(self) -> dict[str, str]:
        return {
            "PHOENIX_WORKING_DIR": str(self.folder),
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(self.port),
            "PHOENIX_GRPC_PORT": str(_free_port()),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        }

    def count(self) -> int:
        found = self.ask_json("/graphql", {"query": "{ projects { edges { node { recordCount } } } }"})
        return sum(edge["node"]["recordCount"] for edge in found["data"]["projects"]["edges"])


class Mlflow(Server):
    package = "mlflow==3.17.2"
    health = "/health"
    headers: ClassVar[Mapping[str, str]] = {"x-mlflow-experiment-id": "0"}

    def command(self) -> list[str]:
        store, artifacts = f"sqlite:///{self.folder}/mlflow.db", str(self.folder / "artifacts")
        at = ["--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        python = _environment(self.package) / "python"
        return [str(python), "-m", "mlflow", "server", *at, "--backend-store-uri", store, "--default-artifact-root", artifacts]

    def environment(self) -> dict[str, str]:
        # Its job runners take no part in receiving, and three times the memory of what does.
        return {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}

    def count(self) -> int:
        """Its API lists traces. A request's spans are written before it is answered, so a trace that is there is whole."""
        place = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}}
        question: Json = {"locations": [place], "max_results": 500}
        traces = 0
        while True:
            found = self.ask_json("/api/3.0/mlflow/traces/search", question)
            traces += len(found.get("traces", ()))
            if not found.get("next_page_token"):
                return traces * _SPANS_PER_TURN
            question["page_token"] = found["next_page_token"]


STORES: dict[str, type[Server]] = {each.__name__.lower(): each for each in (Turnlog, Phoenix, Mlflow)}


def make_batches(form: str, count: int) -> list[bytes]:
    """Requests of whole turns, of many sessions, none of which was sent before."""
    exporter = InMemorySpanExporter()
    resource = Resource({"service.name": "agents", "service.instance.id": uuid.uuid4().hex, "process.pid": os.getpid()})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(directory=Path(scratch))
        journal = JournalWriter(settings)
        if form == "derived":
            provider.add_span_processor(SessionProcessor(ContentPolicy(settings), Sessions(), journal))
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("bench")
        perform = _with_turnlog if form == "derived" else _with_attributes
        for _ in range(count * _BATCH // (_SPANS_PER_TURN * _TURNS_PER_SESSION)):
            _play_session(tracer, perform)
        journal.close()
    spans = exporter.get_finished_spans()
    return [encode_spans(spans[first : first + _BATCH]).SerializeToString() for first in range(0, len(spans), _BATCH)]


Perform = Callable[[Tracer, str, Json, Json, Json], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def _with_attributes(tracer: Tracer, name: str, attributes: Json, given: Json, got: Json) -> Iterator[None]:
    """As other instrumentations record: messages as JSON in attributes."""
    content = {key: value if isinstance(value, str) else json.dumps(value) for key, value in {**given, **got}.items()}
    with tracer.start_as_current_span(name, attributes={**attributes, **content}):
        yield


@contextlib.contextmanager
def _with_turnlog(tracer: Tracer, name: str, attributes: Json, given: Json, got: Json) -> Iterator[None]:
    operation = Operation.start(name, attributes, given, tracer=tracer)
    with operation.current():
        yield
    operation.set(content=got)
    operation.end()


def _play_session(tracer: Tracer, perform: Perform) -> None:
    session = uuid.uuid4().hex
    history: list[Json] = []
    for turn in range(_TURNS_PER_SESSION):
        asked = _said("user", {"type": "text", "content": f"Please write down what step {turn} of the plan came to."})
        answer = _said("assistant", {"type": "text", "content": f"What step {turn} came to is in notes/{turn}.md now."})
        history.append(asked)
        given, got = {semconv.GEN_AI_INPUT_MESSAGES: [asked]}, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]}
        agent = {**_named(session, "invoke_agent"), **_MODEL, **_USAGE, semconv.GEN_AI_AGENT_ID: "writer-1"}
        with perform(tracer, "invoke_agent writer", agent, given, got):
            _work(tracer, perform, session, turn, history)
            _chat(tracer, perform, session, history, answer, "stop")


def _work(tracer: Tracer, perform: Perform, session: str, turn: int, history: list[Json]) -> None:
    call = f"call_{session[:12]}_{turn}"
    arguments = {"path": f"notes/{turn}.md", "content": f"# Step {turn}\n\nIt came to nothing that needs more work.\n"}
    result = "wrote 54 characters"
    asks = _said("assistant", {"type": "tool_call", "id": call, "name": "write_file", "arguments": arguments})
    _chat(tracer, perform, session, history, asks, "tool_calls")
    tool = {
        **_named(session, "execute_tool"),
        semconv.GEN_AI_TOOL_NAME: "write_file",
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.GEN_AI_TOOL_CALL_ID: call,
        semconv.GEN_AI_TOOL_DESCRIPTION: "Write a text to a file of the workspace.",
        "code.function.name": "workspace.write_file",
        "code.line.number": 42,
        "thread.id": 1,
        "thread.name": "MainThread",
    }
    given, got = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments}, {semconv.GEN_AI_TOOL_CALL_RESULT: result}
    with perform(tracer, "execute_tool write_file", tool, given, got):
        pass
    history.append(_said("tool", {"type": "tool_call_response", "id": call, "response": result}))


def _chat(tracer: Tracer, perform: Perform, session: str, history: list[Json], answer: Json, reason: str) -> None:
    attributes = {
        **_named(session, "chat"),
        **_MODEL,
        **_USAGE,
        semconv.GEN_AI_RESPONSE_ID: f"chatcmpl-{uuid.uuid4().hex}",
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: [reason],
    }
    given, got = {semconv.GEN_AI_INPUT_MESSAGES: list(history)}, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]}
    with perform(tracer, "chat m-large", attributes, given, got):
        pass
    history.append(answer)


def _named(session: str, operation: str) -> Json:
    return {
        semconv.GEN_AI_OPERATION_NAME: operation,
        semconv.GEN_AI_AGENT_NAME: "writer",
        semconv.SESSION_ID: session,
        semconv.GEN_AI_CONVERSATION_ID: session,
    }


_MODEL = {
    semconv.GEN_AI_PROVIDER_NAME: "openai",
    semconv.GEN_AI_REQUEST_MODEL: "m-large",
    semconv.GEN_AI_RESPONSE_MODEL: "m-large-2026",
    "server.address": "api.example.com",
}
_USAGE = {semconv.GEN_AI_USAGE_INPUT_TOKENS: 812, semconv.GEN_AI_USAGE_OUTPUT_TOKENS: 64}


def _said(role: str, *parts: Json) -> Json:
    return {"role": role, "parts": list(parts)}


def measure(server: Server, batches: Sequence[bytes], held: int) -> Sample:
    """`held`: how many spans it was sent before."""
    spans = len(batches) * _BATCH
    before = server.cpu_seconds()
    began = time.perf_counter()
    for batch in batches:
        server.send(batch)
    acknowledged = time.perf_counter() - began
    while (found := server.count()) < held + spans:
        waited = time.perf_counter() - began
        if waited > _READABLE:
            raise RuntimeError(f"{type(server).__name__} shows {found:,} of {held + spans:,} spans after {waited:.0f} s")
        # Questions take time from the server: a few, and the answer is known within a tenth.
        time.sleep(max(0.2, waited / 10))
    readable = time.perf_counter() - began
    server.finish()
    cpu = _cpu_at_rest(server) - before
    if (found := server.count()) != held + spans:
        raise RuntimeError(f"{type(server).__name__} shows {found:,} spans, and was sent {held + spans:,}")
    return Sample(spans / acknowledged, spans / readable, cpu / spans * 1e3)


def _cpu_at_rest(server: Server) -> float:
    """What its processes have used when they begin to idle."""
    while True:
        used = server.cpu_seconds()
        time.sleep(_CALM)
        if server.cpu_seconds() - used < _CALM * _IDLE_SHARE:
            return used


def _print(form: str, names: Sequence[str], results: Sequence[Mapping[str, Sample]], sent: str) -> None:
    rows = []
    for name in names:
        rows.append([name, *(spread(getattr(result[name], field) for result in results) for field in Sample._fields)])
        if name != "turnlog" and "turnlog" in names:
            pairs = [(result["turnlog"], result[name]) for result in results]
            ratios = [spread(mine[column] / theirs[column] for mine, theirs in pairs) for column in range(len(Sample._fields))]
            rows.append([f"  turnlog / {name}", *ratios])
    head = ("store", "acknowledged spans/s", "readable spans/s", "CPU ms per span")
    print_table(f"{_FORMS[form]}: {sent}, median [quartiles]", head, rows)


def _environment(package: str) -> Path:
    """The programs of a virtual environment that has this package and nothing else."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnlog-bench"
    place = cache / package.replace("==", "-")
    if not (place / "installed").exists():
        print(f"installing {package} in {place}", flush=True)
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", package], check=True)
        (place / "installed").touch()
    return place / "bin"


def _tree(root: int) -> Iterator[int]:
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += map(int, children.read_text().split())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--stores", type=lambda text: text.split(","), default=list(STORES))
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--batches", type=int, default=0, help=f"requests of {_BATCH} spans per store and round")
    options = parser.parse_args()
    rounds = options.rounds or (2 if options.quick else 5)
    count = options.batches or (2 if options.quick else 8)
    print_machine()
    noise = random.Random(0)
    results: dict[str, list[dict[str, Sample]]] = {form: [] for form in _FORMS}
    with contextlib.ExitStack() as stack:
        servers = {}
        for name in options.stores:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            servers[name] = stack.enter_context(STORES[name](Path(folder)))
        idle = {name: server.peak_mb() for name, server in servers.items()}
        sent = 0
        # The first requests pay for imports and for making tables: they are not counted.
        for round, form in itertools.product(range(rounds + 1), _FORMS):
            batches = make_batches(form, count if round else 1)
            order = noise.sample(options.stores, len(options.stores))
            samples = {name: measure(servers[name], batches, sent) for name in order}
            sent += len(batches) * _BATCH
            if round:
                results[form].append(samples)
        peaks = [[name, f"{idle[name]:,.0f}", f"{server.peak_mb():,.0f}"] for name, server in servers.items()]
    for form, found in results.items():
        _print(form, options.stores, found, f"{rounds} rounds of {count} requests of {_BATCH} spans")
    print_table(f"Peak memory, {sent:,} spans", ("store", "started MB", "at the end MB"), peaks)
    print_machine()


if __name__ == "__main__":
    main()
