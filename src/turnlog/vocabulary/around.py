"""What a span leaves to others of its trace to say: whose work it is, and what its only argument is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog import semconv
from turnlog.foreign import MODEL_CALLS
from turnlog.received import ReceivedSpan
from turnlog.semconv import GenAiOperation
from turnlog.vocabulary.words import Told

_TOOL = GenAiOperation.EXECUTE_TOOL.value


def complete(spans: Sequence[tuple[ReceivedSpan, Told]]) -> None:
    """`spans` are one trace's in the order of their starts, with what each tells."""
    _name_agents(spans)
    _name_arguments(spans)


def _name_agents(spans: Sequence[tuple[ReceivedSpan, Told]]) -> None:
    agents: dict[str, str] = {}
    for span, told in spans:
        own = told.attributes.get(semconv.GEN_AI_AGENT_NAME) or span.attributes.get(semconv.GEN_AI_AGENT_NAME)
        agent = str(own or agents.get(span.parent_id, ""))
        agents[span.span_id] = agent
        if agent and not own and told.attributes.get(semconv.GEN_AI_OPERATION_NAME) in {_TOOL, *MODEL_CALLS}:
            told.attributes[semconv.GEN_AI_AGENT_NAME] = agent


def _name_arguments(spans: Sequence[tuple[ReceivedSpan, Told]]) -> None:
    """Some record of a function with one argument only its value; the model has asked for it by name."""
    asked: dict[str, list[Mapping[str, Any]]] = {}
    for span, told in spans:
        operation = told.attributes.get(semconv.GEN_AI_OPERATION_NAME)
        if operation in MODEL_CALLS:
            said = told.content.get(semconv.GEN_AI_OUTPUT_MESSAGES, ())
            for part in (part for message in said for part in message["parts"] if part.get("type") == "tool_call"):
                asked.setdefault(str(part.get("name")), []).append(part)
        given = told.content.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS)
        if operation != _TOOL or not isinstance(given, str):
            continue
        tool = told.attributes.get(semconv.GEN_AI_TOOL_NAME) or span.attributes.get(semconv.GEN_AI_TOOL_NAME)
        waiting = asked.get(str(tool), [])
        call = next((call for call in waiting if _is_only(given, call.get("arguments"))), None)
        if call is not None:
            waiting.remove(call)
            told.content[semconv.GEN_AI_TOOL_CALL_ARGUMENTS] = call["arguments"]


def _is_only(given: str, arguments: Any) -> bool:
    return isinstance(arguments, Mapping) and list(arguments.values()) == [given]
