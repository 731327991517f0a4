"""An OTLP/HTTP endpoint on loopback that keeps what it takes, and answers first what it is told to."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Reply(NamedTuple):
    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Request(NamedTuple):
    path: str
    headers: Mapping[str, str]
    spans: list[Span]
    connection: tuple[str, int]


class Endpoint(ThreadingHTTPServer):
    def __init__(self, port: int = 0) -> None:
        self.replies: list[Reply] = []
        self.asked: list[Request] = []
        self.taken: list[Span] = []
        self.most_spans = 1_000_000
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        body = gzip.decompress(self.rfile.read(int(self.headers["content-length"])))
        spans = [
            span
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        server = self.server
        server.asked.append(
            Request(self.path, {key.lower(): value for key, value in self.headers.items()}, spans, self.client_address)
        )
        reply = Reply(413) if len(spans) > server.most_spans else server.replies.pop(0) if server.replies else Reply()
        if reply.status == 200:
            server.taken += spans
        self.send_response(reply.status)
        for name, value in {"content-type": "application/x-protobuf", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def partly(rejected: int, why: str) -> Reply:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = rejected
    response.partial_success.error_message = why
    return Reply(200, {}, response.SerializeToString())


@contextmanager
def serving(port: int = 0) -> Iterator[Endpoint]:
    with Endpoint(port) as endpoint:
        endpoint.daemon_threads = True
        thread = threading.Thread(target=endpoint.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield endpoint
        endpoint.shutdown()
        thread.join()
