"""The programs whose cost is measured, each bare, with plain OpenTelemetry spans, and recorded by turnlog.

Run by `overhead.py` as `programs.py PROGRAM VARIANT`; reads commands on stdin, answers in JSON. The model's edge is faked
inside the process (a mock transport, a fake chat model), because loopback HTTP would drown what is measured.

Variants: `bare`; `otel`, SDK spans of the same shape made by hand; `hooks`, turnlog's instrumentation alone; `derived`, with
all state derived and put on the spans; `turnlog`, everything on, the journal written too; and the peers, as in `peers.py`. But
for `turnlog`, an exporter throws the spans away.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span, Tracer

Unit = Callable[[], object]

_TEXT = "the parser reads tokens until the buffer is empty and then asks the reader for the next line of input"
_WORDS = _TEXT.split()
_ANSWER = "I read the parser and its tests; the buffer is refilled one line too late, so I moved the call up. " * 5
_TOOL_RESULT = "def parse(source):\n    return [token for token in tokens(source) if token.kind != 'space']\n" * 4


def openai_chat(tracer: Tracer | None) -> Unit:
    return _openai_call(tracer, [])


def openai_history(tracer: Tracer | None) -> Unit:
    return _openai_call(tracer, _history(40))


def openai_stream(tracer: Tracer | None) -> Unit:
    client = _openai_client(_stream_body(60), "text/event-stream")
    questions: Any = _questions()

    def call() -> int:
        stream = client.chat.completions.create(
            model="gpt-5", messages=[next(questions)], temperature=0.2, stream=True, stream_options={"include_usage": True}
        )
        return sum(1 for _ in stream)

    def call_traced() -> int:
        assert tracer is not None
        with _chat_span(tracer, streams=True) as span:
            count = call()
            span.set_attributes(_CHAT_END)
        return count

    return call_traced if tracer else call


def langchain_turn(tracer: Tracer | None) -> Unit:
    return _agent_turn(tracer, [])


def langchain_history(tracer: Tracer | None) -> Unit:
    return _agent_turn(tracer, _history(40))


def langchain_model(tracer: Tracer | None) -> Unit:
    from langchain_core.messages import HumanMessage

    model, config = _fake_model(), _config(tracer)
    questions = _questions()
    return lambda: model.invoke([HumanMessage(next(questions)["content"])], config)


def langchain_tool(tracer: Tracer | None) -> Unit:
    tool, config = _langchain_tools()[0], _config(tracer)
    call: Any = {"type": "tool_call", "id": "call_1", "name": "read_file", "args": {"path": "src/parser.py"}}
    return lambda: tool.invoke(call, config)


def tool_by_hand(tracer: Tracer | None) -> Unit:
    """A tool that does what tools do at least: touch a small file."""
    file = Path(tempfile.mkdtemp()) / "notes.md"

    def write_file(path: str, content: str) -> str:
        return f"wrote {file.write_text(content)} characters to {path}"

    tool = write_file
    if "turnlog" in sys.modules:
        import turnlog

        tool = turnlog.tool(write_file)

    def call() -> str:
        return tool("notes.md", _TOOL_RESULT)

    def call_traced() -> str:
        assert tracer is not None
        with tracer.start_as_current_span("execute_tool write_file", attributes=_tool_start("write_file")):
            return write_file("notes.md", _TOOL_RESULT)

    return call_traced if tracer else call


PROGRAMS: dict[str, Callable[[Tracer | None], Unit]] = {
    program.__name__: program
    for program in (
        openai_chat,
        openai_stream,
        openai_history,
        langchain_turn,
        langchain_history,
        langchain_model,
        langchain_tool,
        tool_by_hand,
    )
}

_CHAT_START: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.request.temperature": 0.2,
    "server.address": "model.invalid",
    "server.port": 443,
}
_CHAT_END: dict[str, Any] = {
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.model": "gpt-5",
    "gen_ai.response.finish_reasons": ("stop",),
    "gen_ai.usage.input_tokens": 1200,
    "gen_ai.usage.output_tokens": 80,
    "gen_ai.usage.cache_read.input_tokens": 0,
    "gen_ai.usage.reasoning.output_tokens": 0,
}


def _tool_start(name: str) -> dict[str, str]:
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function"}


@contextmanager
def _chat_span(tracer: Tracer, *, streams: bool = False) -> Iterator[Span]:
    from opentelemetry.trace import SpanKind

    attributes = {**_CHAT_START, "gen_ai.request.stream": True} if streams else _CHAT_START
    with tracer.start_as_current_span("chat gpt-5", kind=SpanKind.CLIENT, attributes=attributes) as span:
        yield span


def _history(count: int) -> list[dict[str, Any]]:
    """Earlier messages of about 700 characters each: 40 of them are 28 kB."""
    roles = ("user", "assistant")
    return [
        {"role": roles[n % 2], "content": " ".join(_WORDS[(n * 7 + k) % len(_WORDS)] for k in range(140))} for n in range(count)
    ]


def _questions() -> Iterator[dict[str, str]]:
    """No two calls ask the same: what is remembered of one must not make the next look cheap, nor dear."""
    return ({"role": "user", "content": f"What is wrong with parser {number}?"} for number in itertools.count())


def _openai_client(body: bytes, content_type: str) -> Any:
    import openai

    # httpx2 since openai 3, which some peers do not allow yet.
    http = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
    transport = http.MockTransport(lambda _: http.Response(200, headers={"content-type": content_type}, content=body))
    return openai.OpenAI(
        api_key="none", base_url="https://model.invalid/v1", http_client=openai.DefaultHttpxClient(transport=transport)
    )


def _openai_call(tracer: Tracer | None, history: list[Any]) -> Unit:
    message = {"role": "assistant", "content": _ANSWER}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    answer = {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
    client = _openai_client(json.dumps(answer).encode(), "application/json")
    questions = _questions()

    def call() -> Any:
        return client.chat.completions.create(model="gpt-5", messages=[*history, next(questions)], temperature=0.2)

    def call_traced() -> object:
        assert tracer is not None
        with _chat_span(tracer) as span:
            answer = call()
            span.set_attributes(
                {
                    **_CHAT_END,
                    "gen_ai.response.id": answer.id,
                    "gen_ai.usage.input_tokens": answer.usage.prompt_tokens,
                    "gen_ai.usage.output_tokens": answer.usage.completion_tokens,
                }
            )
        return answer

    return call_traced if tracer else call


_HEAD = {"id": "chatcmpl-1", "created": 1_790_000_000, "model": "gpt-5"}
_USAGE = {
    "prompt_tokens": 1200,
    "completion_tokens": 80,
    "total_tokens": 1280,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0},
}


def _stream_body(pieces: int) -> bytes:
    head = {**_HEAD, "object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [{"content": f"{_WORDS[n % len(_WORDS)]} "} for n in range(pieces)]
    chunks: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({**head, "choices": [], "usage": _USAGE})
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def _agent_turn(tracer: Tracer | None, history: list[dict[str, Any]]) -> Unit:
    from langchain.agents import create_agent

    agent: Any = create_agent(_fake_model(), _langchain_tools(), name="coder")
    config = _config(tracer)
    questions = _questions()
    return lambda: agent.invoke({"messages": [*history, next(questions)]}, config)


def _fake_model() -> Any:
    """A chat model that asks for two tools once per turn, and then answers."""
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    usage: Any = {
        "input_tokens": 1200,
        "output_tokens": 80,
        "total_tokens": 1280,
        "input_token_details": {"cache_read": 0},
        "output_token_details": {"reasoning": 0},
    }

    class FakeModel(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "fake"

        def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
            return {"ls_provider": "openai", "ls_model_name": "gpt-5", "ls_model_type": "chat", "ls_temperature": 0.2}

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(
            self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
        ) -> ChatResult:
            calls: Any = [
                {"name": "read_file", "args": {"path": "src/parser.py"}, "id": "call_1"},
                {"name": "write_file", "args": {"path": "src/parser.py", "content": _TOOL_RESULT}, "id": "call_2"},
            ]
            done = isinstance(messages[-1], ToolMessage)
            message = AIMessage(
                content=_ANSWER if done else "The parser drops the last line; I read it first.",
                tool_calls=[] if done else calls,
                usage_metadata=usage,
                response_metadata={
                    "id": "chatcmpl-1",
                    "model_name": "gpt-5",
                    "finish_reason": "stop" if done else "tool_calls",
                },
            )
            return ChatResult(generations=[ChatGeneration(message=message)])

    return FakeModel()


def _langchain_tools() -> list[Any]:
    from langchain_core.tools import tool

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return _TOOL_RESULT

    @tool
    def write_file(path: str, content: str) -> str:
        """Write a file."""
        return f"wrote {len(content)} characters to {path}"

    return [read_file, write_file]


def _config(tracer: Tracer | None) -> Any:
    """LangChain's config; with a tracer, a handler that makes one plain span per agent run, model call and tool call."""
    if tracer is None:
        return None
    start_span = tracer.start_span
    from langchain_core.callbacks.base import BaseCallbackHandler
    from opentelemetry.trace import SpanKind, set_span_in_context

    class PlainSpans(BaseCallbackHandler):
        run_inline = True

        def __init__(self) -> None:
            self.spans: dict[Any, Span] = {}
            self.parents: dict[Any, Any] = {}

        def open(self, run_id: Any, parent_id: Any, name: str, attributes: Any, kind: SpanKind = SpanKind.INTERNAL) -> None:
            parent = self.spans.get(self.parents.get(parent_id, parent_id))
            context = set_span_in_context(parent) if parent is not None else None
            self.spans[run_id] = start_span(name, context=context, kind=kind, attributes=attributes)

        def close(self, run_id: Any, attributes: Any = None) -> None:
            self.parents.pop(run_id, None)
            span = self.spans.pop(run_id, None)
            if span is not None:
                if attributes:
                    span.set_attributes(attributes)
                span.end()

        def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any) -> None:
            if parent_run_id is None:
                attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coder"}
                self.open(run_id, None, "invoke_agent coder", attributes)
            else:
                self.parents[run_id] = self.parents.get(parent_run_id, parent_run_id)

        def on_chain_end(self, outputs: Any, *, run_id: Any, **_: Any) -> None:
            self.close(run_id)

        def on_chat_model_start(
            self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, metadata: Any = None, **_: Any
        ) -> None:
            attributes: dict[str, Any] = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": metadata["ls_provider"],
                "gen_ai.request.model": metadata["ls_model_name"],
                "gen_ai.request.temperature": metadata["ls_temperature"],
                **_agent_name(metadata),
            }
            self.open(run_id, parent_run_id, "chat gpt-5", attributes, SpanKind.CLIENT)

        def on_llm_end(self, response: Any, *, run_id: Any, **_: Any) -> None:
            message = response.generations[0][0].message
            usage = message.usage_metadata
            tokens = {"gen_ai.usage.input_tokens": usage["input_tokens"], "gen_ai.usage.output_tokens": usage["output_tokens"]}
            reasons = (message.response_metadata["finish_reason"],)
            self.close(run_id, {**_CHAT_END, **tokens, "gen_ai.response.finish_reasons": reasons})

        def on_tool_start(
            self, serialized: Any, input_str: str, *, run_id: Any, parent_run_id: Any = None, metadata: Any = None, **_: Any
        ) -> None:
            attributes = {**_tool_start(serialized["name"]), "gen_ai.tool.call.id": "call_1", **_agent_name(metadata)}
            self.open(run_id, parent_run_id, f"execute_tool {serialized['name']}", attributes)

        def on_tool_end(self, output: Any, *, run_id: Any, **_: Any) -> None:
            self.close(run_id)

    return {"callbacks": [PlainSpans()]}


def _agent_name(metadata: Any) -> dict[str, str]:
    name = (metadata or {}).get("lc_agent_name")
    return {"gen_ai.agent.name": name} if name else {}


def set_up(variant: str) -> Tracer | None:
    """Switch the variant on in this process; a tracer when the program itself must make the spans."""
    if variant == "bare":
        return None
    if variant == "turnlog":
        import turnlog

        turnlog.init(directory=os.environ["TURNLOG_DIR"])
        return None
    from peers import PEERS, discarding_provider

    if variant in PEERS:
        PEERS[variant]()
        return None
    provider = discarding_provider()
    if variant in ("hooks", "derived"):
        from turnlog import runtime
        from turnlog.instrument import instrument_all

        if variant == "derived":
            runtime.attach(provider)
        instrument_all()
        return None
    return provider.get_tracer("bench")


def _shape(unit: Unit) -> list[tuple[str, list[str]]]:
    """The spans of one unit, by name and by the attributes that are not turnlog's own."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import SpanProcessor

    seen: list[ReadableSpan] = []

    class Watch(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            seen.append(span)

    provider: Any = trace.get_tracer_provider()
    provider = getattr(provider, "provider", provider)
    if not hasattr(provider, "_active_span_processor"):
        return []
    processors = provider._active_span_processor
    before = processors._span_processors
    provider.add_span_processor(Watch())
    unit()
    processors._span_processors = before
    ours = ("turnlog.", "session.")
    return sorted((span.name, sorted(key for key in span.attributes or {} if not key.startswith(ours))) for span in seen)


def _run(unit: Unit, count: int) -> dict[str, int]:
    gc.collect()
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(count):
        unit()
    return {"cpu_ns": time.process_time_ns() - cpu, "wall_ns": time.perf_counter_ns() - wall}


def _load(unit: Unit) -> dict[str, float]:
    """CPU of loading a megabyte of journal. The background thread waits for more, which costs less per span (ingest.py)."""
    from turnlog.journal.reader import journal_bytes
    from turnlog.settings import read_settings
    from turnlog.store.loader import load, load_once

    settings = read_settings()
    unit()
    load(settings, 30)
    start, units = journal_bytes(settings.journals), 0
    while journal_bytes(settings.journals) - start < 1024 * 1024:
        unit()
        units += 1
    size = journal_bytes(settings.journals) - start
    cpu = time.process_time_ns()
    load_once(settings, 30)
    return {"cpu_us_per_unit": (time.process_time_ns() - cpu) / units / 1e3, "bytes_per_unit": size / units}


def main() -> None:
    program, variant, *count = sys.argv[1:]
    tracer = set_up(variant)
    unit = PROGRAMS[program](tracer)
    if count:
        for _ in range(int(count[0])):
            unit()
        return
    for line in sys.stdin:
        command, number = line.split()
        if command == "run":
            answer: object = _run(unit, int(number))
        else:
            answer = _shape(unit) if command == "shape" else _load(unit)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
