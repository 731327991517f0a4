"""Plays the scenario of every framework with the spans that the framework makes by itself, and no turnlog.

`python natives.py NAME [quiet]` prints the finished spans as JSON; quiet ones say nothing of what was said.
`python natives.py claude_agent_sdk FOLDER` has Claude Code change files there instead.
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "frameworks"))

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnlog.otlp import JSON, decode
from turnlog.otlp.sdk import from_sdk
from turnlog.received import ReceivedSpan

# What turns on each framework's own spans, and then their content.
SPANS = {
    "agent_framework": {"ENABLE_INSTRUMENTATION": "true"},
    "claude_agent_sdk": {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
    },
}
CONTENT = {
    "google_adk": {
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    },
    "agent_framework": {"ENABLE_SENSITIVE_DATA": "true"},
    "claude_agent_sdk": {
        "ENABLE_BETA_TRACING_DETAILED": "1",
        "OTEL_LOG_USER_PROMPTS": "1",
        "OTEL_LOG_TOOL_DETAILS": "1",
        "OTEL_LOG_TOOL_CONTENT": "1",
    },
}


def in_process(name: str, play: Callable[[], None], quiet: bool) -> list[ReceivedSpan]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    if name == "pydantic_ai":
        from pydantic_ai import Agent
        from pydantic_ai.models.instrumented import InstrumentationSettings

        Agent.instrument_all(InstrumentationSettings(include_content=not quiet))
    play()
    return [from_sdk(span) for span in exporter.get_finished_spans()]


def over_http(play: Callable[[], None]) -> list[ReceivedSpan]:
    spans: list[ReceivedSpan] = []
    with collecting(spans) as url:
        os.environ |= {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "BETA_TRACING_ENDPOINT": url}
        play()
    return spans


@contextmanager
def collecting(spans: list[ReceivedSpan]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            if self.path == "/v1/traces":
                spans.extend(decode(body, JSON).spans)
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def main(name: str, folder: str = "") -> None:
    quiet = folder == "quiet"
    os.environ |= SPANS.get(name, {}) | ({} if quiet else CONTENT.get(name, {}))
    if folder and not quiet:
        from claude_files import main as change

        play = functools.partial(change, folder)
    else:
        from scenario import main as scenario

        play = functools.partial(scenario, name)
    spans = over_http(play) if name == "claude_agent_sdk" else in_process(name, play, quiet)
    print(json.dumps([dataclasses.asdict(span) for span in spans]))


if __name__ == "__main__":
    main(*sys.argv[1:])
