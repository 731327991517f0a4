"""A bundle's rows as rows of a journal: what its processes wrote, told again under their names.

Values are data, whatever they say. Texts that must be JSON or an id are, and numbers are such that no sum of a few overflows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import duckdb
import orjson

from turnlog import semconv
from turnlog.bundling.manifest import BadBundle
from turnlog.bundling.opening import Bundle
from turnlog.content import dump_json, may_be
from turnlog.journal.whole import Append
from turnlog.store import schema

_FRAME_ROWS = 2048
_FRAME_BYTES = 4 * 1024 * 1024
_MOST_ROW = 48 * 1024 * 1024
# A bundle may unpack to so many times its size. Ours of long sessions do to 40 times.
_MOST_GROWTH = 400
_LEAST_ROOM = 256 * 1024 * 1024
_COMMIT = re.compile(r"[0-9a-f]{16}")
_LONGEST_ID = 1024
_TIMES = 2**62
_NUMBERS = 2**48
_BOOLEANS = {"true": True, "false": False}
_JSON = {"attributes", "links", "events", *(column.name for column in semconv.COLUMNS if column.type.endswith("[]"))}
_FLAGS = {column.name for column in semconv.COLUMNS if column.type == "BOOLEAN"}
_IDS = ("session_id", "process_id", "commit_id")

Row = Mapping[str, Any]


def append_rows(bundle: Bundle, append: Append, progress: Callable[[int], None] = lambda _: None) -> int:
    """Append all rows of the bundle; how many they are."""
    count = held = 0
    room = max(_LEAST_ROOM, _MOST_GROWTH * bundle.bytes)
    frame: list[bytes] = []
    for row in _rows(bundle):
        line = dump_json({**row, "carried": True}) + b"\n"
        if len(line) > _MOST_ROW:
            raise BadBundle(f"it has a row of {len(line):,} bytes: no turnlog writes such")
        frame.append(line)
        held += len(line)
        count += 1
        if held >= _FRAME_BYTES or len(frame) >= _FRAME_ROWS:
            append(b"".join(frame), len(frame))
            room -= held
            frame, held = [], 0
            progress(count)
            if room < 0:
                raise BadBundle("it unpacks to more than any bundle of its size does: it is made to fill the disk")
    if frame:
        append(b"".join(frame), len(frame))
    return count


def _rows(bundle: Bundle) -> Iterator[dict[str, Any]]:
    for row in _read(bundle, "from bundle_processes"):
        told = {"host": row["host"], "pid": row["pid"], "attributes": _json(row, "resource")}
        yield {"record": "process", "origin": row["process_id"], "start_ns": row["first_ns"], **told}
    for row in _read(bundle, "from bundle_sessions"):
        yield _span_of_time(row, row["first_ns"], row["last_ns"]) | {"agent": row["agent"]}
    for row in _read(bundle, "from bundle_turns"):
        yield _span_of_time(row, row["started_ns"], row["ended_ns"]) | {"turn_id": row["turn_id"]}
    if bundle.db.execute(schema.sql("bundle/impossible.sql")).fetchall():
        raise BadBundle("it has entries or messages in an impossible place")
    for row in _read(bundle, schema.sql("bundle/rows.sql")):
        yield _span(row)
    for row in _read(bundle, "from bundle_blobs"):
        if not may_be(row["text"] or "", row["hash"] or ""):
            raise BadBundle(f"it has another text under the hash {row['hash']} than the one that has this hash")
        yield {"record": "blob", "start_ns": row["first_ns"], "hash": row["hash"], "text": row["text"]}
    for row in _read(bundle, "from bundle_losses"):
        told = {"name": row["reason"], "lost": row["lost"]}
        yield {"record": "loss", "origin": row["process_id"], "start_ns": row["at_ns"], **told}


def _span_of_time(row: Row, first_ns: int, last_ns: int) -> dict[str, Any]:
    return {"record": "turn", "session_id": row["session_id"], "start_ns": first_ns, "end_ns": last_ns}


def _span(row: Row) -> dict[str, Any]:
    told: dict[str, Any] = {
        "record": "start" if row["state"] == "open" else "end",
        "origin": row["process_id"],
        "died_ns": row["end_ns"] if row["state"] == "interrupted" else 0,
    }
    for name, value in row.items():
        if name in ("process_id", "state") or not value:
            continue
        if name in _JSON or name == "entries":
            told[name] = _json(row, name)
        elif name in _FLAGS:
            told[name] = _flag(row, name)
        else:
            told[name] = value
    return told


def _read(bundle: Bundle, query: str) -> Iterator[dict[str, Any]]:
    known = {each.session_id for each in bundle.manifest.sessions}
    try:
        longest = _longest(bundle.db, query)
        if longest > _MOST_ROW:
            raise BadBundle(f"it has a row of {longest:,} bytes: no turnlog writes such")
        found = bundle.db.execute(query)
        names = [column[0] for column in found.description or ()]
        while some := found.fetchmany(max(1, min(_FRAME_ROWS, _FRAME_BYTES // max(1, longest)))):
            for values in some:
                row = dict(zip(names, values, strict=True))
                _check(row)
                if "session_id" in row and row["session_id"] not in known:
                    raise BadBundle("it has rows of a session that it does not name")
                yield row
    except duckdb.Error as error:
        raise BadBundle(f"its rows cannot be read: {str(error).partition(chr(10))[0]}") from error


def _longest(db: duckdb.DuckDBPyConnection, query: str) -> int:
    """The bytes of the longest row: a small file can hold rows that no memory does."""
    texts = [name for name, kind, *_ in db.execute(f"describe {query}").fetchall() if kind == "VARCHAR"]
    size = " + ".join(f'coalesce(strlen("{name}"), 0)' for name in texts)
    (longest,) = db.execute(f"select max({size}) from ({query}\n)").fetchall()[0]  # noqa: S608 - our own names
    return int(longest or 0)


def _check(row: Row) -> None:
    for name, value in row.items():
        if value is None and (name in _IDS or name.endswith("_ns")):
            raise BadBundle(f"it has a row without {name}")
        if isinstance(value, int) and not isinstance(value, bool):
            limit = _TIMES if name.endswith("_ns") else _NUMBERS
            if not (0 <= value < limit or (-limit < value and not name.endswith("_ns"))):
                raise BadBundle(f"it has an impossible {name}: {value}")
    for name in _IDS:
        if name in row and not 0 < len(row[name]) <= _LONGEST_ID:
            raise BadBundle(f"it has a {name} that is none")
    if "commit_id" in row and not _COMMIT.fullmatch(row["commit_id"]):
        raise BadBundle(f"it has a commit_id that is none: {row['commit_id'][:40]!r}")
    if row.get("state", "ended") not in ("ended", "interrupted", "open"):
        raise BadBundle(f"it has a span in a state that there is not: {str(row['state'])[:40]!r}")


def _json(row: Row, name: str) -> Any:
    """JSON text as it is: read and written again, its numbers could be others."""
    text = row[name] or "{}"
    try:
        orjson.loads(text)
    except ValueError as error:
        raise BadBundle(f"it has {name} that are no JSON") from error
    return orjson.Fragment(text) if "\n" not in text and "\r" not in text else orjson.loads(text)


def _flag(row: Row, name: str) -> bool:
    if row[name] not in _BOOLEANS:
        raise BadBundle(f"it has a {name} that is neither true nor false")
    return _BOOLEANS[row[name]]
