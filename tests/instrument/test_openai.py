"""The real OpenAI SDK against the scripted model: one chat span per call, whatever the call form."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import openai
import pytest
from openai import _base_client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic import BaseModel

from instrument.recorder import Recorder, Seen, identities
from recording import Recording
from turnlog import queries, semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import OpenAIInstrumentor, instrument, stainless, uninstrument, uninstrument_all
from turnlog.operation import error_type

FRAMEWORKS = ("openai",)
ASK: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add 1 and 2."}]
ADD = ToolCall("add", {"a": 1, "b": 2}, "c1")
CALLING = Reply("I will add.", reasoning="It is a sum.", tool_calls=[ADD], cached_tokens=3, reasoning_tokens=2)
TEXT = {"type": "text", "content": "I will add."}
REASONING = {"type": "reasoning", "content": "It is a sum."}
CALL = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}


@pytest.fixture
def client(model: ScriptedModel) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=model.base_url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


@pytest.fixture
async def async_client(model: ScriptedModel) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=model.base_url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


def port(client: Any) -> int:
    return int(client.base_url.port)


def answer(span: Seen) -> Any:
    (message,) = span.content[semconv.GEN_AI_OUTPUT_MESSAGES]
    return message


def test_a_chat_completion_is_one_chat_span_with_standard_attributes(
    instrumented: Recorder, model: Any, client: openai.OpenAI
) -> None:
    model.script[:] = [CALLING]
    client.chat.completions.create(model="m", messages=ASK, temperature=0, max_completion_tokens=50, seed=7)
    (span,) = instrumented.spans
    assert (span.name, span.kind, span.failed, span.parent) == ("chat m", "CLIENT", False, None)
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 50,
        "gen_ai.request.seed": 7,
        "server.address": "127.0.0.1",
        "server.port": port(client),
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.reasoning.output_tokens": 2,
    }
    assert span.content == {
        "gen_ai.input.messages": [
            {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
            {"role": "user", "parts": [{"type": "text", "content": "Add 1 and 2."}]},
        ],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [REASONING, TEXT, CALL], "finish_reason": "tool_calls"}],
    }


def test_two_turns_with_a_tool_call_give_the_model_what_it_was_given(
    instrumented: Recorder, model: Any, client: openai.OpenAI
) -> None:
    model.script[:] = [CALLING, "3", "5"]
    messages = list(ASK)
    reply = client.chat.completions.create(model="m", messages=messages).choices[0].message
    messages += [reply, {"role": "tool", "tool_call_id": "c1", "content": "3"}]
    client.chat.completions.create(model="m", messages=messages)
    messages += [
        {"role": "assistant", "content": "3"},
        {"role": "user", "content": [{"type": "text", "text": "And 5?"}]},
    ]
    client.chat.completions.create(model="m", messages=messages)
    last = instrumented.spans[2].content["gen_ai.input.messages"]
    assert last[2:] == [
        {"role": "assistant", "parts": [TEXT, CALL]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "3"}]},
        {"role": "user", "parts": [{"type": "text", "content": "And 5?"}]},
    ]
    assert instrumented.names == ["chat m"] * 3


def test_a_response_is_a_chat_span_in_the_conversation_that_the_application_named(
    instrumented: Recorder, model: Any, client: openai.OpenAI
) -> None:
    model.script[:] = [CALLING, "3"]
    first = client.responses.create(model="m", input="Add 1 and 2.", instructions="Be brief.", conversation="conv_1")
    given: Any = [*first.output, {"type": "function_call_output", "call_id": "c1", "output": "3"}]
    client.responses.create(model="m", input=given, previous_response_id="resp_1", max_output_tokens=9)
    one, two = instrumented.spans
    assert one.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.conversation.id": "conv_1",
        "server.address": "127.0.0.1",
        "server.port": port(client),
        "gen_ai.response.id": "resp_1",
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ("completed",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.reasoning.output_tokens": 2,
    }
    assert one.content == {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Add 1 and 2."}]}],
        "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [REASONING, TEXT, CALL], "finish_reason": "completed"}],
    }
    assert (two["gen_ai.request.previous_response.id"], two["gen_ai.request.max_tokens"]) == ("resp_1", 9)
    assert two.content["gen_ai.input.messages"] == [
        {"role": "assistant", "parts": [REASONING]},
        {"role": "assistant", "parts": [TEXT]},
        {"role": "assistant", "parts": [CALL]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}]},
    ]


CHAT_FORMS: dict[str, Callable[[openai.OpenAI], Any]] = {
    "create": lambda c: c.chat.completions.create(model="m", messages=ASK),
    "parse": lambda c: c.chat.completions.parse(model="m", messages=ASK),
    "raw": lambda c: c.chat.completions.with_raw_response.create(model="m", messages=ASK).parse(),
    "unparsed raw": lambda c: c.chat.completions.with_raw_response.create(model="m", messages=ASK).text,
    "streamed": lambda c: list(c.chat.completions.create(model="m", messages=ASK, stream=True)),
    "next": lambda c: list(iter(c.chat.completions.create(model="m", messages=ASK, stream=True).__next__, None)),
    "raw streamed": lambda c: list(c.chat.completions.with_raw_response.create(model="m", messages=ASK, stream=True).parse()),
    "responses": lambda c: c.responses.create(model="m", input="x"),
    "raw responses": lambda c: c.responses.with_raw_response.create(model="m", input="x").parse(),
    "streamed responses": lambda c: list(c.responses.create(model="m", input="x", stream=True)),
}


@pytest.mark.parametrize("form", CHAT_FORMS)
def test_every_call_form_is_one_span_with_the_same_answer(
    instrumented: Recorder, model: Any, client: openai.OpenAI, form: str
) -> None:
    model.script[:] = [CALLING]
    try:
        CHAT_FORMS[form](client)
    except StopIteration:
        assert form == "next"
    (span,) = instrumented.spans
    assert answer(span)["parts"] == [REASONING, TEXT, CALL]
    assert (span.name, span[semconv.GEN_AI_RESPONSE_MODEL], span.failed) == ("chat m", "m", False)


def test_streaming_helpers_are_one_span_with_usage(instrumented: Recorder, model: Any, client: openai.OpenAI) -> None:
    model.script[:] = [CALLING, CALLING]
    usage: Any = {"include_usage": True}
    with client.chat.completions.stream(model="m", messages=ASK, stream_options=usage) as stream:
        stream.until_done()
    with client.responses.stream(model="m", input="x") as stream:
        stream.until_done()
    assert [answer(span)["parts"] for span in instrumented.spans] == [[REASONING, TEXT, CALL]] * 2
    assert [span[semconv.GEN_AI_USAGE_OUTPUT_TOKENS] for span in instrumented.spans] == [7, 7]


def test_with_streaming_response_ends_with_its_block(instrumented: Recorder, model: Any, client: openai.OpenAI) -> None:
    model.script[:] = [CALLING, CALLING, CALLING]
    create = client.chat.completions.with_streaming_response.create
    with create(model="parsed", messages=ASK) as response:
        response.parse()
        assert instrumented.names == ["chat parsed"]
    with create(model="read", messages=ASK) as response:
        list(response.iter_lines())
    with create(model="streamed", messages=ASK, stream=True) as response:
        list(response.parse())
    assert instrumented.names == ["chat parsed", "chat read", "chat streamed"]
    assert [answer(span)["parts"] for span in instrumented.spans] == [[REASONING, TEXT, CALL]] * 3


@pytest.mark.parametrize("form", ["read", "json", "text"])
async def test_an_answer_that_is_read_and_never_parsed_is_known(
    instrumented: Recorder, model: Any, client: openai.OpenAI, async_client: openai.AsyncOpenAI, form: str
) -> None:
    model.script[:] = [CALLING, CALLING]
    with client.chat.completions.with_streaming_response.create(model="m", messages=ASK) as response:
        given = getattr(response, form)()
    async with async_client.chat.completions.with_streaming_response.create(model="m", messages=ASK) as later:
        assert type(await getattr(later, form)()) is type(given)
    assert [answer(span)["parts"] for span in instrumented.spans] == [[REASONING, TEXT, CALL]] * 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("form", ["iter_bytes", "iter_text", "iter_lines"])
async def test_an_answer_that_is_taken_in_pieces_is_known(
    instrumented: Recorder, model: Any, client: openai.OpenAI, async_client: openai.AsyncOpenAI, form: str, stream: bool
) -> None:
    model.script[:] = [CALLING, CALLING]
    with client.chat.completions.with_streaming_response.create(model="m", messages=ASK, stream=stream) as response:
        pieces = list(getattr(response, form)())
    async with async_client.chat.completions.with_streaming_response.create(model="m", messages=ASK, stream=stream) as later:
        assert {type(piece) async for piece in getattr(later, form)()} == {type(piece) for piece in pieces}
    assert [answer(span)["parts"] for span in instrumented.spans] == [[REASONING, TEXT, CALL]] * 2


async def test_of_an_answer_that_is_left_half_way_the_events_are_known(
    instrumented: Recorder, model: Any, client: openai.OpenAI, async_client: openai.AsyncOpenAI
) -> None:
    model.script[:] = [Reply("one two three")] * 3
    with client.chat.completions.with_streaming_response.create(model="m", messages=ASK, stream=True) as response:
        for line in response.iter_lines():
            if "two " in line:
                break
    async with async_client.chat.completions.with_streaming_response.create(model="m", messages=ASK, stream=True) as later:
        async for line in later.iter_lines():
            if "two " in line:
                break
    with client.chat.completions.with_streaming_response.create(model="m", messages=ASK) as response:
        assert len(next(response.iter_bytes(16))) == 16
    *halves, unknown = instrumented.spans
    assert [answer(span) for span in halves] == [{"role": "assistant", "parts": [{"type": "text", "content": "one two "}]}] * 2
    assert semconv.GEN_AI_OUTPUT_MESSAGES not in unknown.content
    assert not any(span.failed for span in instrumented.spans)


def test_whoever_takes_pieces_gets_those_of_the_sdk_and_its_errors(
    instrumented: Recorder, model: Any, client: openai.OpenAI
) -> None:
    def take(stream: bool) -> list[Any]:
        taken: list[Any] = []
        with client.chat.completions.with_streaming_response.create(model="m", messages=ASK, stream=stream) as response:
            for _ in range(2):
                try:
                    taken += [len(piece) for piece in response.iter_bytes(50)]
                except Exception as error:
                    taken.append(repr(error))
        return taken

    model.script[:] = [CALLING, Reply("one two three four five", drop=True)] * 2
    seen = [take(stream) for stream in (False, True)]
    dropped = instrumented.spans[1]
    assert (answer(dropped)["parts"], dropped.failed) == ([{"type": "text", "content": "one two "}], True)
    uninstrument_all()
    assert seen == [take(stream) for stream in (False, True)]


def test_a_body_that_is_larger_than_answers_are_is_not_kept(
    instrumented: Recorder, model: Any, client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stainless, "_MOST_BYTES", 100)
    model.script[:] = [CALLING]
    with client.chat.completions.with_streaming_response.create(model="m", messages=ASK) as response:
        assert len(response.read()) > 100
    assert [semconv.GEN_AI_OUTPUT_MESSAGES in span.content for span in instrumented.spans] == [False]


def test_structured_output_that_cannot_be_parsed_raises_as_before(
    instrumented: Recorder, model: Any, client: openai.OpenAI
) -> None:
    class Sum(BaseModel):
        total: int

    model.script[:] = ['{"total": 3}']
    parsed = client.chat.completions.with_raw_response.parse(model="m", messages=ASK, response_format=Sum).parse()
    assert parsed.choices[0].message.parsed == Sum(total=3)
    assert instrumented.names == ["chat m"]


def test_structured_responses_are_read_without_a_warning(instrumented: Recorder, model: Any, client: openai.OpenAI) -> None:
    class Sum(BaseModel):
        total: int

    model.script[:] = ['{"total": 3}']
    parsed = client.responses.parse(model="m", input="x", text_format=Sum)
    assert parsed.output_parsed == Sum(total=3)
    assert answer(instrumented.spans[0])["parts"] == [{"type": "text", "content": '{"total": 3}'}]


def test_breaking_out_of_a_stream_ends_the_span_and_keeps_what_was_read(
    instrumented: Recorder, model: Any, client: openai.OpenAI
) -> None:
    model.script[:] = [Reply("one two three"), Reply("one two three")]
    for chunk in client.chat.completions.create(model="m", messages=ASK, stream=True):
        if chunk.choices[0].delta.content == "two ":
            break
    for event in client.responses.create(model="m", input="x", stream=True):
        if event.type == "response.output_text.delta" and event.delta == "two ":
            break
    assert [answer(span) for span in instrumented.spans] == [
        {"role": "assistant", "parts": [{"type": "text", "content": "one two "}]}
    ] * 2
    assert not any(span.failed for span in instrumented.spans)


def test_closing_a_stream_or_its_helper_ends_the_span(instrumented: Recorder, model: Any, client: openai.OpenAI) -> None:
    model.script[:] = ["one two", "one two", "one two"]
    stream = client.chat.completions.create(model="closed", messages=ASK, stream=True)
    next(stream)
    stream.close()
    assert instrumented.names == ["chat closed"]
    with client.chat.completions.create(model="left", messages=ASK, stream=True) as stream:
        next(stream)
    assert instrumented.names == ["chat closed", "chat left"]
    with client.responses.stream(model="helper", input="x") as helper:
        next(iter(helper))
    assert instrumented.names == ["chat closed", "chat left", "chat helper"]


def test_an_abandoned_stream_ends_when_it_is_collected(instrumented: Recorder, model: Any, client: openai.OpenAI) -> None:
    # Collected at once: a collection in the middle of the next request would wait for the SDK's own connection pool.
    model.script[:] = ["one two", "one two", "last"]
    next(client.chat.completions.create(model="m", messages=ASK, stream=True))
    gc.collect()
    client.chat.completions.create(model="unread", messages=ASK, stream=True)
    gc.collect()
    client.chat.completions.create(model="next", messages=ASK)
    assert instrumented.names == ["chat m", "chat unread", "chat next"]


def test_errors_are_the_sdks_own_and_end_the_span(instrumented: Recorder, model: Any, client: openai.OpenAI) -> None:
    model.script[:] = [Reply("no", status=400), Reply(delay=5), Reply("one two three four", drop=True)]
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="m", messages=ASK)
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.05).chat.completions.create(model="m", messages=ASK)
    # SDKs before 3 let the transport's own error through.
    with pytest.raises(Exception, match=r"Connection error|incomplete chunked read") as broken:
        list(client.chat.completions.create(model="m", messages=ASK, stream=True))
    types = ["openai.BadRequestError", "openai.APITimeoutError", error_type(broken.value)]
    assert [span[semconv.ERROR_TYPE] for span in instrumented.spans] == types
    assert all(span.failed for span in instrumented.spans)
    assert answer(instrumented.spans[2])["parts"] == [{"type": "text", "content": "one two "}]


def test_retries_inside_the_sdk_are_one_call(instrumented: Recorder, model: Any, client: openai.OpenAI) -> None:
    model.script[:] = [Reply(status=500), "fine"]
    client.with_options(max_retries=1).chat.completions.create(model="m", messages=ASK)
    assert instrumented.names == ["chat m"]


def test_embeddings_are_their_own_operation_and_other_calls_none(
    instrumented: Recorder, model: Any, client: openai.OpenAI
) -> None:
    client.embeddings.create(model="e", input=["a", "b"])
    with pytest.raises(openai.NotFoundError):
        client.moderations.create(input="x")
    (span,) = instrumented.spans
    assert (span.name, span.content, span[semconv.GEN_AI_OPERATION_NAME]) == ("embeddings e", {}, "embeddings")
    assert span[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 2


def test_a_compaction_is_a_chat_whose_only_answer_is_the_compaction(
    instrumented: Recorder, model: Any, client: openai.OpenAI
) -> None:
    model.script[:] = ["SEALED"]
    client.responses.compact(model="m", input=[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Ho."}])
    (span,) = instrumented.spans
    assert span.name == "chat m"
    assert (span["gen_ai.conversation.compacted"], span["gen_ai.response.id"], span["gen_ai.usage.input_tokens"]) == (
        True,
        "resp_1",
        11,
    )
    assert [message["role"] for message in span[semconv.GEN_AI_INPUT_MESSAGES]] == ["user", "assistant"]
    assert answer(span) == {"role": "assistant", "parts": [{"type": "compaction", "content": "SEALED"}]}


def test_after_a_compaction_a_conversation_goes_on_without_what_it_replaced(recording: Recording) -> None:
    instrument("openai", tracer_provider=recording.provider)
    calling, settings = Reply("I will add.", tool_calls=[ADD]), recording.settings
    with (
        ScriptedModel([calling, "Three.", "SEALED", "Sure."]) as model,
        openai.OpenAI(base_url=model.base_url, api_key="none") as client,
    ):
        history: list[Any] = [{"role": "user", "content": "Add 1 and 2."}]
        history += [plain(item) for item in client.responses.create(model="m", input=history).output]
        history.append({"type": "function_call_output", "call_id": "c1", "output": "3"})
        history += [plain(item) for item in client.responses.create(model="m", input=history).output]
        # The SDK's own type for messages does not know those of users, which a compaction gives back.
        compacted = client.responses.with_raw_response.compact(model="m", input=history).http_response.json()["output"]
        client.responses.create(model="m", input=[*compacted, {"role": "user", "content": "Sure?"}])
    uninstrument("openai")
    with queries.reading(settings) as db:
        (session,) = queries.sessions(db)
        gone = sorted((row.turn, row.kind, row.summary, row.reason) for row in queries.evictions(db, session.session_id))
        commits = [(row.turn, row.kind, row.tool) for row in reversed(queries.log(db, session.session_id))]
    assert commits == [
        (1, "decision", ""),
        (1, "tool", "add"),
        (1, "decision", ""),
        (1, "decision", ""),
        (2, "eviction", ""),
        (2, "decision", ""),
    ]
    assert gone == [
        (2, "decision", "call add - I will add.", "summarised"),
        (2, "message", "I will add.", "summarised"),
        (2, "message", "Three.", "summarised"),
        (2, "message", "call add", "summarised"),
        (2, "result", "3", "summarised"),
    ]


def test_each_item_of_an_answer_that_is_sent_back_is_told_by_itself(recorded: Recording) -> None:
    calling = Reply("I will add.", tool_calls=[ADD, ToolCall("look", {}, id="c2")])
    with ScriptedModel([calling, "Three."]) as model, openai.OpenAI(base_url=model.base_url, api_key="none") as client:
        history: list[Any] = [{"role": "user", "content": "Add 1 and 2."}]
        history += [plain(item) for item in client.responses.create(model="m", input=history).output]
        history += [{"type": "function_call_output", "call_id": call, "output": "3"} for call in ("c1", "c2")]
        client.responses.create(model="m", input=history)
    with queries.reading(recorded.settings) as db:
        (session,) = queries.sessions(db)
        answer = [row for row in queries.context(db, session.session_id, 1) if row.role == "assistant"]
    assert [row.summary for row in answer] == ["I will add.", "call add", "call look"]
    assert len({row.source_commit for row in answer}) == 1


def plain(item: Any) -> Any:
    return item.model_dump(exclude_none=True)


async def test_async_calls_are_recorded_like_sync_ones(
    instrumented: Recorder, model: Any, async_client: openai.AsyncOpenAI
) -> None:
    model.script[:] = [CALLING] * 6
    chat, responses = async_client.chat.completions, async_client.responses
    await chat.create(model="m", messages=ASK)
    [chunk async for chunk in await chat.create(model="m", messages=ASK, stream=True)]
    (await chat.with_raw_response.create(model="m", messages=ASK)).parse()
    async with chat.with_streaming_response.create(model="m", messages=ASK) as response:
        await response.parse()
    [event async for event in await responses.create(model="m", input="x", stream=True)]
    async with responses.stream(model="m", input="x") as stream:
        await stream.until_done()
    assert [answer(span)["parts"] for span in instrumented.spans] == [[REASONING, TEXT, CALL]] * 6


async def test_leaving_async_streams_early_ends_the_span(
    instrumented: Recorder, model: Any, async_client: openai.AsyncOpenAI
) -> None:
    model.script[:] = ["one two", "one two"]
    async for _ in await async_client.chat.completions.create(model="broken", messages=ASK, stream=True):
        break
    await asyncio.sleep(0.01)
    assert instrumented.names == ["chat broken"]
    async with await async_client.chat.completions.create(model="left", messages=ASK, stream=True) as stream:
        await anext(stream)
    assert instrumented.names == ["chat broken", "chat left"]


async def test_a_cancelled_call_ends_as_cancelled(instrumented: Recorder, model: Any, async_client: openai.AsyncOpenAI) -> None:
    model.script[:] = [Reply(delay=5)]
    task = asyncio.create_task(async_client.chat.completions.create(model="m", messages=ASK))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert instrumented.spans[0][semconv.ERROR_TYPE] == "CancelledError"


async def test_parallel_calls_do_not_mix(
    instrumented: Recorder, model: Any, async_client: openai.AsyncOpenAI, provider: TracerProvider
) -> None:
    model.script[:] = ["x"] * 5
    with provider.get_tracer("app").start_as_current_span("request"):
        calls = [async_client.chat.completions.create(model=str(number), messages=ASK) for number in range(5)]
        await asyncio.gather(*calls)
    assert sorted(instrumented.tree[1:]) == [("request", f"chat {number}") for number in range(5)]


def test_the_host_sees_the_same_types_with_and_without(
    model: Any, client: openai.OpenAI, provider: TracerProvider, complaints: list[str]
) -> None:
    def look() -> list[Any]:
        model.script[:] = [CALLING, CALLING, CALLING, Reply("no", status=400)]
        completion = client.chat.completions.create(model="m", messages=ASK)
        raw = client.chat.completions.with_raw_response.create(model="m", messages=ASK)
        stream = client.chat.completions.create(model="m", messages=ASK, stream=True)
        chunks = list(stream)
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="m", messages=ASK)
        values = [completion, raw, raw.parse(), stream, chunks[0], caught.value]
        return [*map(type, values), completion.choices, len(chunks), str(caught.value), trace.get_current_span()]

    bare = look()
    instrument("openai", tracer_provider=provider)
    hooked = look()
    uninstrument("openai")
    assert hooked == bare == look()
    assert complaints == []


def test_uninstrumenting_restores_the_sdk(provider: TracerProvider) -> None:
    classes = [_base_client.SyncAPIClient, _base_client.AsyncAPIClient]
    before = [identities(each) for each in classes]
    instrument("openai", tracer_provider=provider)
    assert [identities(each) for each in classes] != before
    uninstrument("openai")
    assert [identities(each) for each in classes] == before


def test_the_entry_point_names_the_tested_range() -> None:
    assert OpenAIInstrumentor().instrumentation_dependencies() == ["openai >= 2.26, < 4"]
