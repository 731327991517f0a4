"""Readers that turn files into received spans: OTLP, Jaeger, Phoenix, Langfuse, and the transcripts of coding agents.

A format is recognised by what a file holds, not by its name. Reading streams; ids are those of the file or made from it, so
that reading a file again gives the same spans.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.errors import TurnlogError
from turnlog.importing import claude_code, codex, jaeger, langfuse, otlp_files, phoenix
from turnlog.importing.claude_code_files import is_inner_file
from turnlog.importing.source import Record, Source
from turnlog.received import ReceivedSpan

__all__ = ["FORMATS", "TRANSCRIPTS", "Source", "UnknownFormat", "files_below", "read"]

# How many lines are looked at before a file counts as none of these.
_LOOKED_AT = 200
_ENDINGS = (".jsonl", ".ndjson", ".json", ".pb", ".binpb", ".proto")


class UnknownFormat(TurnlogError):
    """A file that no reader recognises."""


class CutOff(TurnlogError):
    """A file that breaks off before anything in it is whole."""


class Format(NamedTuple):
    name: str
    knows: Callable[[Any], bool]
    read: Callable[[Source], Iterator[ReceivedSpan]]


_JSON = (
    Format("otlp", otlp_files.is_otlp, otlp_files.read_json),
    Format("jaeger", jaeger.is_jaeger, jaeger.read),
    Format("phoenix", phoenix.is_phoenix, phoenix.read),
    Format("codex", codex.is_codex, codex.read),
    Format("claude-code", claude_code.is_claude_code, claude_code.read),
    Format("langfuse", langfuse.is_langfuse, langfuse.read),
)
TRANSCRIPTS = ("claude-code", "codex")
FORMATS = (*(each.name for each in _JSON), "otlp-proto")


def read(source: Source, name: str = "") -> tuple[str, Iterator[ReceivedSpan]]:
    """The format, by name or by what the file holds, and the spans. Raises UnknownFormat and CutOff."""
    if source.is_empty:
        raise UnknownFormat("is empty")
    is_binary = not source.is_text
    if name == "otlp-proto" or (is_binary and (name == "otlp" or (not name and source.may_be_protobuf))):
        return "otlp-proto", otlp_files.read_protobuf(source)
    found = None if is_binary else _recognised(source, name)
    if name:
        if found is not None and found.name != name:
            raise UnknownFormat(f"holds nothing of the format {name}, but of {found.name}; leave out --format")
        found = next(each for each in _JSON if each.name == name)
    if found is not None:
        return found.name, found.read(source)
    if source.is_cut_off and next(source.records(), None) is None:
        raise CutOff("is cut off before anything in it is whole")
    raise UnknownFormat(f"holds nothing that turnlog knows; --format names one of {', '.join(FORMATS)}")


def _recognised(source: Source, name: str) -> Format | None:
    """The named format if the file may hold it, or else the first that knows a record. The records can be read again."""
    looked_at: list[Record] = []
    records = source.records()
    found: Format | None = None
    for record in itertools.islice(records, _LOOKED_AT):
        looked_at.append(record)
        known = [each for each in _JSON if each.knows(record.value)]
        found = next((each for each in known if each.name == name), found or next(iter(known), None))
        if found is not None and name in ("", found.name):
            break
    source.put_back(itertools.chain(looked_at, records))
    return found


def files_below(folder: Path) -> Iterator[Path]:
    """The files of a folder that can hold spans, the oldest name first; a sub-agent's file is read with its session's."""
    for path in sorted(folder.rglob("*")):
        plain = path.name.removesuffix(".gz").removesuffix(".zst")
        is_one = plain.endswith(_ENDINGS) and not plain.endswith(".meta.json") and path.is_file()
        if is_one and not is_inner_file(path):
            yield path
