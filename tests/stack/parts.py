"""The parts of the stack as processes on loopback: the collector with the repository's own configuration, Jaeger, and an OTLP
endpoint that keeps what it is sent, for the places where a test must see what the collector let through.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from programs import ROOT

PATIENCE = 120.0
NOBODY = "127.0.0.1:9"
Found = TypeVar("Found")


def eventually(ask: Callable[[], Found], *, what: str, patience: float = PATIENCE) -> Found:
    """The first answer that is not empty."""
    deadline = time.monotonic() + patience
    while not (found := ask()):
        assert time.monotonic() < deadline, f"not within {patience:g} s: {what}"
        time.sleep(0.1)
    return found


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports


def get(url: str, **headers: str) -> str:
    """What is there; nothing while nobody answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return str(answer.read().decode())
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return ""


class _Process:
    """A program of the stack that can be started again after it was killed; its output goes on in one file."""

    def __init__(self, command: list[str | Path], log: Path, environment: dict[str, str]) -> None:
        self.command = [str(part) for part in command]
        self.log = log
        self.environment = {**os.environ, **environment}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=log)
        eventually(self._ready_or_dead, what=f"{self.command[0]} is ready")

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            self.start()
            yield
        finally:
            self.kill()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def is_ready(self) -> bool:
        raise NotImplementedError

    def _ready_or_dead(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        return self.is_ready()


class Collector(_Process):
    def __init__(
        self, binary: Path, folder: Path, *, turnlog: str, jaeger: str = NOBODY, tempo: str = NOBODY, kept_sessions: str = "."
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        http, grpc_port, self._health, metrics, span_metrics = free_ports(5)
        self.endpoint = f"http://127.0.0.1:{http}"
        self.span_metrics = f"http://127.0.0.1:{span_metrics}/metrics"
        super().__init__(
            [binary, "--config", ROOT / "collector-config.yaml"],
            folder / "collector.log",
            {
                "OTELCOL_STATE_DIR": str(folder / "queue"),
                "OTELCOL_HTTP_PORT": str(http),
                "OTELCOL_GRPC_PORT": str(grpc_port),
                "OTELCOL_HEALTH_PORT": str(self._health),
                "OTELCOL_METRICS_PORT": str(metrics),
                "OTELCOL_SPAN_METRICS_PORT": str(span_metrics),
                "OTELCOL_KEPT_SESSIONS": kept_sessions,
                "TURNLOG_ENDPOINT": turnlog,
                "JAEGER_ENDPOINT": jaeger,
                "TEMPO_ENDPOINT": tempo,
            },
        )

    @property
    def for_programs(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}

    def is_ready(self) -> bool:
        return bool(get(f"http://127.0.0.1:{self._health}"))


class Jaeger(_Process):
    def __init__(self, binary: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        otlp, self._query, query_grpc = free_ports(3)
        self.endpoint = f"127.0.0.1:{otlp}"
        super().__init__(
            [binary, "--config", Path(__file__).parent / "jaeger-config.yaml"],
            folder / "jaeger.log",
            {
                "JAEGER_OTLP_PORT": str(otlp),
                "JAEGER_QUERY_PORT": str(self._query),
                "JAEGER_QUERY_GRPC_PORT": str(query_grpc),
            },
        )

    def is_ready(self) -> bool:
        return bool(self.ask("/api/services"))

    def ask(self, path: str, **parameters: str) -> str:
        return get(f"http://127.0.0.1:{self._query}{path}?{urllib.parse.urlencode(parameters)}")

    def traces(self, service: str, tags: dict[str, str]) -> list[dict[str, Any]]:
        """What the search page finds: the traces with a span that has all these tags."""
        found = self.ask("/api/traces", service=service, tags=json.dumps(tags), limit="1000", lookback="1h")
        return json.loads(found)["data"] if found else []


class Serve(_Process):
    """`turnlog serve` with a store of its own."""

    def __init__(self, folder: Path) -> None:
        (self._port,) = free_ports(1)
        self.endpoint = f"http://127.0.0.1:{self._port}"
        self.directory = folder / "served"
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(
            [sys.executable, "-m", "turnlog", "serve", "--port", str(self._port)],
            folder / "serve.log",
            {"TURNLOG_DIR": str(self.directory)},
        )

    def is_ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 5).close()
        except OSError:
            return False
        return True


class Sink:
    """Keeps the spans that it is sent, over OTLP/HTTP and OTLP/gRPC."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._take))
        self._grpc = grpc.server(futures.ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(_Servicer(self._take), self._grpc)
        self.http_endpoint = f"http://127.0.0.1:{self._http.server_port}"
        self.grpc_endpoint = f"127.0.0.1:{self._grpc.add_insecure_port('127.0.0.1:0')}"

    @contextmanager
    def serving(self) -> Iterator[Sink]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        self._grpc.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            self._grpc.stop(None).wait()
            thread.join()

    def of_session(self, session: str) -> list[Span]:
        return [span for span in list(self.spans) if attributes(span).get("session.id") == session]

    def _take(self, request: ExportTraceServiceRequest) -> None:
        self.spans += [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]


def attributes(span: Span) -> dict[str, str]:
    return {pair.key: pair.value.string_value for pair in span.attributes}


def _handler(take: Callable[[ExportTraceServiceRequest], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            take(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


class _Servicer(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self, take: Callable[[ExportTraceServiceRequest], None]) -> None:
        self._take = take

    def Export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:  # noqa: N802 - gRPC's name
        self._take(request)
        return ExportTraceServiceResponse()
