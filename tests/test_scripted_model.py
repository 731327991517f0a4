"""The scripted model speaks OpenAI's, Anthropic's and Gemini's wire formats well enough for the real SDKs."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import anthropic
import openai
import pytest

from turnlog.demo.scripted_model import Reply, Request, ScriptedModel, ToolCall

ASK = [{"role": "user", "content": "hello"}]
FULL = Reply("Two words.", reasoning="Because of it.", tool_calls=[ToolCall("add", {"a": 1, "b": "x y"}, "c1")])


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url="http://set.by.the.test", api_key="none", max_retries=0, timeout=60) as client:
        yield client


def test_replies_come_in_order_and_requests_are_kept(client: openai.OpenAI) -> None:
    with ScriptedModel(["one", Reply("two")]) as model:
        client.base_url = model.base_url
        answers = [client.chat.completions.create(model="m", messages=ASK).choices[0].message.content for _ in range(2)]
    assert answers == ["one", "two"]
    assert model.requests == [Request("/v1/chat/completions", {"model": "m", "messages": ASK})] * 2


def test_a_function_can_answer_what_it_reads(client: openai.OpenAI) -> None:
    with ScriptedModel(lambda body: f"you said {body['input']}") as model:
        client.base_url = model.base_url
        assert client.responses.create(model="m", input="hi").output_text == "you said hi"


@pytest.mark.parametrize("streamed", [False, True])
def test_chat_completions_carry_text_reasoning_calls_and_usage(client: openai.OpenAI, streamed: bool) -> None:
    with ScriptedModel([FULL]) as model:
        client.base_url = model.base_url
        if streamed:
            options = {"include_usage": True}
            with client.chat.completions.stream(model="m", messages=ASK, stream_options=options) as stream:
                completion = stream.get_final_completion()
        else:
            completion = client.chat.completions.create(model="m", messages=ASK)
    message = completion.choices[0].message
    (call,) = message.tool_calls
    assert (message.content, message.reasoning_content) == ("Two words.", "Because of it.")
    assert (call.id, call.function.name, call.function.arguments) == ("c1", "add", '{"a": 1, "b": "x y"}')
    assert completion.choices[0].finish_reason == "tool_calls"
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (11, 7)


@pytest.mark.parametrize("streamed", [False, True])
def test_responses_carry_text_reasoning_calls_and_usage(client: openai.OpenAI, streamed: bool) -> None:
    with ScriptedModel([FULL]) as model:
        client.base_url = model.base_url
        if streamed:
            with client.responses.stream(model="m", input="hello") as stream:
                response = stream.get_final_response()
        else:
            response = client.responses.create(model="m", input="hello")
    reasoning, message, call = response.output
    assert (reasoning.summary[0].text, message.content[0].text) == ("Because of it.", "Two words.")
    assert (call.call_id, call.name, call.arguments) == ("c1", "add", '{"a": 1, "b": "x y"}')
    assert (response.usage.input_tokens, response.usage.output_tokens) == (11, 7)


@pytest.mark.parametrize("streamed", [False, True])
def test_messages_carry_text_reasoning_calls_and_usage(streamed: bool) -> None:
    with ScriptedModel([FULL]) as model, anthropic.Anthropic(base_url=model.url, api_key="none", max_retries=0) as claude:
        if streamed:
            with claude.messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
                message = stream.get_final_message()
        else:
            message = claude.messages.create(model="m", max_tokens=9, messages=ASK)
    thinking, text, call = message.content
    assert (thinking.thinking, text.text) == ("Because of it.", "Two words.")
    assert (call.id, call.name, call.input) == ("c1", "add", {"a": 1, "b": "x y"})
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("tool_use", 11, 7)
    assert model.requests[0].path == "/v1/messages"


def test_errors_have_the_form_of_the_api_that_was_asked() -> None:
    script = [Reply("slow down", status=429), Reply("too much", status=529)]
    with ScriptedModel(script) as model, anthropic.Anthropic(base_url=model.url, api_key="none", max_retries=0) as claude:
        with pytest.raises(anthropic.RateLimitError, match=r"rate_limit_error.*slow down"):
            claude.messages.create(model="m", max_tokens=9, messages=ASK)
        with pytest.raises(anthropic.APIStatusError, match=r"overloaded_error.*too much"):
            claude.messages.create(model="m", max_tokens=9, messages=ASK)


def test_errors_delays_and_broken_connections_reach_the_client(client: openai.OpenAI) -> None:
    with ScriptedModel([Reply("slow down", status=429), Reply(delay=5), Reply(drop=True)]) as model:
        client.base_url = model.base_url
        impatient = client.with_options(timeout=0.1)
        with pytest.raises(openai.RateLimitError, match="slow down"):
            client.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(openai.APITimeoutError):
            impatient.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(model="m", messages=ASK)


def test_a_dropped_stream_breaks_after_its_first_half(client: openai.OpenAI) -> None:
    with ScriptedModel([Reply("one two three four five six", drop=True)]) as model:
        client.base_url = model.base_url
        stream = client.chat.completions.create(model="m", messages=ASK, stream=True)
        read = []
        # SDKs before 3 let the transport's own error through.
        with pytest.raises(Exception, match=r"Connection error|incomplete chunked read"):
            read.extend(chunk.choices[0].delta.content for chunk in stream)
    assert read == ["", "one ", "two ", "three "]


def test_a_script_that_is_used_up_says_so(client: openai.OpenAI) -> None:
    with ScriptedModel([]) as model:
        client.base_url = model.base_url
        with pytest.raises(openai.BadRequestError, match="the script has no reply for request 1"):
            client.chat.completions.create(model="m", messages=ASK)


def gemini(model: ScriptedModel) -> Any:
    genai = pytest.importorskip("google.genai", reason="google-genai is not installed")
    return closing(genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=model.url)))


@pytest.mark.parametrize("streamed", [False, True])
def test_generated_content_carries_text_reasoning_calls_and_usage(streamed: bool) -> None:
    ask = {"model": "gemini-x", "contents": "hello"}
    with ScriptedModel([FULL]) as model, gemini(model) as client:
        models = client.models
        answers = list(models.generate_content_stream(**ask)) if streamed else [models.generate_content(**ask)]
    parts = [part for answer in answers for part in answer.candidates[0].content.parts or ()]
    assert "".join(part.text for part in parts if part.thought) == "Because of it."
    assert "".join(part.text for part in parts if part.text and not part.thought) == "Two words."
    (call,) = [part.function_call for part in parts if part.function_call]
    assert (call.id, call.name, call.args) == ("c1", "add", {"a": 1, "b": "x y"})
    usage, reason = answers[-1].usage_metadata, answers[-1].candidates[0].finish_reason
    assert (usage.prompt_token_count, usage.candidates_token_count, reason) == (11, 7, "STOP")
    assert model.requests[0].path == f"/v1beta/models/gemini-x:{'streamGenerateContent' if streamed else 'generateContent'}"


def test_errors_of_gemini_have_the_form_of_its_api() -> None:
    refused = pytest.raises(Exception, match=r"404 NOT_FOUND.*no such model")
    with ScriptedModel([Reply("no such model", status=404)]) as model, gemini(model) as client, refused:
        client.models.generate_content(model="gemini-x", contents="hello")
