"""Conversations through the OpenAI SDK, the Anthropic SDK or LangChain, beside other instrumentations of the same library.

`python beside.py LIBRARY ORDER [FAMILY ...]` prints what was recorded of each form of a call, as JSON. A process of its own
for each, because not every instrumentation can be taken out again.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import anthropic
import openai
from opentelemetry.sdk.trace import ReadableSpan

from recording import Recording
from turnlog import semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.identity import session
from turnlog.instrument import instrument
from turnlog.settings import Settings

FAMILIES = {
    "openinference": "openinference.instrumentation",
    "traceloop": "opentelemetry.instrumentation",
    "otel": "opentelemetry.instrumentation.genai",
}
STATE = (
    semconv.COMMIT_KIND,
    semconv.COMMIT_OUTCOME,
    semconv.COMMIT_INPUT_HASH,
    semconv.COMMIT_INPUT_SUMMARY,
    semconv.COMMIT_OUTPUT_HASH,
    semconv.COMMIT_OUTPUT_SUMMARY,
    semconv.CONTEXT_HASH,
    semconv.CONTEXT_MESSAGE_COUNT,
    semconv.CONTEXT_EVICTION_REASON,
    semconv.DECISION_CHOICE,
    semconv.DECISION_REASON_TEXT,
    semconv.GEN_AI_TOOL_NAME,
    semconv.GEN_AI_TOOL_CALL_ID,
    semconv.GEN_AI_REQUEST_MODEL,
    semconv.GEN_AI_RESPONSE_ID,
)

Json = dict[str, Any]
Form = Callable[[Any, Json], Any]


def instrumentor(family: str, library: str) -> Any:
    module = importlib.import_module(f"{FAMILIES[family]}.{library}")
    (name,) = [name for name in vars(module) if name.lower() == f"{library}instrumentor"]
    return getattr(module, name)()


def answer(body: Json) -> Reply:
    """The model wants to add what the user says, until it has the sum."""
    last = body["messages"][-1]
    content = last["content"]
    if content == "fail":
        return Reply(status=400)
    asks = last["role"] == "user" and (isinstance(content, str) or content[0]["type"] == "text")
    call = ToolCall("break" if content == "break" else "add", {"a": 1, "b": 2}, id="c1")
    return Reply("I add.", tool_calls=[call]) if asks else Reply("It is three.")


def leave(stream: Any) -> None:
    for _ in stream:
        break


def within(manager: Any, use: Callable[[Any], Any] = list) -> None:
    with manager as entered:
        use(entered)


async def consume(stream: Any) -> None:
    async for _ in await stream:
        pass


def fail(call: Callable[..., Any], given: Json) -> None:
    with suppress(openai.BadRequestError, anthropic.BadRequestError):
        call(**{**given, "messages": [{"role": "user", "content": "fail"}]})


OPENAI: dict[str, Form] = {
    "whole": lambda client, given: client.chat.completions.create(**given),
    "streamed": lambda client, given: list(client.chat.completions.create(**given, stream=True)),
    "left early": lambda client, given: leave(client.chat.completions.create(**given, stream=True)),
    "closed": lambda client, given: client.chat.completions.create(**given, stream=True).close(),
    "failed": lambda client, given: fail(client.chat.completions.create, given),
    "raw": lambda client, given: client.chat.completions.with_raw_response.create(**given).parse(),
    "raw streamed": lambda client, given: list(client.chat.completions.with_raw_response.create(**given, stream=True).parse()),
    "streaming response": lambda client, given: within(
        client.chat.completions.with_streaming_response.create(**given), lambda response: response.parse()
    ),
    "helper": lambda client, given: within(client.chat.completions.stream(**given)),
    "async": lambda client, given: client.chat.completions.create(**given),
    "async streamed": lambda client, given: consume(client.chat.completions.create(**given, stream=True)),
}
ANTHROPIC: dict[str, Form] = {
    "whole": lambda client, given: client.messages.create(**given),
    "streamed": lambda client, given: list(client.messages.create(**given, stream=True)),
    "left early": lambda client, given: leave(client.messages.create(**given, stream=True)),
    "closed": lambda client, given: client.messages.create(**given, stream=True).close(),
    "failed": lambda client, given: fail(client.messages.create, given),
    "raw": lambda client, given: client.messages.with_raw_response.create(**given).parse(),
    "helper": lambda client, given: within(client.messages.stream(**given)),
    "async": lambda client, given: client.messages.create(**given),
    "async streamed": lambda client, given: consume(client.messages.create(**given, stream=True)),
}


async def run_async(kind: type, options: Json, form: Form, given: Json) -> None:
    async with kind(**options) as client:
        await form(client, given)


def talk(library: str, form: str, model: ScriptedModel, telemetry: Any) -> None:
    """A question, the model's wish, its tool's result, and a next question from which the first has been dropped."""
    question: Json = {"role": "user", "content": "What is 1 + 2?"}
    options: Json = {"api_key": "none", "max_retries": 0}
    if library == "openai":
        call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
        wish: Json = {"role": "assistant", "content": "I add.", "tool_calls": [call]}
        result: Json = {"role": "tool", "tool_call_id": "c1", "content": "3"}
        given: Json = {"model": "m"}
        options["base_url"] = model.base_url
    else:
        use = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1, "b": 2}}
        wish = {"role": "assistant", "content": [{"type": "text", "text": "I add."}, use]}
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]}
        given = {"model": "m", "max_tokens": 50}
        options |= {"base_url": model.url, "open_telemetry": telemetry}
    said = {"role": "assistant", "content": "It is three."}
    summary = [{"role": "user", "content": "[summary]"}, said, {"role": "user", "content": "And 2 + 2?"}]
    forms = OPENAI if library == "openai" else ANTHROPIC
    kinds: Sequence[Any] = (openai.OpenAI, openai.AsyncOpenAI)
    if library == "anthropic":
        kinds = (anthropic.Anthropic, anthropic.AsyncAnthropic)
    for messages in ([question], [question, wish, result], summary):
        if form.startswith("async"):
            asyncio.run(run_async(kinds[1], options, forms[form], {**given, "messages": messages}))
        else:
            with kinds[0](**options) as client:
                forms[form](client, {**given, "messages": messages})
        # Spans of streams that are left end in the order of their calls.
        gc.collect()


def agent(model: ScriptedModel) -> Any:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @tool("break")
    def broken(a: int, b: int) -> int:
        """Break."""
        raise ValueError("kaput")

    return create_agent(ChatOpenAI(model="m", base_url=model.base_url, api_key="none", max_retries=0), [add, broken])


async def _consume_agent(agent: Any, given: Json, early: bool) -> None:
    async with aclosing(agent.astream(given, stream_mode="messages")) as stream:
        async for _ in stream:
            if early:
                break


def _break(agent: Any, given: Json) -> None:
    with suppress(ValueError):
        agent.invoke({"messages": [("user", "break")]})


LANGCHAIN: dict[str, Form] = {
    "invoked": lambda agent, given: agent.invoke(given),
    "streamed": lambda agent, given: list(agent.stream(given)),
    "a failing tool": _break,
    "async": lambda agent, given: asyncio.run(agent.ainvoke(given)),
    "async streamed": lambda agent, given: asyncio.run(_consume_agent(agent, given, False)),
    "async left early": lambda agent, given: asyncio.run(_consume_agent(agent, given, True)),
}
FORMS: dict[str, dict[str, Form]] = {"openai": OPENAI, "anthropic": ANTHROPIC, "native": ANTHROPIC, "langchain": LANGCHAIN}


def seen(spans: Sequence[ReadableSpan], form: str) -> Json:
    """What was recorded of a form: commits in order, turns as numbers; the scope of each commit's span; all others' scopes."""
    here = [span for span in spans if (span.attributes or {}).get(semconv.SESSION_ID) == form]
    commits = [span for span in here if semconv.COMMIT_KIND in (span.attributes or {})]
    turns: Json = {}
    state, scopes = [], []
    for span in sorted(commits, key=lambda span: (span.attributes[semconv.TURN_ID], span.attributes[semconv.COMMIT_SEQUENCE])):
        found = span.attributes
        turn = turns.setdefault(found[semconv.TURN_ID], len(turns))
        state.append({"turn": turn, **{key: found[key] for key in STATE if key in found}})
        scopes.append(span.instrumentation_scope.name)
    others = sorted(span.instrumentation_scope.name for span in here if span not in commits)
    # Traceloop has a span for the making of an agent, which is in no turn.
    in_turn = all(semconv.TURN_ID in span.attributes for span in here if not span.name.startswith("create_agent"))
    return {"state": state, "scopes": scopes, "others": others, "in turn": in_turn}


def main(library: str, order: str, *families: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(Settings(directory=Path(folder)))
        sdk = library.replace("native", "anthropic")
        ours = ("openai", "langchain", "langgraph") if sdk == "langchain" else (sdk,)
        if order == "turnlog first":
            instrument(*ours, tracer_provider=recording.provider)
        for family in families:
            instrumentor(family, sdk).instrument(tracer_provider=recording.provider, skip_dep_check=True)
        if order == "peer first":
            instrument(*ours, tracer_provider=recording.provider)
        telemetry = {"tracer_provider": recording.provider} if library == "native" else False
        for form in FORMS[library]:
            # One for each form: its answers are numbered.
            with ScriptedModel(answer) as model, session(form):
                if library == "langchain":
                    LANGCHAIN[form](agent(model), {"messages": [("user", "What is 1 + 2?")]})
                else:
                    talk(sdk, form, model, telemetry)
                gc.collect()
        spans = sorted(recording.spans, key=lambda span: span.start_time or 0)
        found: Json = {form: seen(spans, form) for form in FORMS[library]}
        found["elsewhere"] = [
            span.name for span in spans if (span.attributes or {}).get(semconv.SESSION_ID) not in FORMS[library]
        ]
        found["troubles"] = dict(recording.processor.troubles)
        print(json.dumps(found))
        recording.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
