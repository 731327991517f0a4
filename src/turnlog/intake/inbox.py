"""Spans as they arrived, on disk until their state is derived: what a receiver has acknowledged survives its death.

Files of the journal's own form in a folder beside it. Each frame is one batch with the resources it speaks of.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from turnlog.content import dump_json, without_secrets
from turnlog.journal.frame import PAYLOAD_LIMIT
from turnlog.journal.reader import JournalFile, list_journals, unread_frames
from turnlog.journal.writer import JournalWriter
from turnlog.received import ReceivedEvent, ReceivedLink, ReceivedSpan
from turnlog.settings import Settings

_ROTATE = 4 * 1024 * 1024
_CHUNK = 16 * 1024 * 1024


class Inbox:
    def __init__(self, settings: Settings) -> None:
        self._settings = replace(settings, directory=settings.inbox.parent, rotate_bytes=_ROTATE)
        self._writer = JournalWriter(self._settings)
        self._held: Counter[str] = Counter()
        self._adopted: dict[str, int] = {}

    @property
    def process_id(self) -> str:
        return self._writer.process.id

    def append(self, spans: Sequence[ReceivedSpan]) -> list[tuple[str, Sequence[ReceivedSpan], int]]:
        """The names of the files that have them now, with their sizes there; of those that are missing, none is written."""
        payload, rows = _encoded(spans)
        if len(payload) > PAYLOAD_LIMIT // 2 and len(spans) > 1:
            # JSON can be six times as long as what was sent, and a longer frame is not read again.
            middle = len(spans) // 2
            first = self.append(spans[:middle])
            return first + self.append(spans[middle:]) if first else []
        if len(payload) > PAYLOAD_LIMIT or not self._writer.append(payload, rows, is_kept=True):
            return []
        self._held[self._writer.current] += len(spans)
        return [(self._writer.current, spans, len(payload))]

    def let_go(self, traces: Sequence[tuple[str, Mapping[str, int]]]) -> None:
        """Of each trace, so many spans of each file are in the journal now. A file of which none is left goes. Beside one that
        stays it is written down what went: its other half may be in a file that is gone, and a half is not to be derived."""
        played: dict[str, list[str]] = {}
        for trace_id, files in traces:
            self._held.subtract(files)
            for name, count in files.items():
                played.setdefault(name, []).append(f"{trace_id} {count}\n")
        if not +self._held:
            self._writer.close()
        gone = {name for name, held in self._held.items() if held <= 0 and (name != self._writer.current or not +self._held)}
        for name in played.keys() - gone:
            with suppress(OSError), self._beside(name).open("a") as file:
                file.writelines(played[name])
        for name in gone:
            del self._held[name]
            (self._settings.journals / name).unlink(missing_ok=True)
            self._beside(name).unlink(missing_ok=True)
        self._let_adopted_go(gone)

    def adopt(self, youngest_ns: int | None = None) -> Iterator[tuple[str, list[ReceivedSpan], list[ReceivedSpan]]]:
        """What dead receivers left, file by file: what is still to be played, and what was. Of those that were not written to
        since `youngest_ns`, if that is given."""
        for journal in list_journals(self._settings.journals):
            name = journal.path.name
            if (
                journal.finished
                and name not in self._held
                and _is_old(journal.path, youngest_ns)
                and self._is_ours(journal.path)
            ):
                waiting, played = _parted(_spans_in(journal), self._beside(name))
                self._held[name] += len(waiting)
                yield name, waiting, played
                if not waiting:
                    self.let_go(())

    def _is_ours(self, path: Path) -> bool:
        """Holds the file as its writer did: nobody else takes it for one that was left."""
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return False
            self._adopted[path.name] = descriptor
            return True
        return False

    def _let_adopted_go(self, names: Iterable[str]) -> None:
        for name in names:
            if (descriptor := self._adopted.pop(name, None)) is not None:
                os.close(descriptor)

    def _beside(self, name: str) -> Path:
        return (self._settings.journals / name).with_suffix(".played")

    def close(self) -> None:
        self._writer.close()
        self._let_adopted_go(list(self._adopted))

    def after_fork_in_child(self) -> None:
        """What was taken so far is the parent's."""
        self._held.clear()
        self._let_adopted_go(list(self._adopted))


def _parted(spans: Iterable[ReceivedSpan], beside: Path) -> tuple[list[ReceivedSpan], list[ReceivedSpan]]:
    left: Counter[str] = Counter()
    with suppress(FileNotFoundError):
        for line in beside.read_text().splitlines():
            trace_id, _, count = line.partition(" ")
            left[trace_id] += int(count) if count.isdecimal() else 0
    waiting: list[ReceivedSpan] = []
    played: list[ReceivedSpan] = []
    for span in spans:
        (played if left[span.trace_id] > 0 else waiting).append(span)
        left[span.trace_id] -= 1
    return waiting, played


def _is_old(path: Path, youngest_ns: int | None) -> bool:
    return youngest_ns is None or path.stat().st_mtime_ns < youngest_ns


def _encoded(spans: Sequence[ReceivedSpan]) -> tuple[bytes, int]:
    resources: dict[int, int] = {}
    lines = []
    for span in spans:
        key = id(span.resource)
        if key not in resources:
            resources[key] = len(resources)
            lines.append({"record": "resource", "start_ns": 0, "attributes": without_secrets(span.resource)})
        lines.append(
            {
                "record": "span",
                "start_ns": span.start_ns,
                "end_ns": span.end_ns,
                "trace_id": span.trace_id,
                "span_id": span.span_id,
                "parent_id": span.parent_id,
                "name": without_secrets(span.name),
                "kind": span.kind,
                "status": span.status,
                "status_message": without_secrets(span.status_message),
                "scope": span.scope,
                "attributes": without_secrets(span.attributes),
                "events": [[event.name, event.at_ns, without_secrets(event.attributes)] for event in span.events],
                "links": [list(link) for link in span.links],
                "has_remote_parent": span.has_remote_parent,
                "resource": resources[key],
            }
        )
    return b"".join(dump_json(line) + b"\n" for line in lines), len(lines)


def _spans_in(journal: JournalFile) -> Iterator[ReceivedSpan]:
    offset = 0
    while offset < journal.size:
        before = offset
        for frame in unread_frames(journal, offset, _CHUNK):
            offset = frame.end
            if frame.rows:
                yield from _decoded(frame.payload.splitlines())
        if offset == before:
            return


def _decoded(lines: Iterable[bytes]) -> Iterator[ReceivedSpan]:
    resources: list[Mapping[str, Any]] = []
    for line in lines:
        row = orjson.loads(line)
        if row.pop("record") == "resource":
            resources.append(row["attributes"])
        elif "span_id" in row:
            row["resource"] = resources[row["resource"]]
            row["events"] = [ReceivedEvent(*event) for event in row["events"]]
            row["links"] = [ReceivedLink(*link) for link in row["links"]]
            yield ReceivedSpan(**row)
