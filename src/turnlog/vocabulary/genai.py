"""OpenTelemetry's own conventions for GenAI spans: today's names, those that they replaced, and messages as span events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.received import ReceivedEvent, ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.messages import Message, instructions, message, messages
from turnlog.vocabulary.words import Convention, Told, first_of, known, parsed, provider, unflattened

_SYSTEM = "gen_ai.system"
_MARKS = frozenset(
    (
        semconv.GEN_AI_OPERATION_NAME,
        semconv.GEN_AI_PROVIDER_NAME,
        _SYSTEM,
        semconv.GEN_AI_REQUEST_MODEL,
        semconv.GEN_AI_TOOL_NAME,
        semconv.GEN_AI_AGENT_NAME,
    )
)
# Each with what it was called before.
_RENAMED = {
    semconv.GEN_AI_USAGE_INPUT_TOKENS: ("gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"),
    semconv.GEN_AI_USAGE_OUTPUT_TOKENS: ("gen_ai.usage.completion_tokens", "llm.usage.completion_tokens"),
    semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: ("gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.input_tokens.cached"),
    semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: (
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
    ),
    semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: ("gen_ai.usage.reasoning_tokens", "gen_ai.usage.output_tokens.reasoning"),
    semconv.GEN_AI_REQUEST_SEED: ("gen_ai.openai.request.seed",),
    semconv.GEN_AI_REQUEST_MAX_TOKENS: ("llm.request.max_tokens",),
    semconv.GEN_AI_CONVERSATION_ID: ("gen_ai.thread.id",),
    semconv.SESSION_ID: ("gen_ai.session.id",),
}
_SAID = {"gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant", "gen_ai.tool.message": "tool"}
# Making an agent, or a step of a graph, is no work of a turn; some emitters have operations of their own for them.
_WORK = {operation.value for operation in GenAiOperation} - {GenAiOperation.CREATE_AGENT.value}
# Why a model stopped, from the convention's words back to the providers' own.
_REASONS = {"tool_call": "tool_calls"}
_CLAUDES = {"tool_call": "tool_use", "stop": "end_turn", "length": "max_tokens"}
# Where the parts of a chat's answer come calls first, which the API does not.
_CALLS_FIRST = ("opentelemetry.instrumentation.genai.openai", "opentelemetry.instrumentation.openai_v2")


def told(span: ReceivedSpan, is_root: bool) -> Told:
    said = span.attributes
    attributes = known({key: first_of(said, key, *olds) for key, olds in _RENAMED.items()})
    attributes |= known({semconv.GEN_AI_PROVIDER_NAME: provider(first_of(said, semconv.GEN_AI_PROVIDER_NAME, _SYSTEM))})
    attributes[semconv.GEN_AI_OPERATION_NAME] = _operation(said)
    inputs, outputs, system = _messages(span)
    _word_reasons(outputs, str(attributes.get(semconv.GEN_AI_PROVIDER_NAME, "")))
    if span.scope.startswith(_CALLS_FIRST):
        for each in (*inputs, *outputs):
            each["parts"].sort(key=lambda part: part.get("type") == "tool_call")
    content = {
        semconv.GEN_AI_INPUT_MESSAGES: inputs,
        semconv.GEN_AI_OUTPUT_MESSAGES: outputs,
        semconv.GEN_AI_SYSTEM_INSTRUCTIONS: system,
        semconv.GEN_AI_TOOL_CALL_ARGUMENTS: parsed(said.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS)),
        semconv.GEN_AI_TOOL_CALL_RESULT: result(said.get(semconv.GEN_AI_TOOL_CALL_RESULT)),
    }
    return Told(attributes, known(content))


def result(value: Any) -> Any:
    """What a tool gave. A text that was made JSON is that text again; JSON that a tool wrote stays as it wrote it."""
    return parsed(value) if isinstance(value, str) and value.startswith('"') else value


def _operation(said: Mapping[str, Any]) -> str | None:
    named = said.get(semconv.GEN_AI_OPERATION_NAME)
    if named:
        return str(named) if str(named) in _WORK else None
    if said.get(semconv.GEN_AI_TOOL_NAME):
        return GenAiOperation.EXECUTE_TOOL.value
    return GenAiOperation.CHAT.value if said.get(semconv.GEN_AI_REQUEST_MODEL) else None


def _messages(span: ReceivedSpan) -> tuple[list[Message], list[Message], list[dict[str, Any]]]:
    """What was said to the model, what it said, and its instructions: from wherever the span has them."""
    said = span.attributes
    inputs, outputs = (messages(said.get(key)) for key in (semconv.GEN_AI_INPUT_MESSAGES, semconv.GEN_AI_OUTPUT_MESSAGES))
    system = instructions(said.get(semconv.GEN_AI_SYSTEM_INSTRUCTIONS))
    if not inputs and not outputs:
        inputs, outputs = (messages(unflattened(said, key) or said.get(key)) for key in ("gen_ai.prompt", "gen_ai.completion"))
    if not inputs and not outputs:
        inputs, outputs = _messages_of_events(span)
    return inputs, [{**each, "role": "assistant"} for each in outputs], system


def _messages_of_events(span: ReceivedSpan) -> tuple[list[Message], list[Message]]:
    inputs: list[Message] = []
    outputs: list[Message] = []
    for event in span.events:
        if event.name == "gen_ai.content.prompt":
            inputs += messages(event.attributes.get("gen_ai.prompt"))
        elif event.name == "gen_ai.content.completion":
            outputs += messages(event.attributes.get("gen_ai.completion"))
        elif event.name == "gen_ai.choice":
            outputs.append(_choice(_body(event)))
        elif event.name == "gen_ai.system.message":
            inputs.append(message({**_body(event), "role": "system"}))
        elif event.name in _SAID:
            inputs.append(message({"role": _SAID[event.name], **_body(event)}))
        elif event.name == "gen_ai.client.inference.operation.details":
            inputs += messages(event.attributes.get(semconv.GEN_AI_INPUT_MESSAGES))
            outputs += messages(event.attributes.get(semconv.GEN_AI_OUTPUT_MESSAGES))
    return inputs, outputs


def _body(event: ReceivedEvent) -> dict[str, Any]:
    """An event's fields are attributes, or all in one."""
    inner = parsed(event.attributes.get("gen_ai.event.content"))
    return dict(inner) if isinstance(inner, Mapping) else dict(event.attributes)


def _choice(body: Mapping[str, Any]) -> Message:
    inner = parsed(body.get("message"))
    fields = inner if isinstance(inner, Mapping) else body if inner is None else {"content": inner}
    tool_calls = fields.get("tool_calls", body.get("tool_calls"))
    return message({**fields, "tool_calls": tool_calls, "finish_reason": body.get("finish_reason"), "role": "assistant"})


def _word_reasons(outputs: list[Message], provider_name: str) -> None:
    words = _CLAUDES if provider_name in {"anthropic", "aws.bedrock"} else _REASONS
    for each in outputs:
        if (reason := each.get("finish_reason")) in words:
            each["finish_reason"] = words[reason]


GENAI = Convention("OpenTelemetry GenAI", lambda span: not _MARKS.isdisjoint(span.attributes), told)
