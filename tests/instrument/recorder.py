"""A recorder for what instrumentations make: every finished span, with the content that its operation held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from turnlog.operation import Messages, claim_content


@dataclass
class Seen:
    name: str
    attributes: dict[str, Any]
    content: dict[str, Any]
    parent: str | None
    failed: bool
    kind: str

    def __getitem__(self, key: str) -> Any:
        return self.attributes[key] if key in self.attributes else self.content[key]


class Recorder(SpanProcessor):
    """Spans in the order in which they started."""

    def __init__(self) -> None:
        self._contents: dict[int, dict[str, Any]] = {}
        self._names: dict[int, str] = {}
        self._ended: list[ReadableSpan] = []
        self.started = 0

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        self.started += 1
        content = claim_content()
        self._contents[span.context.span_id] = {} if content is None else content
        self._names[span.context.span_id] = span.name

    def on_end(self, span: ReadableSpan) -> None:
        self._ended.append(span)

    @property
    def spans(self) -> list[Seen]:
        order = list(self._contents)
        return [self._seen(span) for span in sorted(self._ended, key=lambda span: order.index(span.context.span_id))]

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    @property
    def tree(self) -> list[tuple[str | None, str]]:
        return [(span.parent, span.name) for span in self.spans]

    def one(self, name: str) -> Seen:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def _seen(self, span: ReadableSpan) -> Seen:
        content = {key: _plain(value) for key, value in self._contents[span.context.span_id].items()}
        parent = self._names.get(span.parent.span_id, "elsewhere") if span.parent else None
        return Seen(span.name, dict(span.attributes), content, parent, not span.status.is_ok, span.kind.name)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, Messages) else value


def text(role: str, content: str) -> dict[str, Any]:
    """A message of nothing but text, as spans have it."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def identities(owner: type) -> dict[str, int]:
    """What a class holds, by identity: a wrapper compares equal to what it wraps."""
    return {name: id(value) for name, value in vars(owner).items()}
