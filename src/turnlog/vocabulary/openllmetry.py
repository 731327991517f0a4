"""OpenLLMetry (Traceloop): GenAI names, of today or of its own past, in workflows and tasks of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.foreign import TRACELOOP_KIND, operation_of
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary import genai
from turnlog.vocabulary.runs import answer_of, question_of, tool_result
from turnlog.vocabulary.words import Convention, Told, first_of, known, parsed

_REQUEST = "llm.request.type"
_NODES = "gen_ai.workflow.nodes"
_MARKS = frozenset((TRACELOOP_KIND, "traceloop.entity.path", "traceloop.workflow.name", _REQUEST, _NODES))
_REQUESTS = {
    "chat": GenAiOperation.CHAT.value,
    "completion": GenAiOperation.TEXT_COMPLETION.value,
    "embedding": GenAiOperation.EMBEDDINGS.value,
}
_PROPERTY = "traceloop.association.properties."
_DECORATED = {"args", "kwargs"}


def _told(span: ReceivedSpan, is_root: bool) -> Told:
    said = span.attributes
    told = genai.told(span, is_root)
    operation = _operation(said, told.attributes[semconv.GEN_AI_OPERATION_NAME])
    thread = first_of(said, _PROPERTY + "thread_id", _PROPERTY + "conversation_id", _PROPERTY + "chat_id")
    attributes = {
        semconv.SESSION_ID: said.get(_PROPERTY + "session_id"),
        semconv.GEN_AI_CONVERSATION_ID: None if thread is None else str(thread),
        semconv.GEN_AI_AGENT_NAME: first_of(said, semconv.GEN_AI_AGENT_NAME, _PROPERTY + "lc_agent_name"),
    }
    content: dict[str, Any] = {}
    if operation == GenAiOperation.EXECUTE_TOOL:
        tool = _tool(said)
        attributes, content = {**tool.attributes, **known(attributes)}, tool.content
    elif operation == GenAiOperation.INVOKE_AGENT:
        attributes[semconv.GEN_AI_AGENT_NAME] = attributes[semconv.GEN_AI_AGENT_NAME] or said.get("traceloop.entity.name")
        content = _run(said)
    return Told(
        {**told.attributes, **known(attributes), semconv.GEN_AI_OPERATION_NAME: operation},
        {**told.content, **known(content)},
    )


def _operation(said: Mapping[str, Any], named: str | None) -> str | None:
    if _NODES in said:
        # Around a graph's run, which has a span of its own with all that was said.
        return None
    if said.get(semconv.GEN_AI_OPERATION_NAME):
        return named
    return operation_of(said) or _REQUESTS.get(str(said.get(_REQUEST)), named)


def _tool(said: Mapping[str, Any]) -> Told:
    given = parsed(first_of(said, "traceloop.entity.input", semconv.GEN_AI_TOOL_CALL_ARGUMENTS))
    gave = parsed(first_of(said, "traceloop.entity.output", semconv.GEN_AI_TOOL_CALL_RESULT))
    options, metadata = (_mapping(given, name) for name in ("kwargs", "metadata"))
    result = tool_result(_inner(gave, "output"))
    thread = metadata.get("thread_id")
    attributes = {
        semconv.GEN_AI_TOOL_NAME: first_of(said, semconv.GEN_AI_TOOL_NAME, "traceloop.entity.name"),
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.GEN_AI_TOOL_CALL_ID: options.get("tool_call_id"),
        semconv.GEN_AI_AGENT_NAME: metadata.get("lc_agent_name"),
        semconv.GEN_AI_CONVERSATION_ID: None if thread is None else str(thread),
        **result.attributes,
    }
    return Told(attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: _arguments(given), **result.content})


def _run(said: Mapping[str, Any]) -> dict[str, Any]:
    given = parsed(first_of(said, "traceloop.entity.input", "gen_ai.task.input"))
    gave = parsed(first_of(said, "traceloop.entity.output", "gen_ai.task.output"))
    return {
        semconv.GEN_AI_INPUT_MESSAGES: question_of(_question(given)),
        semconv.GEN_AI_OUTPUT_MESSAGES: answer_of(_inner(gave, "outputs")),
    }


def _arguments(given: Any) -> Any:
    """A callback's record of a call, or a decorated function's arguments."""
    if not isinstance(given, Mapping):
        return given
    if isinstance(given.get("inputs"), Mapping):
        return given["inputs"]
    if "input_str" in given:
        return parsed(given["input_str"])
    return given["kwargs"] if given.keys() == _DECORATED and not given["args"] else given


def _question(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    if "inputs" in given:
        return given["inputs"]
    args, kwargs = given.get("args"), given.get("kwargs")
    if given.keys() == _DECORATED and isinstance(args, list) and isinstance(kwargs, Mapping) and len(args) + len(kwargs) == 1:
        return [*args, *kwargs.values()][0]
    return given


def _mapping(given: Any, name: str) -> Mapping[str, Any]:
    inner = given.get(name) if isinstance(given, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _inner(gave: Any, name: str) -> Any:
    """What a callback's record holds; a decorated function's result is all that there is."""
    return gave[name] if isinstance(gave, Mapping) and gave.keys() == {name, "kwargs"} else gave


OPENLLMETRY = Convention("OpenLLMetry", lambda span: not _MARKS.isdisjoint(span.attributes), _told)
