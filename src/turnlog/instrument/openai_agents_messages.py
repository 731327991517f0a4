"""What the OpenAI Agents SDK's runs, model calls and tools say of themselves, in the GenAI form. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.calls import Call, Facts, Start
from turnlog.instrument.openai_messages import item_message, items_facts
from turnlog.operation import UNRUN, Messages
from turnlog.semconv import GenAiOperation

_REQUEST: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "temperature": (semconv.GEN_AI_REQUEST_TEMPERATURE, float),
    "top_p": (semconv.GEN_AI_REQUEST_TOP_P, float),
    "max_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
}


def agent_start(agent: Any, more: Mapping[str, Any] | None = None, content: dict[str, Any] | None = None) -> Start:
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.INVOKE_AGENT.value,
        semconv.GEN_AI_AGENT_NAME: agent.name,
        **(more or {}),
    }
    known = {key: value for key, value in attributes.items() if value}
    return Start(f"{GenAiOperation.INVOKE_AGENT} {agent.name}".rstrip(), known, content or {})


def run_start(call: Call) -> Start:
    """A run of an agent on an input, or on the state that an earlier run has left."""
    state = resumed_state(call)
    agent = getattr(state, "_current_agent", None) or call.argument(0, "starting_agent")
    session = session_of(call, state)
    previous = call.kwargs.get("previous_response_id") or getattr(state, "_previous_response_id", None)
    more = {semconv.GEN_AI_CONVERSATION_ID: session, semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: previous}
    if state is not None and session:
        # Nobody says again what it goes on from.
        return agent_start(agent, more)
    items = _items(call.argument(1, "input")) if state is None else _left_in(state)
    return agent_start(agent, more, {semconv.GEN_AI_INPUT_MESSAGES: Messages(items, item_message, follows=bool(previous))})


def resumed_state(call: Call) -> Any:
    given = call.argument(1, "input")
    return given if type(given).__name__ == "RunState" else None


def _left_in(state: Any) -> Sequence[Any]:
    """What was said before the run was interrupted. It is known by that where nobody names its session."""
    said = (item.to_input_item() for item in state._generated_items if item.type != "tool_approval_item")
    return [*_items(state._original_input), *said]


def session_of(call: Call, state: Any) -> str:
    """The id of the SDK's session, else of the conversation that the server keeps, else of the group of traces."""
    config, trace = call.kwargs.get("run_config"), getattr(state, "_trace_state", None)
    group = config.get("group_id") if isinstance(config, Mapping) else getattr(config, "group_id", None)
    try:
        session = getattr(call.kwargs.get("session"), "session_id", None)
    except ValueError:
        # A conversation that its server has not named yet.
        session = None
    conversation = call.kwargs.get("conversation_id") or getattr(state, "_conversation_id", None)
    return str(session or conversation or group or getattr(trace, "group_id", None) or "")


def run_facts(call: Call, result: Any) -> Facts:
    result = call.kwargs.get("streamed_result") if result is None else result
    output = result.final_output
    if output is None:
        return Facts({}, {})
    answer = {"role": "assistant", "parts": [{"type": "text", "content": as_text(_plain(output))}]}
    return Facts({}, {semconv.GEN_AI_OUTPUT_MESSAGES: [answer]})


def model_start(call: Call) -> Start:
    """One attempt of `Model.get_response` or `Model.stream_response`, which every kind of model has."""
    model = getattr(call.instance, "model", "")
    model = model if isinstance(model, str) else ""
    previous, conversation = call.kwargs.get("previous_response_id"), call.kwargs.get("conversation_id")
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.CHAT.value,
        semconv.GEN_AI_PROVIDER_NAME: _provider(call.instance, model),
        semconv.GEN_AI_REQUEST_MODEL: model,
        semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: previous,
        semconv.GEN_AI_CONVERSATION_ID: conversation,
    }
    settings = call.argument(2, "model_settings")
    for name, (key, cast) in _REQUEST.items():
        if isinstance(value := getattr(settings, name, None), int | float):
            attributes[key] = cast(value)
    follows = bool(previous or conversation)
    content: dict[str, Any] = {
        semconv.GEN_AI_INPUT_MESSAGES: Messages(_items(call.argument(1, "input")), item_message, follows=follows)
    }
    if instructions := call.argument(0, "system_instructions"):
        content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = [{"type": "text", "content": instructions}]
    known = {key: value for key, value in attributes.items() if value is not None and value != ""}
    return Start(f"{GenAiOperation.CHAT} {model}".rstrip(), known, content, SpanKind.CLIENT)


def model_facts(call: Call, response: Any) -> Facts:
    return items_facts(response.output, response.response_id, response.usage)


def tool_start(name: str, call_id: str | None, arguments: Any, kind: str = "function") -> Start:
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
        semconv.GEN_AI_TOOL_NAME: name,
        semconv.GEN_AI_TOOL_TYPE: kind,
        semconv.GEN_AI_TOOL_CALL_ID: call_id,
    }
    known = {key: value for key, value in attributes.items() if value is not None}
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments} if arguments is not None else {}
    return Start(f"{GenAiOperation.EXECUTE_TOOL} {name}", known, content)


def asked_starts(items: Iterable[Any]) -> list[Start]:
    """The tool calls that an answer asks for; a server has run those whose results it brings along."""
    parts = [part for item in items for part in item_message(item)["parts"]]
    results = {part["id"] for part in parts if part["type"] == "tool_call_response"}
    asked = (part for part in parts if part["type"] == "tool_call" and part["id"] not in results)
    return [tool_start(str(part["name"]), part["id"], part["arguments"]) for part in asked]


def function_start(call: Call) -> Start:
    context = call.kwargs["context"]
    name = getattr(context, "tool_name", None) or call.kwargs["function_tool"].name
    return tool_start(name, context.tool_call_id, call.kwargs["arguments"])


def function_facts(call: Call, result: Any) -> Facts:
    output = result.output if type(result).__name__ == "_FunctionToolInvocationResult" else result
    parts = output if isinstance(output, list) else [output]
    texts = [part["text"] for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    said = "".join(texts) if texts and len(texts) == len(parts) else _plain(output)
    return Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: said})


def action_start(call: Call) -> Start:
    """Tools that the model knows by themselves and that run here: shells, patches, a computer; and those without a schema."""
    run = call.kwargs["action" if "action" in call.kwargs else "call"]
    part = item_message(run.tool_call)["parts"][0]
    tools = (getattr(run, name, None) for name in ("custom_tool", "shell_tool", "local_shell_tool", "apply_patch_tool"))
    name = next((tool.name for tool in tools if tool is not None), part.get("name"))
    return tool_start(str(name), part.get("id"), part.get("arguments"))


def action_facts(call: Call, item: Any) -> Facts:
    raw = item.raw_item if isinstance(item.raw_item, Mapping) else {}
    failed = raw.get("status") == "failed"
    content = {semconv.GEN_AI_TOOL_CALL_RESULT: _plain(item.output)}
    return (
        Facts({}, {**content, semconv.EXCEPTION_MESSAGE: as_text(item.output)}, "tool_error") if failed else Facts({}, content)
    )


def handoff_start(call: Call) -> Start:
    asked = call.kwargs["run_handoffs"][0].tool_call
    start = tool_start(asked.name, asked.call_id, asked.arguments)
    start.content[semconv.REPLAY_RECORD] = UNRUN
    return start


def handoff_facts(call: Call, result: Any) -> Facts:
    said = call.kwargs["run_handoffs"][0].handoff.get_transfer_message(result.next_step.new_agent)
    return Facts({}, {semconv.GEN_AI_TOOL_CALL_RESULT: said})


def _provider(model: Any, name: str) -> str:
    kinds = [kind.__name__ for kind in type(model).__mro__]
    if any(kind.startswith("OpenAI") for kind in kinds):
        azure = "Azure" in type(getattr(model, "_client", None)).__name__
        return "azure.ai.openai" if azure else "openai"
    # LiteLLM and its like name the provider in front of the model.
    provider, _, rest = name.partition("/")
    return provider if rest else "unknown"


def _items(given: Any) -> Sequence[Any]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given or []


def _plain(value: Any) -> Any:
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value
