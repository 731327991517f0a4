"""What every convention's file gives and is made of: what a span tells in GenAI words, and values as JSON gave them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from turnlog.received import ReceivedSpan

# No convention takes values apart deeper than this; keys come from anybody.
_DEEPEST = 16
_PROVIDERS = {
    "amazon": "aws.bedrock",
    "aws": "aws.bedrock",
    "az.ai.inference": "azure.ai.inference",
    "az.ai.openai": "azure.ai.openai",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "vertexai": "gcp.vertex_ai",
    "xai": "x_ai",
}


class Told(NamedTuple):
    """What a span says in GenAI words: `attributes` to lay over its own, where None takes away what it said itself, and
    `content`, which must not become attributes."""

    attributes: dict[str, Any]
    content: dict[str, Any]


class Convention(NamedTuple):
    """`speaks`: whether a span is in this convention's words, by a look at few of its keys or its scope. `told`: what it says,
    given whether it is the outermost of an agent's spans."""

    name: str
    speaks: Callable[[ReceivedSpan], bool]
    told: Callable[[ReceivedSpan, bool], Told]


def known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was not said."""
    return {key: value for key, value in values.items() if value is not None and value != "" and value != []}


def first_of(attributes: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first key that has one: conventions rename."""
    return next((value for key in keys if (value := attributes.get(key)) not in (None, "")), None)


def provider(said: Any) -> str | None:
    name = str(said).lower() if said else ""
    return _PROVIDERS.get(name, name) or None


def parsed(value: Any) -> Any:
    """JSON text as its value; any other text, and what is a value already, as it is."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def unflattened(attributes: Mapping[str, Any], prefix: str) -> Any:
    """`prefix.0.message.role` and its like as the value that was taken apart; None when there is none."""
    start = prefix + "."
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(start):
            continue
        *path, last = key[len(start) :].split(".", _DEEPEST)
        into = found
        for step in path:
            inner = into.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            into = inner
        else:
            into[last] = value
    return _lists(found) if found else None


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _lists(item) for key, item in value.items()}
