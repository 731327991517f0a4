"""A span's attributes without the SDK's price per item, and after the SDK has frozen them.

The SDK (1.44, 1.45) reads and writes each attribute through a lock and a type check, about 4 µs a write, and freezes a span
just before it calls `_on_ending`: its setters only log a warning by then. Exporters read the very mapping that is reached here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span

_PLAIN = (str, int, float, bool)


def attributes_of(span: ReadableSpan) -> Mapping[str, Any]:
    mapping: Mapping[str, Any] | None = getattr(span._attributes, "_dict", None)
    return mapping if mapping is not None else span.attributes or {}


def add_attributes(span: Span, found: Mapping[str, Any]) -> bool:
    """Add values that are attribute types already: text, numbers, tuples of text. The user's span limits hold, and nothing that
    is there makes room: false when not all of it is on the span as it was given."""
    attributes: Any = span._attributes
    mapping = getattr(attributes, "_dict", None)
    unlimited = getattr(attributes, "max_value_len", 0) is None
    if mapping is not None and unlimited and len(mapping) + len(found) <= (attributes.maxlen or len(found)):
        mapping.update(found)
        return True
    frozen, attributes._immutable = attributes._immutable, False
    try:
        for key, value in found.items():
            if key in attributes or attributes.maxlen is None or len(attributes) < attributes.maxlen:
                attributes[key] = value
            else:
                attributes.dropped += 1
    finally:
        attributes._immutable = frozen
    return False


def set_attributes(span: trace.Span, found: Mapping[str, Any]) -> None:
    """Set what a framework said; what is no plain value, the SDK looks at."""
    if isinstance(span, Span) and span.is_recording():
        plain = {key: value for key, value in found.items() if type(value) in _PLAIN or _is_texts(value)}
        add_attributes(span, plain)
        if len(plain) == len(found):
            return
        found = {key: value for key, value in found.items() if key not in plain}
    if found:
        span.set_attributes(found)


def _is_texts(value: Any) -> bool:
    return type(value) is tuple and set(map(type, value)) == {str}
