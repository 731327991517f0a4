"""What a bundle says of itself: which sessions, in which state, written by whom, and what its members must be.

It is read before anything else of a file that a stranger may have made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, get_type_hints

import orjson

from turnlog.errors import TurnlogError

NAME = "manifest.json"
FORMAT = "turnlog-bundle"
FORMAT_VERSION = 1
# Of each, a Parquet file of this name. All of them are always there.
RELATIONS = ("sessions", "turns", "processes", "spans", "entries", "contexts", "blobs", "losses")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class BadBundle(TurnlogError):
    """A file that is no bundle, or one that is damaged or cannot be trusted. Nothing of it was loaded."""


class Member(NamedTuple):
    rows: int
    bytes: int
    sha256: str


class Bundled(NamedTuple):
    """A session as it was when the bundle was written."""

    session_id: str
    state_hash: str
    turns: int
    commits: int
    spans: int
    unfinished: int


class Manifest(NamedTuple):
    schema_version: int
    turnlog_version: str
    created_at: str
    sessions: tuple[Bundled, ...]
    members: Mapping[str, Member]

    def dump(self) -> bytes:
        told = {"format": FORMAT, "format_version": FORMAT_VERSION, **self._asdict()}
        told["sessions"] = [each._asdict() for each in self.sessions]
        told["members"] = {name: member._asdict() for name, member in self.members.items()}
        return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def member_name(relation: str) -> str:
    return f"{relation}.parquet"


def read_manifest(text: bytes, newest_schema: int) -> Manifest:
    try:
        told = orjson.loads(text)
    except ValueError as error:
        raise BadBundle(f"its {NAME} is no JSON") from error
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise BadBundle(f"its {NAME} does not say that it is a bundle of turnlog")
    for name, newest in (("format_version", FORMAT_VERSION), ("schema_version", newest_schema)):
        found = told.get(name)
        if type(found) is not int or found < 1:
            raise BadBundle(f"its {NAME} has no {name}")
        if found > newest:
            raise BadBundle(
                f"it was written by a newer turnlog ({str(told.get('turnlog_version'))[:40]}): {name} {found}, and this one "
                f"knows {newest}. Upgrade: pip install -U turnlog"
            )
    try:
        sessions = tuple(_typed(Bundled, each) for each in told["sessions"])
        members = {name: _typed(Member, told["members"][name]) for name in map(member_name, RELATIONS)}
        manifest = Manifest(told["schema_version"], str(told["turnlog_version"]), str(told["created_at"]), sessions, members)
    except (KeyError, TypeError) as error:
        raise BadBundle(f"its {NAME} is incomplete: {error}") from error
    if not sessions or not all(each.session_id for each in sessions):
        raise BadBundle(f"its {NAME} names no session")
    if any(each.rows < 0 or each.bytes < 0 or not _DIGEST.fullmatch(each.sha256) for each in members.values()):
        raise BadBundle(f"its {NAME} says something impossible of a member")
    return manifest


def _typed(kind: Any, told: Mapping[str, Any]) -> Any:
    """Every field there, and of its type; others are from another version and left out."""
    values = {name: told[name] for name in kind._fields}
    for name, wanted in get_type_hints(kind).items():
        if type(values[name]) is not wanted:
            raise TypeError(f"{name} of another type")
    return kind(**values)
