"""Claude Code's own spans (its enhanced telemetry): a prompt, the requests that it led to, the tools that were run.

Arguments and results are there with ENABLE_BETA_TRACING_DETAILED; else a file's path, a command, and what OTEL_LOG_TOOL_CONTENT
adds. Which tools a request asked for, and whether they failed, only the spans of a trace together say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog import semconv
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.messages import message
from turnlog.vocabulary.words import Convention, Told, first_of, known, parsed

SCOPE = "com.anthropic.claude_code.tracing"
_KIND = "span.type"
_REDACTED = "<REDACTED>"
_AGENT = "claude"
_ARGUMENTS = {"file_path": "file_path", "full_command": "command", "skill_name": "skill"}


def complete(spans: Sequence[tuple[ReceivedSpan, Told]]) -> None:
    """Lay over what tools and interactions say what the spans inside them do: whether a tool failed, and what was answered at
    last, which the last span to end need not be. `spans` are in the order of their starts."""
    outer: dict[str, Told] = {}
    for span, told in spans:
        kind = span.attributes.get(_KIND) if span.scope == SCOPE else None
        if kind in ("interaction", "tool"):
            outer[span.span_id] = told
        elif kind == "tool.execution" and span.parent_id in outer:
            _fail(span.attributes, outer[span.parent_id])
        elif kind == "llm_request" and span.parent_id in outer and span.attributes.get("stop_reason") != "tool_use":
            said = {semconv.GEN_AI_OUTPUT_MESSAGES: told.content.get(semconv.GEN_AI_OUTPUT_MESSAGES)}
            outer[span.parent_id].content.update(known(said))


def _told(span: ReceivedSpan, is_root: bool) -> Told:
    match span.attributes.get(_KIND):
        case "interaction":
            return _interaction(span.attributes)
        case "llm_request":
            return _request(span.attributes)
        case "tool":
            return _tool(span)
    return Told({}, {})


def _interaction(said: Mapping[str, Any]) -> Told:
    prompt = said.get("user_prompt")
    content = {semconv.GEN_AI_INPUT_MESSAGES: [message(prompt)]} if prompt and prompt != _REDACTED else {}
    return Told(_operation(GenAiOperation.INVOKE_AGENT), content)


def _request(said: Mapping[str, Any]) -> Told:
    fresh, cached, written = (said.get(key) for key in ("input_tokens", "cache_read_tokens", "cache_creation_tokens"))
    attributes = {
        **_operation(GenAiOperation.CHAT),
        # Anthropic counts what the cache had apart; the convention's number has it in.
        semconv.GEN_AI_USAGE_INPUT_TOKENS: None if fresh is None else fresh + (cached or 0) + (written or 0),
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: said.get("output_tokens"),
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: cached,
        semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: written,
    }
    content: dict[str, Any] = {}
    if said.get("success") is False:
        attributes[semconv.ERROR_TYPE] = str(first_of(said, semconv.ERROR_TYPE, "status_code", "error_class") or "api_error")
        content[semconv.EXCEPTION_MESSAGE] = str(said.get("error") or "")
    if text := said.get("response.model_output"):
        answer = {**message(text, "assistant"), **known({"finish_reason": said.get("stop_reason")})}
        content[semconv.GEN_AI_OUTPUT_MESSAGES] = [answer]
    return Told(known(attributes), content)


def _tool(span: ReceivedSpan) -> Told:
    said = span.attributes
    output = next((event.attributes for event in span.events if event.name == "tool.output"), {})
    arguments = _after_title(said.get("tool_input")) or known({name: said.get(key) for key, name in _ARGUMENTS.items()})
    result = _result(_after_title(said.get("new_context")))
    if result is None:
        result = next((output[key] for key in ("output", "content", "diff") if key in output), None)
    attributes = {
        **_operation(GenAiOperation.EXECUTE_TOOL),
        semconv.GEN_AI_TOOL_NAME: said.get("tool_name"),
        semconv.GEN_AI_TOOL_CALL_ID: said.get("tool_use_id"),
    }
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments or None, semconv.GEN_AI_TOOL_CALL_RESULT: result}
    return Told(known(attributes), {key: value for key, value in content.items() if value is not None})


def _fail(said: Mapping[str, Any], tool: Told) -> None:
    if said.get("success") is not False:
        return
    if said.get("error_class") == "AbortError":
        tool.attributes[semconv.ERROR_TYPE] = "cancelled"
    else:
        tool.attributes[semconv.ERROR_TYPE] = str(said.get(semconv.ERROR_TYPE) or "tool_error")
        tool.content.update(known({semconv.EXCEPTION_MESSAGE: said.get("error")}))


def _operation(operation: GenAiOperation) -> dict[str, Any]:
    return {semconv.GEN_AI_OPERATION_NAME: operation.value, semconv.GEN_AI_AGENT_NAME: _AGENT}


def _result(value: Any) -> Any:
    """What a tool gave: its text, where a server gave blocks of nothing else."""
    if isinstance(value, list) and value and all(isinstance(block, Mapping) and block.get("type") == "text" for block in value):
        return "".join(str(block.get("text", "")) for block in value)
    return value


def _after_title(text: Any) -> Any:
    """What follows `[TOOL INPUT: Read]` and its like."""
    return parsed(text.partition("]\n")[2]) if isinstance(text, str) and text.startswith("[") else None


CLAUDE_CODE = Convention("Claude Code", lambda span: span.scope == SCOPE, _told)
