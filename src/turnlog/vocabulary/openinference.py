"""OpenInference: Arize Phoenix and whoever else uses its instrumentations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.foreign import OPENINFERENCE_KIND, operation_of
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.messages import Message, is_langchain, message, messages
from turnlog.vocabulary.runs import answer_of, question_of, tool_result
from turnlog.vocabulary.words import Convention, Told, first_of, known, parsed, provider, unflattened

_HIDDEN = "__REDACTED__"
_WHOLE = ("input.value", "output.value")
_USAGE = {
    semconv.GEN_AI_USAGE_INPUT_TOKENS: "llm.token_count.prompt",
    semconv.GEN_AI_USAGE_OUTPUT_TOKENS: "llm.token_count.completion",
    semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: "llm.token_count.prompt_details.cache_read",
    semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: "llm.token_count.prompt_details.cache_write",
    semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: "llm.token_count.completion_details.reasoning",
}


def _told(span: ReceivedSpan, is_root: bool) -> Told:
    said = _unhidden(span.attributes)
    operation = operation_of(said)
    if is_root and said.get(OPENINFERENCE_KIND) == "CHAIN":
        operation = GenAiOperation.INVOKE_AGENT.value
    metadata = parsed(said.get("metadata"))
    metadata = metadata if isinstance(metadata, Mapping) else {}
    thread = metadata.get("thread_id")
    agent = said.get("agent.name") or metadata.get("lc_agent_name")
    common = {
        semconv.GEN_AI_OPERATION_NAME: operation,
        semconv.GEN_AI_CONVERSATION_ID: None if thread is None else str(thread),
        semconv.GEN_AI_AGENT_NAME: agent or (span.name if operation == GenAiOperation.INVOKE_AGENT else None),
    }
    told = _TELLERS.get(operation, _nothing)(said)
    return Told(known({**common, **told.attributes}), known(told.content))


def _unhidden(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without what the application hides: all of it is the same text, which nobody said. The whole of a call still has it."""
    said = {key: value for key, value in attributes.items() if value != _HIDDEN}
    if len(said) < len(attributes):
        said = {key: value for key, value in said.items() if key not in _WHOLE}
    return said


def _nothing(said: Mapping[str, Any]) -> Told:
    return Told({}, {})


def _model_call(said: Mapping[str, Any]) -> Told:
    model = first_of(said, "llm.response.model_name", "llm.model_name", "embedding.model_name")
    asked = parsed(said.get("llm.invocation_parameters"))
    output = parsed(said.get("output.value"))
    reason = said.get("llm.finish_reason")
    attributes = {
        semconv.GEN_AI_PROVIDER_NAME: provider(first_of(said, "llm.provider", "llm.system")),
        semconv.GEN_AI_REQUEST_MODEL: said.get("llm.request.model_name")
        or (asked.get("model") if isinstance(asked, Mapping) else None)
        or model,
        semconv.GEN_AI_RESPONSE_MODEL: model,
        semconv.GEN_AI_RESPONSE_ID: _response_id(output),
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: [str(reason)] if reason else None,
        **{key: said.get(name) for key, name in _USAGE.items()},
    }
    answers = _flat_messages(said, "llm.output_messages") or answer_of(said.get("output.value"))
    if reason and len(answers) == 1:
        answers = [{**answers[0], "finish_reason": str(reason)}]
    inputs = _dumped(said.get("input.value")) or _flat_messages(said, "llm.input_messages")
    content = {
        semconv.GEN_AI_INPUT_MESSAGES: inputs or question_of(said.get("input.value")),
        semconv.GEN_AI_OUTPUT_MESSAGES: answers,
    }
    return Told(attributes, content)


def _tool(said: Mapping[str, Any]) -> Told:
    arguments = first_of(said, "tool.parameters", "input.value")
    result = tool_result(said.get("output.value"))
    attributes = {
        semconv.GEN_AI_TOOL_NAME: said.get("tool.name"),
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.GEN_AI_TOOL_DESCRIPTION: said.get("tool.description"),
        semconv.GEN_AI_TOOL_CALL_ID: first_of(said, "tool.id", "tool_call.id"),
    }
    return Told(
        {**attributes, **result.attributes},
        {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: parsed(arguments), **result.content},
    )


def _agent(said: Mapping[str, Any]) -> Told:
    content = {
        semconv.GEN_AI_INPUT_MESSAGES: question_of(said.get("input.value")) or _flat_messages(said, "llm.input_messages"),
        semconv.GEN_AI_OUTPUT_MESSAGES: answer_of(said.get("output.value")),
    }
    return Told({}, content)


_TELLERS = {
    GenAiOperation.CHAT.value: _model_call,
    GenAiOperation.EXECUTE_TOOL.value: _tool,
    GenAiOperation.INVOKE_AGENT.value: _agent,
}


def _flat_messages(said: Mapping[str, Any], prefix: str) -> list[Message]:
    found = unflattened(said, prefix)
    return [message(_unnested(each)) for each in found] if isinstance(found, list) else []


def _unnested(item: Any) -> Any:
    """`{"message": {"tool_calls": [{"tool_call": {…}}]}}` without the names that say of each item what it is."""
    fields = item.get("message") if isinstance(item, Mapping) else None
    if not isinstance(fields, Mapping):
        return item
    calls = [call.get("tool_call", call) for call in fields.get("tool_calls") or () if isinstance(call, Mapping)]
    blocks = [block.get("message_content", block) for block in fields.get("contents") or () if isinstance(block, Mapping)]
    return {**fields, "tool_calls": calls, "content": blocks or fields.get("content")}


def _dumped(value: Any) -> list[Message]:
    """LangChain's own messages, which say more than the flattened ones: whether a tool's result is a failure."""
    whole = parsed(value)
    batches = whole.get("messages") if isinstance(whole, Mapping) else None
    first = batches[0] if isinstance(batches, list) and batches else None
    return messages(first) if isinstance(first, list) and first and all(is_langchain(each) for each in first) else []


def _response_id(output: Any) -> str | None:
    """Of an API's whole answer, or of LangChain's."""
    if not isinstance(output, Mapping):
        return None
    if isinstance(output.get("id"), str):
        return str(output["id"])
    whole = output.get("llm_output")
    return str(whole["id"]) if isinstance(whole, Mapping) and whole.get("id") else None


OPENINFERENCE = Convention("OpenInference", lambda span: OPENINFERENCE_KIND in span.attributes, _told)
