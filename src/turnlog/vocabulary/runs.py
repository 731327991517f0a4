"""What an agent's run or a tool's call was given and gave, where a convention has it as one value: any function's arguments
and result, and LangChain's states and messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.content import as_text
from turnlog.vocabulary.messages import Message, is_langchain, message, messages, tool_message
from turnlog.vocabulary.words import Told, parsed


def question_of(value: Any) -> list[Message]:
    """What a run was given: messages, or anything else as one user message."""
    found = parsed(value)
    if found is None or found == "":
        return []
    if isinstance(found, Mapping) and isinstance(found.get("messages"), list):
        return messages(found["messages"])
    return [message(value if isinstance(value, str) and not isinstance(found, str) else found)]


def answer_of(value: Any) -> list[Message]:
    """What a run gave: the last message of a graph's state, or anything else as what the agent said."""
    found = parsed(value)
    if found is None or found == "":
        return []
    if isinstance(found, Mapping) and isinstance(found.get("messages"), list) and found["messages"]:
        found = found["messages"][-1]
    if is_langchain(found) or (isinstance(found, Mapping) and "role" in found):
        return [message(found, "assistant")]
    text = found if isinstance(found, str) else value if isinstance(value, str) else as_text(found)
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]


def tool_result(value: Any) -> Told:
    """What a tool gave, and what a message that holds it says besides: of which call, and whether it failed."""
    found = parsed(value)
    fields = tool_message(found)
    if fields is None:
        return Told({}, {semconv.GEN_AI_TOOL_CALL_RESULT: found if isinstance(found, str) else value})
    attributes = {semconv.GEN_AI_TOOL_CALL_ID: fields.get("tool_call_id")}
    content = {semconv.GEN_AI_TOOL_CALL_RESULT: fields.get("content")}
    if fields.get("status") == "error":
        attributes[semconv.ERROR_TYPE] = "tool_error"
        content[semconv.EXCEPTION_MESSAGE] = as_text(fields.get("content"))
    return Told({key: said for key, said in attributes.items() if said}, content)
