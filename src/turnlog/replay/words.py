"""How a replay says that the program does something else: which call was expected, what was asked instead, and the diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import orjson
from opentelemetry.trace import format_span_id

from turnlog import queries, semconv
from turnlog.content import ContentPolicy, as_text
from turnlog.operation import Operation, stamp_of
from turnlog.queries.replaying import MODEL, TOOL, RecordedCall, messages_seen
from turnlog.settings import Settings

_MOST_LINES = 60
_LONGEST_LINE = 400


class StoreWords:
    """Both sides as the store has them: what was asked now has been journaled like what was asked then."""

    def __init__(self, settings: Settings, policy: ContentPolicy, session: str) -> None:
        self._settings = settings
        self._policy = policy
        self._session = session

    def is_same(self, call: RecordedCall, operation: Operation) -> bool:
        then, now = self._asked(call, operation)
        return bool(then) and then == now

    def report(self, call: RecordedCall | None, operation: Operation, kind: str, why: str) -> str:
        asked = _name(kind, str(operation.known().get(semconv.GEN_AI_TOOL_NAME) or ""))
        head = f"turnlog: the replay of {self._session} diverged"
        if call is None:
            return f"{head}: the program asks for {asked}, and the recording has no more of those."
        head += f" in turn {call.turn}, at {call.title}"
        if why:
            return f"{head}: {why}"
        then, now = self._asked(call, operation)
        diff = list(difflib.unified_diff(then, now, "recorded", "asked now", lineterm="", n=1))
        if not diff:
            return f"{head}: {asked} was asked for, which the recording does not have."
        shown = [line[:_LONGEST_LINE] for line in diff[:_MOST_LINES]]
        more = [f"… {len(diff) - len(shown)} more lines"] if len(diff) > len(shown) else []
        return "\n".join([f"{head}: the program asks for something else.", *shown, *more])

    def _asked(self, call: RecordedCall, operation: Operation) -> tuple[list[str], list[str]]:
        """What the recorded call was asked with, and the operation is, line by line."""
        if call.call_kind == TOOL:
            with queries.reading(self._settings) as db:
                then = queries.blob(db, call.input_hash) or call.input_summary
            tool = str(operation.known().get(semconv.GEN_AI_TOOL_NAME) or "")
            arguments = operation.content.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS)
            digest = str(stamp_of(operation).get(semconv.COMMIT_INPUT_HASH) or "")
            kept = None if arguments is None else self._policy.blob(arguments, digest)
            now = kept.text if kept is not None else self._policy.summary(arguments)
            return [call.tool, *_lines(then)], [tool, *_lines(now)]
        session = str(stamp_of(operation).get(semconv.SESSION_ID) or "")
        span = format_span_id(operation.span.get_span_context().span_id)
        with queries.reading(self._settings) as db:
            texts = messages_seen(db, self._session, call.span_id), messages_seen(db, session, span)
        return _all_lines(texts[0]), _all_lines(texts[1])


def _name(kind: str, tool: str) -> str:
    return "a model call" if kind == MODEL else f"a call of {tool or 'a tool'}"


def _all_lines(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in _lines(text)]


def _lines(text: str) -> list[str]:
    """A message as `role: words`, line by line; arguments one to a line; anything else as it is."""
    try:
        value = orjson.loads(text)
    except ValueError:
        return text.splitlines()
    if isinstance(value, dict) and isinstance(parts := value.get("parts"), list):
        return [f"{value.get('role', '')}: {line}" for part in parts for line in _part(part)]
    if isinstance(value, dict):
        return [f"{key}: {line}" for key, item in value.items() for line in as_text(item).splitlines() or [""]]
    return text.splitlines()


def _part(part: Any) -> list[str]:
    if not isinstance(part, dict):
        return as_text(part).splitlines()
    said = part.get("content", part.get("response"))
    if said is None:
        said = {key: value for key, value in part.items() if key != "type"}
    return as_text(said).splitlines() or [""]
