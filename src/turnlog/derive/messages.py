"""Reading messages in the GenAI form: who spoke, what was said, which tools were asked for."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from turnlog.content import as_text

Message = Mapping[str, Any]


class Part(NamedTuple):
    """A message, or one of the tool results in it; `call` is the tool call that it answers."""

    role: str
    call: str
    message: Message


def as_messages(value: Any) -> Sequence[Message]:
    """The messages of an attribute or of carried content; JSON text and lists alike, nothing when it is neither."""
    if value is None:
        return []
    # A framework's, read in place: most are, and asking an abstract class costs more than all the rest.
    if hasattr(value, "marks"):
        return value  # type: ignore[no-any-return]
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except ValueError:
            return []
    if isinstance(value, (list, tuple)):
        return _mappings(value)
    return value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else []


def role(message: Message) -> str:
    return str(message.get("role", ""))


def texts(message: Message, kind: str = "text") -> str:
    found = [str(part["content"]) for part in _parts(message) if part.get("type") == kind and part.get("content")]
    return found[0] if len(found) == 1 else "\n".join(found)


def read_outputs(messages: Sequence[Message]) -> tuple[str, str, list[Mapping[str, Any]]]:
    """What was said, what was thought and which tools were asked for, in one pass. A call that `is_answer` is how the model was
    made to give its answer a form: nobody runs it."""
    said: list[str] = []
    thought: list[str] = []
    calls: list[Mapping[str, Any]] = []
    for message in messages:
        for part in _parts(message):
            kind = part.get("type")
            if kind == "tool_call" and part.get("is_answer"):
                said.append(as_text(part.get("arguments")))
            elif kind == "tool_call":
                calls.append(part)
            elif kind in ("text", "reasoning") and (content := part.get("content")):
                (said if kind == "text" else thought).append(str(content))
    return "\n".join(said), "\n".join(thought), calls


def is_tool_result(message: Message) -> bool:
    return role(message) == "tool" or "tool_call_response" in [part.get("type") for part in _parts(message)]


def calls_of(message: Message) -> list[Mapping[str, Any]]:
    return [part for part in _parts(message) if part.get("type") == "tool_call"]


def split_results(message: Message) -> list[Part]:
    """One API puts every tool result into a message of its own, another all of them into one beside the user's words."""
    parts = _parts(message)
    results = [part for part in parts if part.get("type") == "tool_call_response"]
    if not results:
        return [Part(role(message), "", message)]
    split = [Part("tool", str(part.get("id") or ""), {"role": "tool", "parts": [part]}) for part in results]
    others = [part for part in parts if part.get("type") != "tool_call_response"]
    return [*split, Part(role(message), "", {"role": role(message), "parts": others})] if others else split


def result_of(message: Message) -> tuple[Any, bool | None]:
    """What a tool result holds, and whether it says that it is an error; None when it says neither."""
    part = _parts(message)[0]
    return part.get("response"), part.get("is_error")


def _parts(message: Message) -> Sequence[Mapping[str, Any]]:
    parts = message.get("parts")
    if isinstance(parts, list):
        return _mappings(parts)
    content = message.get("content")
    return [{"type": "text", "content": content}] if isinstance(content, str) else []


def _mappings(values: Sequence[Any]) -> Sequence[Mapping[str, Any]]:
    for value in values:
        # Asking an abstract class takes several times as long, and nearly all are dictionaries.
        if type(value) is not dict:
            return [value for value in values if isinstance(value, Mapping)]
    return values
