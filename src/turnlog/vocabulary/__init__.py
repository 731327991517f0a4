"""What spans of other instrumentations say, in the words of GenAI spans: one file per convention, this one picks.

Only words are mapped here. What they mean for a session is the deriver's business.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from turnlog import semconv
from turnlog.received import ReceivedSpan
from turnlog.vocabulary.agent_framework import AGENT_FRAMEWORK
from turnlog.vocabulary.claude_code import CLAUDE_CODE
from turnlog.vocabulary.genai import GENAI
from turnlog.vocabulary.google_adk import GOOGLE_ADK
from turnlog.vocabulary.openinference import OPENINFERENCE
from turnlog.vocabulary.openllmetry import OPENLLMETRY
from turnlog.vocabulary.pydantic_ai import PYDANTIC_AI
from turnlog.vocabulary.vercel_ai import VERCEL_AI
from turnlog.vocabulary.words import Convention, Told

_log = logging.getLogger("turnlog")
__all__ = ["CONVENTIONS", "Told", "told"]

# The first that speaks tells: one that adds words to another's comes before it.
CONVENTIONS: tuple[Convention, ...] = (
    PYDANTIC_AI,
    GOOGLE_ADK,
    AGENT_FRAMEWORK,
    CLAUDE_CODE,
    VERCEL_AI,
    OPENINFERENCE,
    OPENLLMETRY,
    GENAI,
)


def told(span: ReceivedSpan, *, is_root: bool) -> Told:
    """What a span says of an agent's work; nothing for a span of anything else. `is_root`: no other span of an agent is around
    it, so that a chain or a workflow is the agent's run and not a step of it."""
    for convention in CONVENTIONS:
        if convention.speaks(span):
            try:
                found = convention.told(span, is_root)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                # Anybody can send anything under these names.
                _log.debug("turnlog could not read a span in the words of %s: %r", convention.name, error)
                found = Told({}, {})
            _tell_failure(span, found)
            return found
    return Told({}, {})


def _tell_failure(span: ReceivedSpan, found: Told) -> None:
    """How it failed, from where every convention says that: the last exception that was recorded, then the status."""
    if span.status != "error" and semconv.ERROR_TYPE not in span.attributes:
        return
    raised: Mapping[str, Any] = next((event.attributes for event in reversed(span.events) if event.name == "exception"), {})
    if semconv.ERROR_TYPE not in span.attributes and (kind := raised.get("exception.type")):
        found.attributes.setdefault(semconv.ERROR_TYPE, str(kind))
    if said := raised.get(semconv.EXCEPTION_MESSAGE) or span.status_message:
        found.content.setdefault(semconv.EXCEPTION_MESSAGE, str(said))
