"""The tracing side of one process, put together for a test: provider, processor, journal, and what they gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.identity import Sessions
from turnlog.journal.reader import list_journals, unread_frames
from turnlog.journal.writer import JournalWriter
from turnlog.observe import Observer
from turnlog.operation import Content, Operation
from turnlog.processor import SessionProcessor
from turnlog.semconv import GenAiOperation
from turnlog.settings import Settings

Message = dict[str, Any]


class Recording:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.journal = JournalWriter(settings)
        policy = ContentPolicy(settings)
        observer = Observer(settings, policy, self.journal.report_loss)
        self.processor = SessionProcessor(policy, Sessions(settings.session), self.journal, observer)
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(self.processor)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.processor.conversations.tracer = self.provider.get_tracer("test")

    def start(
        self,
        operation: GenAiOperation | str,
        content: Content | None = None,
        attributes: Mapping[str, Any] | None = None,
        parent: Context | None = None,
    ) -> Operation:
        known = {semconv.GEN_AI_OPERATION_NAME: str(operation)} if operation else {}
        return Operation.start(
            str(operation) or "span", {**known, **(attributes or {})}, content, parent=parent, tracer=self.tracer
        )

    @contextmanager
    def agent(self, text: str = "", conversation: str = "", name: str = "coder") -> Iterator[Operation]:
        attributes = {semconv.GEN_AI_AGENT_NAME: name}
        if conversation:
            attributes[semconv.GEN_AI_CONVERSATION_ID] = conversation
        content = {semconv.GEN_AI_INPUT_MESSAGES: [user(text)]} if text else None
        operation = self.start(GenAiOperation.INVOKE_AGENT, content, attributes)
        with operation.current():
            yield operation
        operation.end()

    def chat(self, inputs: list[Message], outputs: list[Message], **attributes: Any) -> Operation:
        operation = self.start(GenAiOperation.CHAT, {semconv.GEN_AI_INPUT_MESSAGES: inputs}, attributes)
        operation.set(content={semconv.GEN_AI_OUTPUT_MESSAGES: outputs})
        operation.end()
        return operation

    def tool(self, name: str, arguments: Any = None, result: Any = None, error: BaseException | None = None) -> Operation:
        content = {} if arguments is None else {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments}
        operation = self.start(GenAiOperation.EXECUTE_TOOL, content, {semconv.GEN_AI_TOOL_NAME: name})
        if error is not None:
            operation.fail(error)
        elif result is not None:
            operation.set(content={semconv.GEN_AI_TOOL_CALL_RESULT: result})
        operation.end()
        return operation

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def close(self) -> None:
        self.provider.shutdown()


def journal_rows(settings: Settings) -> list[dict[str, Any]]:
    """Every row in the journals, oldest first."""
    return [
        orjson.loads(line)
        for journal in list_journals(settings.journals)
        for frame in unread_frames(journal, 0, journal.size)
        for line in frame.payload.splitlines()
    ]


def session_of(span: Operation | ReadableSpan) -> str:
    return str(_attributes(span)[semconv.SESSION_ID])


def turn_of(span: Operation | ReadableSpan) -> str:
    return str(_attributes(span)[semconv.TURN_ID])


def _attributes(span: Operation | ReadableSpan) -> Mapping[str, Any]:
    found = span.span if isinstance(span, Operation) else span
    assert isinstance(found, ReadableSpan)
    return found.attributes or {}


def user(text: str) -> Message:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def assistant(text: str = "", *calls: str, reasoning: str = "") -> Message:
    parts: list[Message] = [{"type": "reasoning", "content": reasoning}] if reasoning else []
    parts += [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": f"call-{index}", "name": name, "arguments": {}} for index, name in enumerate(calls)]
    return {"role": "assistant", "parts": parts}


def tool_result(text: str) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call-0", "response": text}]}
