"""What spans of other instrumentations stand for, in the words of GenAI spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.semconv import GenAiOperation

MODEL_CALLS = {GenAiOperation.CHAT.value, GenAiOperation.GENERATE_CONTENT.value, GenAiOperation.TEXT_COMPLETION.value}
OPENINFERENCE_KIND = "openinference.span.kind"
TRACELOOP_KIND = "traceloop.span.kind"
_OPENINFERENCE = {
    "LLM": GenAiOperation.CHAT.value,
    "TOOL": GenAiOperation.EXECUTE_TOOL.value,
    "AGENT": GenAiOperation.INVOKE_AGENT.value,
    "EMBEDDING": GenAiOperation.EMBEDDINGS.value,
    "RETRIEVER": GenAiOperation.RETRIEVAL.value,
}
_TRACELOOP = {
    "tool": GenAiOperation.EXECUTE_TOOL.value,
    "agent": GenAiOperation.INVOKE_AGENT.value,
    "workflow": GenAiOperation.INVOKE_AGENT.value,
}


# What OpenInference and OpenLLMetry put of prompts, answers, arguments and documents on their spans, flattened or whole.
_CONTENT = (
    "input.value",
    "output.value",
    "llm.input_messages",
    "llm.output_messages",
    "llm.prompts",
    "llm.choices",
    "llm.prompt_template",
    "llm.tools",
    "llm.function_call",
    "llm.invocation_parameters",
    "message.",
    "tool.parameters",
    "tool_call.",
    "retrieval.documents",
    "document.",
    "reranker.",
    "embedding.text",
    "embedding.embeddings",
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.content",
    "gen_ai.event.content",
    "gen_ai.task.input",
    "gen_ai.task.output",
    "gen_ai.tool.definitions",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "traceloop.prompt",
    "mcp.request.argument",
    "mcp.response.value",
    "ai.prompt",
    "ai.response.text",
    "ai.response.reasoning",
    "ai.response.object",
    "ai.response.toolCalls",
    "ai.response.files",
    "ai.result",
    "ai.toolCall.args",
    "ai.toolCall.result",
    "gcp.vertex.agent.llm_",
    "gcp.vertex.agent.tool_",
    "gcp.vertex.agent.data",
    "pydantic_ai.all_messages",
)
# The same of emitters that name theirs without a prefix: Pydantic AI, Claude Code.
_CONTENT_NAMES = frozenset(
    (
        *("all_messages_events", "final_result", "tool_arguments", "tool_response", "model_request_parameters"),
        *("user_prompt", "prompt", "prompt_text", "system_prompt", "system_prompt_preview", "system_reminders", "new_context"),
        *("response", "response.model_output", "tool_input", "tool_parameters", "full_command", "bash_command", "diff"),
        *("content", "output", "tools", "ai.value", "ai.values", "ai.embedding", "ai.embeddings"),
    )
)
_INSTRUMENTATIONS = ("openinference.instrumentation.", "opentelemetry.instrumentation.")


def is_content(key: str) -> bool:
    """Whether an attribute that no convention of GenAI spans names holds what was said, asked or read."""
    return key in _CONTENT_NAMES or key.startswith(_CONTENT)


def is_instrumentation(scope: str) -> bool:
    """Whether spans of a scope come from around a library, not from the library itself."""
    return scope.startswith(_INSTRUMENTATIONS)


def operation_of(attributes: Mapping[str, Any]) -> str:
    """The GenAI operation that a span is; empty for any other span."""
    if named := attributes.get(semconv.GEN_AI_OPERATION_NAME):
        return str(named)
    if kind := attributes.get(OPENINFERENCE_KIND):
        return _OPENINFERENCE.get(str(kind), "")
    return _TRACELOOP.get(str(attributes.get(TRACELOOP_KIND, "")), "")
