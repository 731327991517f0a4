"""What can be stated by hand, as the content of the span that states it: decisions, facts, open work and its end."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from turnlog import semconv
from turnlog.semconv import CommitKind, DeltaOp, EntryKind


class Statement(NamedTuple):
    name: str
    kind: CommitKind
    content: dict[str, Any]


def decision(choice: str, why: str = "", alternatives: Sequence[str] | None = (), about: str = "") -> Statement:
    content = {
        semconv.DECISION_CHOICE: choice,
        semconv.DECISION_REASON_TEXT: why,
        semconv.DECISION_ALTERNATIVES: list(() if alternatives is None else alternatives),
        semconv.DECISION_ABOUT: about,
    }
    return Statement("decide", CommitKind.DECISION, content)


def fact(text: str, key: str = "") -> Statement:
    return _change("note", DeltaOp.SET, EntryKind.FACT, key or key_of(text), text)


def pending(action: str, key: str = "") -> Statement:
    return _change("pending", DeltaOp.SET, EntryKind.PENDING, key or key_of(action), action)


def resolved(key: str, how: str) -> Statement:
    return _change("resolve", DeltaOp.DROP, EntryKind.PENDING, key, how)


def key_of(text: str) -> str:
    """The key of an entry to which nobody gave one."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _change(name: str, op: DeltaOp, kind: EntryKind, key: str, value: str) -> Statement:
    change = {"op": op.value, "kind": kind.value, "key": key, "value": value}
    return Statement(name, CommitKind.NOTE, {semconv.COMMIT_DELTA: [change]})
