"""One scripted agent in two turns, on LangChain or on a bare SDK, recorded by turnlog or by others.

`python agent.py LIBRARY PEERS FOLDER` prints the finished spans as JSON. PEERS is `turnlog`, or modules with an instrumentor,
joined by `+`. A process of its own for each, because not every instrumentation can be taken out again. Of turnlog it needs no
more than two modules, so that peers which pin older SDKs can be recorded too.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.otlp.sdk import from_sdk

SESSION = "notes-1"
TURNS = ("Note that the tests pass.", "Publish the note.")
NOTE = {"path": "notes/today.md", "content": "# Today\n\nThe tests pass.\n"}
SCRIPT = (
    Reply("I write it down.", tool_calls=[ToolCall("write_file", NOTE, id="call_1")], input_tokens=31, cached_tokens=16),
    Reply("Noted.", input_tokens=52, output_tokens=3),
    Reply("I publish it.", tool_calls=[ToolCall("publish", {"path": "notes/today.md"}, id="call_2")], input_tokens=70),
    Reply("It could not be published.", input_tokens=90, reasoning_tokens=4),
)

Json = dict[str, Any]


def write_file(path: str, content: str) -> str:
    """Write a file."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content)
    return f"wrote {len(content)} characters"


def publish(path: str) -> str:
    """Publish a file."""
    raise ConnectionError(f"no route to the host for {path}")


def langchain(model: ScriptedModel) -> None:
    from langchain.agents import create_agent
    from langchain.agents.middleware import wrap_tool_call
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    @wrap_tool_call
    def tell_the_model(request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except ConnectionError as error:
            return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")

    agent = create_agent(
        ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none", max_retries=0),
        [tool(write_file), tool(publish)],
        system_prompt="You keep notes.",
        middleware=[tell_the_model],
        checkpointer=InMemorySaver(),
        name="notes",
    )
    for text in TURNS:
        agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": SESSION}})


def openai(model: ScriptedModel) -> None:
    """A loop by hand, whose tools no instrumentation sees."""
    from openai import OpenAI

    messages: list[Json] = [{"role": "system", "content": "You keep notes."}]
    with OpenAI(base_url=model.base_url, api_key="none", max_retries=0) as client:
        for text in TURNS:
            messages.append({"role": "user", "content": text})
            while (answer := client.chat.completions.create(model="scripted", messages=messages).choices[0].message).tool_calls:
                messages.append(answer.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
                for call in answer.tool_calls:
                    messages.append(
                        {
                            "role": "tool",
                            "tool_call_id": call.id,
                            "content": _called(call.function.name, json.loads(call.function.arguments)),
                        }
                    )
            messages.append({"role": "assistant", "content": answer.content})


def anthropic(model: ScriptedModel) -> None:
    """The same loop, whose results are blocks."""
    from anthropic import Anthropic

    messages: list[Json] = []
    given: Json = {"model": "scripted", "max_tokens": 99, "system": "You keep notes."}
    with Anthropic(base_url=model.url, api_key="none", max_retries=0, **_quiet()) as client:
        for text in TURNS:
            messages.append({"role": "user", "content": text})
            while (answer := client.messages.create(messages=messages, **given)).stop_reason == "tool_use":
                messages.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
                calls = [block for block in answer.content if block.type == "tool_use"]
                results = [{"tool_use_id": call.id, "content": _called(call.name, call.input)} for call in calls]
                messages.append({"role": "user", "content": [{"type": "tool_result", **result} for result in results]})
            messages.append({"role": "assistant", "content": answer.content[0].text})


def _quiet() -> Json:
    """Newer SDKs make spans by themselves."""
    import inspect

    from anthropic import Anthropic

    return {"open_telemetry": False} if "open_telemetry" in inspect.signature(Anthropic).parameters else {}


def _called(name: str, arguments: Json) -> str:
    try:
        return {"write_file": write_file, "publish": publish}[name](**arguments)
    except ConnectionError as error:
        return f"{type(error).__name__}: {error}"


def activate(peer: str, provider: TracerProvider) -> None:
    module = importlib.import_module(peer)
    library = peer.rpartition(".")[2].removesuffix("_v2")
    (name,) = [name for name in vars(module) if name.lower() == f"{library}instrumentor"]
    getattr(module, name)().instrument(tracer_provider=provider, skip_dep_check=True)


def main(library: str, peers: str, folder: str) -> None:
    os.chdir(folder)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    if peers == "turnlog":
        importlib.import_module("turnlog.runtime").init()
    else:
        for peer in peers.split("+"):
            activate(peer, provider)
    with ScriptedModel(SCRIPT) as model:
        {"anthropic": anthropic, "langchain": langchain, "openai": openai}[library](model)
    if peers == "turnlog":
        importlib.import_module("turnlog.runtime").shutdown()
    print(json.dumps([dataclasses.asdict(from_sdk(span)) for span in exporter.get_finished_spans()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
