"""The same spans, with their state, reach an OTLP endpoint beside the journal."""

from __future__ import annotations

import gzip
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from programs import commits, run, run_zero_code

pytestmark = pytest.mark.usefixtures("made_here")


class Sink(ThreadingHTTPServer):
    """An OTLP/HTTP endpoint on loopback that keeps what it is sent."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, str]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.server_port}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        }


class _Handler(BaseHTTPRequestHandler):
    server: Sink

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.server.spans.append((span.name, {pair.key: pair.value.string_value for pair in span.attributes}))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def told(sink: Sink) -> list[tuple[str, str, str]]:
    return [
        (name, found.get("turnlog.commit.kind", ""), found.get("turnlog.commit.outcome", ""))
        for name, found in sorted(sink.spans, key=lambda span: span[0])
    ]


def test_turnlog_run_sends_the_spans_where_opentelemetry_is_told_to(tmp_path: Path, sink: Sink) -> None:
    command = (sys.executable, "-m", "turnlog", "run", sys.executable, "examples/langchain_agent.py")
    run(*command, directory=tmp_path, **sink.environment)
    assert told(sink) == [
        ("chat scripted", "decision", "ok"),
        ("chat scripted", "decision", "ok"),
        ("execute_tool get_weather", "tool", "ok"),
        ("invoke_agent guide", "", ""),
    ]
    assert len({found["session.id"] for _, found in sink.spans}) == 1
    assert len(commits(tmp_path)) == 3


def test_zero_code_records_beside_otlp(tmp_path: Path, sink: Sink) -> None:
    run_zero_code("examples/plain_opentelemetry.py", tmp_path, "turnlog,otlp", **sink.environment)
    assert sorted(told(sink)) == [
        ("chat scripted", "decision", "ok"),
        ("chat scripted", "decision", "ok"),
        ("execute_tool add", "tool", "ok"),
    ]
    assert len(commits(tmp_path)) == 3
