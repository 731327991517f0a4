"""The real Anthropic SDK against the scripted model: one chat span per call, the SDK's own or turnlog's."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anthropic
import pytest
from anthropic import _base_client
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

from instrument.recorder import Recorder, Seen, identities
from turnlog import semconv
from turnlog.demo.scripted_model import Reply, ToolCall
from turnlog.instrument import AnthropicInstrumentor, instrument, stainless, status, uninstrument, uninstrument_all
from turnlog.instrument.anthropic_messages import message

FRAMEWORKS = ("anthropic",)
ASK: Any = [{"role": "user", "content": "Add 1 and 2."}]
GIVEN: Any = {"model": "m", "max_tokens": 50, "messages": ASK}
ADD = ToolCall("add", {"a": 1, "b": 2}, "c1")
CALLING = Reply(
    "I will add.", reasoning="It is a sum.", tool_calls=[ADD], cached_tokens=3, cache_write_tokens=2, reasoning_tokens=2
)
TEXT = {"type": "text", "content": "I will add."}
REASONING = {"type": "reasoning", "content": "It is a sum."}
CALL = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}

HAS_SPANS = hasattr(_base_client, "start_api_call_span")
needs_spans = pytest.mark.skipif(not HAS_SPANS, reason="the SDK makes spans since 1.14")


class Sum(BaseModel):
    total: int


@pytest.fixture(params=["turnlog's", pytest.param("the SDK's", marks=needs_spans)])
def spans_of(request: pytest.FixtureRequest) -> str:
    """Whose span a call has."""
    return str(request.param)


@pytest.fixture
def options(model: Any, provider: TracerProvider, spans_of: str) -> dict[str, Any]:
    given: dict[str, Any] = {"base_url": model.url, "api_key": "none", "max_retries": 0, "timeout": 5}
    if HAS_SPANS:
        given["open_telemetry"] = {"tracer_provider": provider} if spans_of == "the SDK's" else False
    return given


@pytest.fixture
def client(options: dict[str, Any]) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(**options) as client:
        yield client


@pytest.fixture
async def async_client(options: dict[str, Any]) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(**options) as client:
        yield client


def chats(recorder: Recorder) -> list[Seen]:
    return [span for span in recorder.spans if span.attributes.get(semconv.GEN_AI_OPERATION_NAME) == "chat"]


def models(recorder: Recorder) -> list[str]:
    return [span[semconv.GEN_AI_REQUEST_MODEL] for span in recorder.spans]


def answer(span: Seen) -> Any:
    (message,) = span.content[semconv.GEN_AI_OUTPUT_MESSAGES]
    return message


def test_a_message_is_one_chat_span_with_standard_attributes(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic, spans_of: str
) -> None:
    model.script[:] = [CALLING]
    client.messages.create(**GIVEN, system="Be brief.", extra_body={"temperature": 0, "top_p": 0.5})
    (span,) = instrumented.spans
    name = "chat m" if spans_of == "turnlog's" else "anthropic.messages.create"
    assert (span.name, span.kind, span.failed, span.parent) == (name, "CLIENT", False, None)
    standard = {key: value for key, value in span.attributes.items() if key.startswith(("gen_ai.", "server."))}
    assert standard == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 50,
        **({"gen_ai.request.temperature": 0.0, "gen_ai.request.top_p": 0.5} if HAS_SPANS else {}),
        "server.address": "127.0.0.1",
        "server.port": client.base_url.port,
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ("tool_use",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.cache_write.input_tokens": 2,
        "gen_ai.usage.reasoning.output_tokens": 2,
    }
    assert spans_of == "the SDK's" or standard == span.attributes
    assert span.content == {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Add 1 and 2."}]}],
        "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [REASONING, TEXT, CALL], "finish_reason": "tool_use"}],
    }


def test_two_turns_with_a_tool_call_give_the_model_what_it_was_given(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic
) -> None:
    model.script[:] = [CALLING, "3", "5"]
    messages = list(ASK)
    reply = client.messages.create(model="m", max_tokens=50, messages=messages)
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3"}]}
    messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
    client.messages.create(model="m", max_tokens=50, messages=messages)
    failed = {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}
    messages[-1] = {"role": "user", "content": [failed, {"type": "text", "text": "Never mind."}]}
    cached = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    client.messages.create(model="m", max_tokens=50, messages=messages, system=[cached])
    response = {"type": "tool_call_response", "id": "c1"}
    second, third = (span.content["gen_ai.input.messages"] for span in instrumented.spans[1:])
    assert second[1:] == [
        {"role": "assistant", "parts": [REASONING, TEXT, CALL]},
        {"role": "tool", "parts": [{**response, "response": "3"}]},
    ]
    assert third[2:] == [
        {
            "role": "user",
            "parts": [{**response, "response": "no", "is_error": True}, {"type": "text", "content": "Never mind."}],
        }
    ]
    assert instrumented.spans[2].content["gen_ai.system_instructions"] == [{"type": "text", "content": "Be brief."}]
    assert len(instrumented.spans) == 3


FORMS: dict[str, Callable[[anthropic.Anthropic], Any]] = {
    "create": lambda c: c.messages.create(**GIVEN),
    "raw": lambda c: c.messages.with_raw_response.create(**GIVEN).parse(),
    "unparsed raw": lambda c: c.messages.with_raw_response.create(**GIVEN),
    "streamed": lambda c: list(c.messages.create(**GIVEN, stream=True)),
    "next": lambda c: list(iter(c.messages.create(**GIVEN, stream=True).__next__, None)),
    "raw streamed": lambda c: list(c.messages.with_raw_response.create(**GIVEN, stream=True).parse()),
    "beta": lambda c: c.beta.messages.create(**GIVEN),
    "beta streamed": lambda c: list(c.beta.messages.create(**GIVEN, stream=True)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_call_form_is_one_span_with_the_same_answer(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic, form: str
) -> None:
    model.script[:] = [CALLING]
    try:
        FORMS[form](client)
    except StopIteration:
        assert form == "next"
    (span,) = instrumented.spans
    assert answer(span) == {"role": "assistant", "parts": [REASONING, TEXT, CALL], "finish_reason": "tool_use"}
    assert (span[semconv.GEN_AI_RESPONSE_MODEL], span[semconv.GEN_AI_USAGE_OUTPUT_TOKENS], span.failed) == ("m", 7, False)


def test_streaming_helpers_are_one_span(instrumented: Recorder, model: Any, client: anthropic.Anthropic) -> None:
    model.script[:] = [CALLING] * 3
    with client.messages.stream(**GIVEN) as stream:
        assert "".join(stream.text_stream) == "I will add."
    with client.messages.stream(**GIVEN) as stream:
        stream.get_final_message()
    with client.beta.messages.stream(**GIVEN) as stream:
        stream.until_done()
    assert [answer(span)["parts"] for span in instrumented.spans] == [[REASONING, TEXT, CALL]] * 3


def test_parsed_output_is_one_span_and_its_failure_the_sdks(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic
) -> None:
    model.script[:] = ['{"total": 3}', '{"total": "x"}']
    assert client.messages.parse(**GIVEN, output_format=Sum).parsed_output == Sum(total=3)
    with pytest.raises(ValueError, match="total"):
        client.messages.parse(**GIVEN, output_format=Sum)
    parsed, failed = instrumented.spans
    assert answer(parsed)["parts"] == [{"type": "text", "content": '{"total": 3}'}]
    assert failed.failed


def test_with_streaming_response_ends_with_its_block(instrumented: Recorder, model: Any, client: anthropic.Anthropic) -> None:
    model.script[:] = [CALLING] * 3
    create = client.messages.with_streaming_response.create
    with create(**{**GIVEN, "model": "parsed"}) as response:
        response.parse()
        assert models(instrumented) == ["parsed"]
    with create(**{**GIVEN, "model": "read"}) as response:
        list(response.iter_lines())
    with create(**{**GIVEN, "model": "streamed"}, stream=True) as response:
        list(response.parse())
    assert models(instrumented) == ["parsed", "read", "streamed"]
    assert [answer(span)["parts"] for span in instrumented.spans] == [[REASONING, TEXT, CALL]] * 3


@pytest.mark.parametrize("form", ["read", "json", "text"])
async def test_an_answer_that_is_read_and_never_parsed_is_known(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic, async_client: anthropic.AsyncAnthropic, form: str
) -> None:
    model.script[:] = [CALLING, CALLING]
    with client.messages.with_streaming_response.create(**GIVEN) as response:
        given = getattr(response, form)()
    async with async_client.messages.with_streaming_response.create(**GIVEN) as later:
        assert type(await getattr(later, form)()) is type(given)
    assert [answer(span)["parts"] for span in chats(instrumented)] == [[REASONING, TEXT, CALL]] * 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("form", ["iter_bytes", "iter_text", "iter_lines"])
async def test_an_answer_that_is_taken_in_pieces_is_known(
    instrumented: Recorder,
    model: Any,
    client: anthropic.Anthropic,
    async_client: anthropic.AsyncAnthropic,
    form: str,
    stream: bool,
) -> None:
    model.script[:] = [CALLING, CALLING]
    with client.messages.with_streaming_response.create(**GIVEN, stream=stream) as response:
        pieces = list(getattr(response, form)())
    async with async_client.messages.with_streaming_response.create(**GIVEN, stream=stream) as later:
        assert {type(piece) async for piece in getattr(later, form)()} == {type(piece) for piece in pieces}
    assert [answer(span)["parts"] for span in chats(instrumented)] == [[REASONING, TEXT, CALL]] * 2


async def test_of_an_answer_that_is_left_half_way_the_events_are_known(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic, async_client: anthropic.AsyncAnthropic
) -> None:
    model.script[:] = [Reply("one two three")] * 3
    with client.messages.with_streaming_response.create(**GIVEN, stream=True) as response:
        for line in response.iter_lines():
            if "two " in line:
                break
    async with async_client.messages.with_streaming_response.create(**GIVEN, stream=True) as later:
        async for line in later.iter_lines():
            if "two " in line:
                break
    with client.messages.with_streaming_response.create(**GIVEN) as response:
        assert len(next(response.iter_bytes(16))) == 16
    *halves, unknown = chats(instrumented)
    assert [answer(span) for span in halves] == [{"role": "assistant", "parts": [{"type": "text", "content": "one two "}]}] * 2
    assert semconv.GEN_AI_OUTPUT_MESSAGES not in unknown.content
    assert not any(span.failed for span in chats(instrumented))


def test_whoever_takes_pieces_gets_those_of_the_sdk_and_its_errors(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic
) -> None:
    def take(stream: bool) -> list[Any]:
        taken: list[Any] = []
        with client.messages.with_streaming_response.create(**GIVEN, stream=stream) as response:
            for _ in range(2):
                try:
                    taken += [len(piece) for piece in response.iter_bytes(50)]
                except Exception as error:
                    taken.append(repr(error))
        return taken

    model.script[:] = [CALLING, Reply("one two three four five", drop=True)] * 2
    seen = [take(stream) for stream in (False, True)]
    dropped = chats(instrumented)[1]
    assert (answer(dropped)["parts"], dropped.failed) == ([{"type": "text", "content": "one "}], True)
    uninstrument_all()
    assert seen == [take(stream) for stream in (False, True)]


def test_a_body_that_is_larger_than_answers_are_is_not_kept(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stainless, "_MOST_BYTES", 100)
    model.script[:] = [CALLING]
    with client.messages.with_streaming_response.create(**GIVEN) as response:
        assert len(response.read()) > 100
    assert [semconv.GEN_AI_OUTPUT_MESSAGES in span.content for span in chats(instrumented)] == [False]


def test_breaking_out_of_a_stream_ends_the_span_and_keeps_what_was_read(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic
) -> None:
    model.script[:] = [Reply("one two three"), Reply(tool_calls=[ToolCall("add", {"a": "x", "b": "y z"}, "c1")])]
    for event in client.messages.create(**GIVEN, stream=True):
        if event.type == "content_block_delta" and event.delta.text == "two ":
            break
    for event in client.messages.create(**GIVEN, stream=True):
        if event.type == "content_block_delta" and event.delta.partial_json == '"b": ':
            break
    texts, calls = (answer(span) for span in instrumented.spans)
    assert texts == {"role": "assistant", "parts": [{"type": "text", "content": "one two "}]}
    assert calls == {"role": "assistant", "parts": [{**CALL, "arguments": '{"a": "x", "b": '}]}
    assert [span.failed for span in instrumented.spans] == [False, False]
    # The stream begins with a placeholder for these.
    assert not any(semconv.GEN_AI_USAGE_OUTPUT_TOKENS in span.attributes for span in instrumented.spans)


def test_closing_a_stream_or_its_helper_ends_the_span(instrumented: Recorder, model: Any, client: anthropic.Anthropic) -> None:
    model.script[:] = ["one two"] * 3
    stream = client.messages.create(**{**GIVEN, "model": "closed"}, stream=True)
    next(stream)
    stream.close()
    assert models(instrumented) == ["closed"]
    with client.messages.create(**{**GIVEN, "model": "left"}, stream=True) as stream:
        next(stream)
    assert models(instrumented) == ["closed", "left"]
    with client.messages.stream(**{**GIVEN, "model": "helper"}) as helper:
        next(iter(helper))
    assert models(instrumented) == ["closed", "left", "helper"]


def test_an_abandoned_stream_ends_when_it_is_collected(instrumented: Recorder, model: Any, client: anthropic.Anthropic) -> None:
    # Collected at once: a collection in the middle of the next request would wait for the SDK's own connection pool.
    model.script[:] = ["one two", "one two", "last"]
    next(client.messages.create(**GIVEN, stream=True))
    gc.collect()
    client.messages.create(**{**GIVEN, "model": "unread"}, stream=True)
    gc.collect()
    client.messages.create(**{**GIVEN, "model": "next"})
    assert models(instrumented) == ["m", "unread", "next"]


@needs_spans
def test_a_dropped_stream_is_over_at_once_for_the_sdk(model: Any, provider: TracerProvider, instrumented: Recorder) -> None:
    model.script[:] = ["one two", "one two"]
    telemetry: Any = {"tracer_provider": provider}
    with anthropic.Anthropic(base_url=model.url, api_key="none", open_telemetry=telemetry) as client:
        gc.disable()
        try:
            client.messages.create(**{**GIVEN, "model": "unread"}, stream=True)
            next(client.messages.create(**{**GIVEN, "model": "read"}, stream=True))
            assert models(instrumented) == ["unread", "read"]
        finally:
            gc.enable()


def test_errors_are_the_sdks_own_and_end_the_span(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic, spans_of: str
) -> None:
    model.script[:] = [Reply("no", status=400), Reply(delay=5), Reply("one two three four five", drop=True)]
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(**GIVEN)
    with pytest.raises(anthropic.APITimeoutError):
        client.with_options(timeout=0.05).messages.create(**GIVEN)
    with pytest.raises(Exception, match="incomplete chunked read"):
        list(client.messages.create(**GIVEN, stream=True))
    errors = [span[semconv.ERROR_TYPE] for span in instrumented.spans]
    if spans_of == "turnlog's":
        assert errors[:2] == ["anthropic.BadRequestError", "anthropic.APITimeoutError"]
        assert errors[2].endswith("RemoteProtocolError")
    else:
        assert errors == ["invalid_request_error", "client_timeout_error", "connection_error"]
    assert all(span.failed for span in instrumented.spans)
    assert "'message': 'no'" in instrumented.spans[0][semconv.EXCEPTION_MESSAGE]
    assert answer(instrumented.spans[2])["parts"] == [{"type": "text", "content": "one two "}]


def test_retries_inside_the_sdk_are_one_call(instrumented: Recorder, model: Any, client: anthropic.Anthropic) -> None:
    model.script[:] = [Reply(status=529), "fine"]
    client.with_options(max_retries=1).messages.create(**GIVEN)
    assert [answer(span)["parts"] for span in instrumented.spans] == [[{"type": "text", "content": "fine"}]]


def test_counting_tokens_is_no_model_call(instrumented: Recorder, model: Any, client: anthropic.Anthropic) -> None:
    assert client.messages.count_tokens(model="m", messages=ASK).input_tokens == 1
    assert chats(instrumented) == []


def test_a_request_without_an_sdk_method_is_recorded_too(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic
) -> None:
    model.script[:] = [CALLING]
    client.post("/v1/messages", body=GIVEN, cast_to=anthropic.types.Message)
    (span,) = instrumented.spans
    assert (span.name, answer(span)["parts"]) == ("chat m", [REASONING, TEXT, CALL])


async def test_async_calls_are_recorded_like_sync_ones(
    instrumented: Recorder, model: Any, async_client: anthropic.AsyncAnthropic
) -> None:
    model.script[:] = [CALLING] * 7
    messages = async_client.messages
    await messages.create(**GIVEN)
    [event async for event in await messages.create(**GIVEN, stream=True)]
    await (await messages.with_raw_response.create(**GIVEN)).parse() if HAS_SPANS else await messages.create(**GIVEN)
    await messages.with_raw_response.create(**GIVEN)
    async with messages.with_streaming_response.create(**GIVEN) as response:
        await response.parse()
    async with messages.stream(**GIVEN) as stream:
        await stream.until_done()
    async with async_client.beta.messages.stream(**GIVEN) as stream:
        [text async for text in stream.text_stream]
    assert [answer(span)["parts"] for span in instrumented.spans] == [[REASONING, TEXT, CALL]] * 7


async def test_leaving_async_streams_early_ends_the_span(
    instrumented: Recorder, model: Any, async_client: anthropic.AsyncAnthropic
) -> None:
    model.script[:] = ["one two", "one two"]
    async for _ in await async_client.messages.create(**{**GIVEN, "model": "broken"}, stream=True):
        break
    await asyncio.sleep(0.01)
    assert models(instrumented) == ["broken"]
    async with async_client.messages.stream(**{**GIVEN, "model": "left"}) as stream:
        await anext(stream)
    assert models(instrumented) == ["broken", "left"]


async def test_a_cancelled_call_ends_as_cancelled(
    instrumented: Recorder, model: Any, async_client: anthropic.AsyncAnthropic
) -> None:
    model.script[:] = [Reply(delay=5)]
    task = asyncio.create_task(async_client.messages.create(**GIVEN))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert instrumented.spans[0][semconv.ERROR_TYPE] == "CancelledError"


async def test_parallel_calls_do_not_mix(
    instrumented: Recorder, model: Any, async_client: anthropic.AsyncAnthropic, provider: TracerProvider
) -> None:
    model.script[:] = ["x"] * 5
    with provider.get_tracer("app").start_as_current_span("request"):
        asks = [[{"role": "user", "content": str(number)}] for number in range(5)]
        await asyncio.gather(*(async_client.messages.create(model="m", max_tokens=5, messages=ask) for ask in asks))
    assert sorted(span[semconv.GEN_AI_INPUT_MESSAGES][0]["parts"][0]["content"] for span in chats(instrumented)) == [*"01234"]
    assert {span.parent for span in chats(instrumented)} == {"request"}


def test_messages_that_come_from_a_generator_still_reach_the_model(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic
) -> None:
    model.script[:] = ["x"]
    client.messages.create(model="m", max_tokens=5, messages=(message for message in ASK))
    assert model.requests[0].body["messages"] == ASK
    assert len(instrumented.spans) == 1


def test_what_the_application_changes_during_a_stream_is_not_what_was_sent(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic
) -> None:
    model.script[:] = ["x"]
    messages = [dict(ASK[0])]
    with client.messages.stream(model="m", max_tokens=5, messages=messages) as stream:
        messages[0]["content"] = "changed"
        messages.append({"role": "user", "content": "more"})
        stream.until_done()
    (span,) = instrumented.spans
    assert span[semconv.GEN_AI_INPUT_MESSAGES] == [{"role": "user", "parts": [{"type": "text", "content": "Add 1 and 2."}]}]


BLOCKS = {
    "text": {"type": "text", "text": "a", "citations": None},
    "thinking": {"type": "thinking", "thinking": "a", "signature": "s"},
    "tool_use": {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": None, "b": [1]}},
    "server_tool_use": {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
    "web_search_tool_result": {
        "type": "web_search_tool_result",
        "tool_use_id": "s1",
        "content": [
            {"type": "web_search_result", "title": "t", "url": "u", "encrypted_content": "e", "page_age": None},
        ],
    },
}


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_block_is_the_same_as_mapping_and_as_model(model: Any, kind: str) -> None:
    given = {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [BLOCKS[kind]],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    blocks = anthropic.types.Message.model_validate(given).content
    forms = [[BLOCKS[kind]], blocks, [block.model_dump() for block in blocks], [block.to_dict() for block in blocks]]
    converted = [message({"role": "assistant", "content": form}) for form in forms]
    assert converted[1:] == converted[:-1]
    assert len(converted[0]["parts"]) == 1


@needs_spans
def test_spans_that_go_elsewhere_leave_turnlogs_own(instrumented: Recorder, model: Any) -> None:
    elsewhere, theirs = TracerProvider(), Recorder()
    elsewhere.add_span_processor(theirs)
    model.script[:] = [CALLING]
    telemetry: Any = {"tracer_provider": elsewhere}
    with anthropic.Anthropic(base_url=model.url, api_key="none", open_telemetry=telemetry) as client:
        client.messages.create(**GIVEN)
    assert (instrumented.names, theirs.names) == (["chat m"], ["anthropic.messages.create"])
    assert answer(instrumented.spans[0])["parts"] == [REASONING, TEXT, CALL]
    assert semconv.GEN_AI_RESPONSE_FINISH_REASONS not in theirs.spans[0].attributes


@needs_spans
def test_a_client_of_a_provider_that_shares_our_processor_is_not_counted_twice(instrumented: Recorder, model: Any) -> None:
    earlier = TracerProvider()
    earlier.add_span_processor(instrumented)
    model.script[:] = [CALLING]
    telemetry: Any = {"tracer_provider": earlier}
    with anthropic.Anthropic(base_url=model.url, api_key="none", open_telemetry=telemetry) as client:
        client.messages.create(**GIVEN)
    assert instrumented.names == ["anthropic.messages.create"]


def test_a_call_inside_a_recorded_model_call_is_that_call(
    instrumented: Recorder, model: Any, client: anthropic.Anthropic, provider: TracerProvider, spans_of: str
) -> None:
    from turnlog.instrument.calls import Account, Start, context_of

    model.script[:] = [CALLING]
    account = Account("outer")
    account.use(provider)
    outer = account.start(Start("chat outer", {semconv.GEN_AI_OPERATION_NAME: "chat"}))
    token = otel.attach(context_of(outer, "chat"))
    try:
        client.messages.create(**GIVEN)
    finally:
        otel.detach(token)
        outer.end()
    (span,) = instrumented.spans
    assert (span.name, span.attributes["server.port"]) == ("chat outer", client.base_url.port)


def test_the_host_sees_the_same_with_and_without(
    model: Any, client: anthropic.Anthropic, provider: TracerProvider, complaints: list[str]
) -> None:
    def look() -> list[Any]:
        model.script[:] = [CALLING, CALLING, CALLING, Reply("no", status=400)]
        whole = client.messages.create(**GIVEN)
        raw = client.messages.with_raw_response.create(**GIVEN)
        stream = client.messages.create(**GIVEN, stream=True)
        events = list(stream)
        with pytest.raises(anthropic.BadRequestError) as caught:
            client.messages.create(**GIVEN)
        values = [whole, raw, raw.parse(), stream, events[0], caught.value]
        return [*map(type, values), whole.content, len(events), str(caught.value), trace.get_current_span()]

    bare = look()
    instrument("anthropic", tracer_provider=provider)
    hooked = look()
    uninstrument("anthropic")
    assert hooked == bare == look()
    assert complaints == []


@needs_spans
def test_the_sdks_own_spans_keep_what_the_sdk_says(model: Any, provider: TracerProvider, recorder: Recorder) -> None:
    telemetry: Any = {"tracer_provider": provider}
    client = anthropic.Anthropic(base_url=model.url, api_key="none", max_retries=0, open_telemetry=telemetry)

    def look() -> list[Any]:
        model.script[:] = [CALLING, CALLING, Reply("no", status=400)]
        seen = len(recorder.spans)
        client.messages.create(**GIVEN)
        list(client.messages.create(**GIVEN, stream=True))
        with pytest.raises(anthropic.BadRequestError):
            client.messages.create(**GIVEN)
        return recorder.spans[seen:]

    bare = look()
    instrument("anthropic", tracer_provider=provider)
    adopted = look()
    uninstrument("anthropic")
    own = {semconv.GEN_AI_RESPONSE_ID, semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK}
    for before, after in zip(bare, adopted, strict=True):
        assert (before.name, before.failed, before.kind) == (after.name, after.failed, after.kind)
        kept = {key: after.attributes.get(key) for key in before.attributes.keys() - own}
        assert kept == {key: before.attributes[key] for key in before.attributes.keys() - own}
    client.close()


def test_doctor_counts_a_call_whoever_made_its_span(
    instrumented: Recorder, provider: TracerProvider, client: anthropic.Anthropic, model: Any
) -> None:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    model.script.append("Three.")
    client.messages.create(**GIVEN)
    (scope,) = [span.instrumentation_scope.name for span in exporter.get_finished_spans() if span.instrumentation_scope]
    assert [found.framework for found in status() if scope in found.scopes] == ["anthropic"]


def test_uninstrumenting_restores_the_sdk(provider: TracerProvider) -> None:
    from anthropic.lib.tools import _beta_runner

    owners: list[Any] = [_base_client.SyncAPIClient, _base_client.AsyncAPIClient, _base_client]
    owners += [_beta_runner, _beta_runner.BaseToolRunner] if HAS_SPANS else []
    before = [identities(each) for each in owners]
    instrument("anthropic", tracer_provider=provider)
    assert all(identities(each) != earlier for each, earlier in zip(owners[:2], before[:2], strict=True))
    uninstrument("anthropic")
    assert [identities(each) for each in owners] == before


def test_the_entry_point_names_the_tested_range() -> None:
    assert AnthropicInstrumentor().instrumentation_dependencies() == ["anthropic >= 0.84, < 3"]
