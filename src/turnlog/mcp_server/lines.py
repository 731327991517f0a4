"""How rows are told to a model: one line each, ids in full enough to ask on, what others said in quotes."""

from __future__ import annotations

import re
from collections.abc import Collection

from turnlog import telling
from turnlog.queries import (
    Commit,
    Decided,
    Difference,
    Entry,
    Failed,
    FileChange,
    Found,
    InContext,
    Loop,
    OutOfContext,
    Pending,
    Session,
    Touched,
)
from turnlog.tokens import estimate

_ID = 10
_LEAST = 4
_HEX = re.compile(r"[0-9a-f]{12,}")
_WORD = re.compile(r"[a-z][a-z_ ]{0,30}")
_BY_ITSELF = re.compile(r"[0-9a-f]{12,16}")


def quoted(text: str, most: int) -> str:
    """The text in quotes, in so many letters and half as many tokens: letters of some scripts cost several."""
    told = telling.quoted(text, most)
    while estimate(told) > most // 2 and most > _LEAST:
        most = most * 3 // 4
        told = telling.quoted(text, most)
    return told


def short_id(commit_id: str) -> str:
    """Enough of an id to name its commit among millions."""
    return commit_id[:_ID] if _HEX.fullmatch(commit_id) else quoted(commit_id, 40)


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def word(text: str) -> str:
    """One of our own words; whoever sends spans could have put another text in its place."""
    return text if _WORD.fullmatch(text) else quoted(text, 40)


def is_by_itself(key: str) -> bool:
    """Whether an entry was given no name, but an id or a digest."""
    return bool(_BY_ITSELF.fullmatch(key))


def commit(row: Commit, most: int) -> str:
    head = f"- {short_id(row.commit_id)} turn {row.turn} {_actor(row.kind, row.tool, most)}"
    marks = "".join(
        f" ({mark})" for mark, is_so in (("self-reported", row.self_reported), ("fenced: does not count", row.fenced)) if is_so
    )
    return f"{head} {word(row.outcome)}{marks}{_said(row, most)}"


def _said(row: Commit, most: int) -> str:
    if row.outcome not in ("ok", "in_flight"):
        given = f", given {quoted(row.input_summary, most)}" if row.input_summary else ""
        return f": {quoted(row.error_message or row.error, most)}{given}"
    if row.lifecycle_state:
        return f": {word(row.lifecycle_state)}" + (f", {quoted(row.pause_reason, most)}" if row.pause_reason else "")
    if row.choice:
        said = row.reason or row.output_summary
        return f": chose {quoted(row.choice, most)}" + (f", because {quoted(said, most)}" if said else "")
    given = quoted(row.input_summary, most) if row.input_summary else ""
    gave = f" -> {quoted(row.output_summary, most)}" if row.output_summary else ""
    return f": {given}{gave}" if given or gave else ""


def _actor(kind: str, tool: str, most: int) -> str:
    return f"{word(kind)} {quoted(tool, most)}" if tool else word(kind)


def session(row: Session, most: int) -> str:
    agent = f", agent {quoted(row.agent, most)}" if row.agent else ""
    pinned = ", pinned" if row.pinned else ""
    counts = f"{count(row.turns, 'turn')}, {count(row.commits, 'commit')}, {row.failures:,} failed, {row.in_flight} in flight"
    last = f"{row.last_active_at:%Y-%m-%dT%H:%M:%SZ}"
    return f"- {quoted(row.session_id, 100)} {word(row.status)}{pinned}: {counts}, last active {last}{agent}"


def touched(row: Touched, most: int) -> str:
    was = f" from {quoted(row.renamed_from, most)}" if row.renamed_from else ""
    times = f", {row.touches} times" if row.touches > 1 else ""
    seen = f", {word(row.evidence)}" if row.evidence else ""
    by = f" by {quoted(row.tool, most)}" if row.tool else ""
    return (
        f"- {word(row.kind)} {quoted(row.key, most)}: {word(row.last_action)}{was} in turn {row.turn}{times}{by}{seen} "
        f"({short_id(row.commit_id)})"
    )


def difference(row: Difference, most: int) -> str:
    before, after = quoted(row.before_value, most), quoted(row.after_value, most)
    what = {"added": after, "removed": before}.get(row.change, f"{before} -> {after}")
    action = f" ({word(row.action)})" if row.action else ""
    by = f" by {quoted(row.tool, most)}" if row.tool else ""
    return f"- {word(row.change)} {word(row.kind)} {quoted(row.key, most)}{action}: {what}{by} ({short_id(row.commit_id)})"


def decided(row: Decided, most: int, reported: Collection[str] = ()) -> str:
    about = f"{quoted(row.about, most)}: " if row.about else ""
    because = f", because {quoted(row.reason, most)}" if row.reason else ", no reason stated"
    return f"- {about}{quoted(row.choice, most)}{because} (turn {row.turn}, {short_id(row.commit_id)}{_mark(row, reported)})"


def failed(row: Failed, most: int) -> str:
    given = f", given {quoted(row.input_summary, most)}" if row.input_summary else ""
    what = _actor(row.kind, row.tool, most)
    error = quoted(row.error_message or row.error, most)
    return f"- {short_id(row.commit_id)} turn {row.turn} {what} {word(row.outcome)}: {error}{given}"


def pending(row: Pending, most: int) -> str:
    if row.status in ("pending", "queued"):
        return f"- {word(row.status)} {quoted(row.action_id, most)} (turn {row.turn}): {quoted(row.action, most)}"
    ran = f", running for {row.ran_ms / 1000:.0f} s" if row.status == "in_flight" else ""
    return f"- {word(row.status)} {short_id(row.commit_id)} (turn {row.turn}): {quoted(row.action, most)}{ran}"


def loop(row: Loop, most: int) -> str:
    given = f", given {quoted(row.input_summary, most)}" if row.input_summary else ""
    same = f", each time {word(row.outcome)}" + (f": {quoted(row.result_summary, most)}" if row.result_summary else "")
    return f"- {quoted(row.tool, most)}{given}: {row.times} times in turn {row.turn}{same} (last: {short_id(row.commit_id)})"


def lost(row: OutOfContext, most: int) -> str:
    what = f"{word(row.kind)} {quoted(row.tool or row.key, most)}" if row.kind != "message" else f"message of {word(row.role)}"
    said = f": {quoted(row.summary, most)}" if row.summary else ""
    source = f", {short_id(row.source_commit)}" if row.source_commit else ""
    return f"- {what} (turn {row.introduced_in}{source}){said}"


def entry(row: Entry, most: int, reported: Collection[str] = ()) -> str:
    key = "" if is_by_itself(row.key) else f"{quoted(row.key, most)}: "
    # The value of a file is its digest; what was done to it says more.
    said = word(row.action) if row.action else quoted(row.value, most)
    return f"- {key}{said} (turn {row.turn}, {short_id(row.commit_id)}{_mark(row, reported)})"


def _mark(row: Entry | Decided, reported: Collection[str]) -> str:
    return ", self-reported" if row.commit_id in reported else ""


def change(row: FileChange, most: int) -> str:
    renamed = f" from {quoted(row.renamed_from, most)}" if row.renamed_from else ""
    why = f", because {quoted(row.reason, most)}" if row.reason else ""
    chose = f", decided as {quoted(row.choice, most)} in {short_id(row.decision_commit_id)}" if row.decision_commit_id else ""
    by = f" by {quoted(row.tool, most)}" if row.tool else ""
    when = f"{row.changed_at:%Y-%m-%dT%H:%M:%SZ}"
    return (
        f"- {short_id(row.commit_id)} {word(row.action)} {quoted(row.path, most)}{renamed}{by} at {when}, session "
        f"{quoted(row.session_id, 60)} turn {row.turn}{chose}{why}"
    )


def found(row: Found, most: int) -> str:
    where = f"session {quoted(row.session_id, 60)} turn {row.turn}"
    what = _actor(row.kind, row.tool, most)
    return (
        f"- {short_id(row.commit_id)} {where} {what} {word(row.outcome)}, in its {word(row.place)}: {quoted(row.excerpt, most)}"
    )


def seen(row: InContext, most: int) -> str:
    verified = {"true": ", verified", "false": ", UNVERIFIED"}.get(row.verified, "")
    by = f" {quoted(row.tool, most)}" if row.tool else ""
    source = f", {short_id(row.source_commit)}" if row.source_commit else ""
    said = f": {quoted(row.summary, most)}" if row.summary else ""
    return f"- {row.position} {word(row.role)}{by}{source} ({word(row.source_kind)}{verified}){said}"
