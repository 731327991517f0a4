"""Stored spans as they were received or recorded: every typed column under its attribute's name again.

They are read window by window, and the store is let go in between: who sends or pages them keeps nobody waiting, and no more
than a window is ever held.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from turnlog import queries, semconv
from turnlog.content import dump_json
from turnlog.exporting.selection import Selection, define
from turnlog.queries import Database
from turnlog.received import KINDS, STATUSES, ReceivedEvent, ReceivedLink, ReceivedSpan
from turnlog.settings import Settings
from turnlog.store import schema

WINDOW = 4096


def windows(db: Database, selection: Selection, rows: int = WINDOW) -> list[Selection]:
    """The selection in parts of about so many spans, oldest first."""
    define(db)
    found = db.execute(schema.sql("export/windows.sql"), selection.values() | {"rows": rows}).fetchall()
    starts = [first for first, _ in found]
    ends = [*starts[1:], *(last + 1 for _, last in found[-1:])]
    return [selection._replace(since_ns=start, until_ns=end) for start, end in zip(starts, ends, strict=True) if start < end]


def ended_spans(settings: Settings, parts: list[Selection]) -> Iterator[list[ReceivedSpan]]:
    """The spans that have ended, part by part, each in the order in which they did."""
    for part in parts:
        with queries.reading(settings) as db:
            define(db)
            found = db.execute(schema.sql("export/spans.sql"), part.values())
            names = [column[0] for column in found.description or ()]
            rows = found.fetchall()
        yield [_received(dict(zip(names, row, strict=True))) for row in rows]


def _received(row: Mapping[str, Any]) -> ReceivedSpan:
    # What is empty or zero in the store cannot be told from absent there.
    told = ((column, row[column.name]) for column in semconv.COLUMNS)
    attributes = {column.key: _value(column, stored) for column, stored in told if stored and stored != "[]"}
    return ReceivedSpan(
        trace_id=row["trace_id"],
        span_id=row["span_id"],
        parent_id=row["parent_id"],
        name=row["name"],
        start_ns=row["start_ns"],
        end_ns=row["end_ns"],
        kind=row["span_kind"] if row["span_kind"] in KINDS else KINDS[0],
        status=row["status"] if row["status"] in STATUSES else STATUSES[0],
        status_message=row["status_message"],
        scope=row["scope"],
        attributes=attributes | orjson.loads(row["attributes"]),
        events=[ReceivedEvent(event["name"], event["at_ns"], event["attributes"]) for event in orjson.loads(row["events"])],
        links=[ReceivedLink(link["trace_id"], link["span_id"]) for link in orjson.loads(row["links"])],
        resource=_resource(row["host"], row["pid"], row["resource"]),
    )


def _value(column: semconv.Column, stored: Any) -> Any:
    if column.key == semconv.CONTEXT_CHANGES:
        return dump_json([_change(change) for change in stored]).decode()
    if column.type == "BOOLEAN":
        return stored == "true"
    # A delta is JSON text on every span: all back ends can show that.
    return orjson.loads(stored) if column.type == "VARCHAR[]" else stored


def _change(change: Mapping[str, Any]) -> dict[str, Any]:
    """As `turnlog.context.changes` has it: without what is empty."""
    return {name: value for name, value in change.items() if value or name == "at"}


@functools.lru_cache(256)
def _resource(host: str, pid: int, resource: str) -> Mapping[str, Any]:
    """One mapping for all spans of a process. Two processes that say the same of themselves stay two."""
    known = {"host.name": host, "process.pid": pid}
    return {**{key: value for key, value in known.items() if value}, **orjson.loads(resource)}
