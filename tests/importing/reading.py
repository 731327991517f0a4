"""What a reader gives for a file's bytes or path."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.importing import read
from turnlog.importing.source import Bad, Source
from turnlog.received import ReceivedSpan

TRANSCRIPTS = Path(__file__).parent / "transcripts"


class Given(NamedTuple):
    format: str
    spans: list[ReceivedSpan]
    bad: list[Bad]
    unfinished: int = 0


def given(data: bytes, name: str = "", path: Path | None = None) -> Given:
    source = Source(io.BytesIO(data), path, lambda _: None)
    found, spans = read(source, name)
    return Given(found, list(spans), source.bad, source.unfinished)


def given_file(path: Path) -> Given:
    return given(path.read_bytes(), path=path)


def lines(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def tree(spans: list[ReceivedSpan]) -> list[tuple[str, str]]:
    """The name of each span's parent, and its own."""
    names = {span.span_id: span.name for span in spans}
    return [(names.get(span.parent_id, ""), span.name) for span in spans]


def said(message: Any) -> str:
    """A message in a line: who, and what each part holds."""
    held = [part.get("content") or part.get("response") or f"{part.get('name')}()" for part in message["parts"]]
    return f"{message['role']}: {' | '.join(map(str, held))}"


def contexts(spans: list[ReceivedSpan]) -> list[list[str]]:
    """What each model call was given."""
    calls = [span for span in spans if span.attributes.get("gen_ai.operation.name") == "chat"]
    return [[said(message)[:60] for message in span.attributes["gen_ai.input.messages"]] for span in calls]
