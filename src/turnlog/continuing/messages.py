"""`turnlog.messages(session)`: a session's conversation as the messages that OpenAI's chat API and its many relatives take.

It can be sent as it is. A call of the model that nobody has a result of is answered with a word on what became of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from turnlog import queries
from turnlog.content import as_text
from turnlog.errors import NotCaptured
from turnlog.queries import Told
from turnlog.runtime import settings_in_use

Json = dict[str, Any]

CAPTURE_FULL = "Only what is recorded with TURNLOG_CAPTURE=full can be gone on from in this way"
# What the model is told of a call of its own that has no result.
_UNKNOWN = {
    "interrupted": "interrupted: the process died while this call ran; it may or may not have taken effect",
    "in_flight": "in flight: this call had not returned yet",
    # A tool of a program that does not record its tools may have run all the same.
    "queued": "unknown: nothing is recorded of this call; it may or may not have taken effect",
}


def messages(session: str) -> list[Json]:
    """The conversation of a session, up to the last answer and what came of the calls in it. Named by its whole id.

    Secrets were redacted when it was recorded. Raises NotFound, and NotCaptured where content is missing.
    """
    session = str(session)
    with queries.reading(settings_in_use()) as db:
        told = queries.conversation(db, queries.find_exact(db, session))
    found = [message for part in told for message in _messages(part, session)]
    if not found:
        raise NotCaptured(f"session {session} has no model call with a context that could be gone on from.")
    return found


def _messages(told: Told, session: str) -> Iterator[Json]:
    if told.part == 2:
        yield {"role": "tool", "tool_call_id": told.tool_call_id, "content": _result(told, session)}
        return
    captured = _captured(told, session)
    for message in captured if isinstance(captured, list) else [captured]:
        yield from _chat(message)


def _result(told: Told, session: str) -> str:
    if told.outcome in _UNKNOWN:
        return _UNKNOWN[told.outcome]
    if told.outcome != "ok" and told.text is None:
        return f"{told.outcome}: {told.error_message}"
    return str(_text(told, session)) if told.content_hash else ""


def _captured(told: Told, session: str) -> Any:
    try:
        return orjson.loads(_text(told, session))
    except ValueError:
        raise NotCaptured(f"session {session}: a message of {told.role} was too long to be kept whole.") from None


def _text(told: Told, session: str) -> str:
    if told.text is None:
        what = f"what {told.tool} returned" if told.part == 2 else f"a message of {told.role}"
        raise NotCaptured(f"session {session}: {what} was not kept. {CAPTURE_FULL}: set it before the program starts.")
    return told.text


def _chat(message: Mapping[str, Any]) -> Iterator[Json]:
    """A message in the GenAI form. Its tool results are messages of their own; what the model only thought stays out."""
    parts = [part for part in message.get("parts") or () if isinstance(part, dict)]
    for part in parts:
        if part.get("type") == "tool_call_response":
            yield {"role": "tool", "tool_call_id": part.get("id") or "", "content": as_text(part.get("response"))}
    calls = [_call(part) for part in parts if part.get("type") == "tool_call"]
    said = [_content(part) for part in parts if part.get("type") not in ("tool_call", "tool_call_response", "reasoning")]
    if not said and not calls:
        return
    found: Json = {"role": message["role"], "content": None}
    if said:
        plain = len(said) == 1 and said[0]["type"] == "text"
        found["content"] = said[0]["text"] if plain else said
    yield {**found, "tool_calls": calls} if calls else found


def _content(part: Mapping[str, Any]) -> Json:
    """Text in this API's form; images and files were kept in it."""
    return {"type": "text", "text": as_text(part.get("content"))} if part.get("type") == "text" else dict(part)


def _call(part: Mapping[str, Any]) -> Json:
    arguments = part.get("arguments")
    called = {"name": part.get("name") or "", "arguments": "{}" if arguments is None else as_text(arguments)}
    return {"id": part.get("id") or "", "type": "function", "function": called}
