"""An application whose agents' spans go out by OpenTelemetry's own SDK, and which writes down what was acknowledged.

    python tests/sending.py ENDPOINT NAME TURNS FILE

Of each turn there are a root, two model calls and a tool call, which end, and so are sent, before their root. Every fifth turn
begins another session. FILE gets a line per span whose export the SDK called a success: trace id, span id.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

SPANS_PER_TURN = 4
TURNS_PER_SESSION = 5
Message = dict[str, Any]


class Noting(OTLPSpanExporter):
    def __init__(self, endpoint: str, file: Path) -> None:
        super().__init__(f"{endpoint}/v1/traces", timeout=60)
        self._file = file.open("w", buffering=1)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        if result is SpanExportResult.SUCCESS:
            contexts = [span.get_span_context() for span in spans]
            self._file.writelines(f"{each.trace_id:032x} {each.span_id:016x}\n" for each in contexts if each)
            self._file.flush()
        return result


def acknowledged(*files: Path) -> set[tuple[str, str]]:
    lines = [line.split() for file in files if file.exists() for line in file.read_text().splitlines()]
    return {(trace_id, span_id) for trace_id, span_id in lines}


def main(endpoint: str, name: str, turns: str, file: str) -> None:
    provider = TracerProvider(resource=Resource({"service.name": "app", "service.instance.id": name}))
    processor = BatchSpanProcessor(
        Noting(endpoint, Path(file)),
        max_queue_size=100_000,
        max_export_batch_size=37,  # cuts traces in two
        schedule_delay_millis=20,
    )
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("an.instrumentation")
    history: list[Message] = []
    for turn in range(int(turns)):
        if turn % TURNS_PER_SESSION == 0:
            history = []
        play(tracer, f"{name}-{turn // TURNS_PER_SESSION}", turn, history)
        # Longer in all than a receiver takes to be killed and started three times.
        time.sleep(0.04)
    while not processor.force_flush(60_000):
        pass
    provider.shutdown()


def play(tracer: trace.Tracer, session: str, turn: int, history: list[Message]) -> None:
    call, path = f"call-{session}-{turn}", f"{session}/{turn}.md"
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "writer", "session.id": session}
    with tracer.start_as_current_span("invoke_agent writer", attributes=agent):
        history.append(_said("user", {"type": "text", "content": f"Write {path}"}))
        _chat(
            tracer, history, _said("assistant", {"type": "tool_call", "id": call, "name": "write", "arguments": {"path": path}})
        )
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write", "gen_ai.tool.call.id": call}
        words = {"gen_ai.tool.call.arguments": json.dumps({"path": path}), "gen_ai.tool.call.result": "done"}
        tracer.start_span("execute_tool write", attributes={**tool, **words}).end()
        history.append(_said("tool", {"type": "tool_call_response", "id": call, "response": "done"}))
        _chat(tracer, history, _said("assistant", {"type": "text", "content": f"Wrote {path}."}))


def _chat(tracer: trace.Tracer, history: list[Message], answer: Message) -> None:
    words = {"gen_ai.input.messages": json.dumps(history), "gen_ai.output.messages": json.dumps([answer])}
    tracer.start_span("chat m", attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **words}).end()
    history.append(answer)


def _said(role: str, *parts: Message) -> Message:
    return {"role": role, "parts": list(parts)}


if __name__ == "__main__":
    main(*sys.argv[1:])
