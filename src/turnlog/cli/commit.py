"""How a commit and a turn are told in a line each, wherever they are listed."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from turnlog import queries
from turnlog.cli.context import left_by
from turnlog.cli.render import Styled, Text, clock, day_time
from turnlog.cli.widths import columns, pad
from turnlog.queries import Commit, Database, Retry, Turn

SHORT_ID = 7
REFUSED = "  (refused: it could not follow)"
_BEFORE_ACTOR = len("078cfea  13:53:21  ")
_MOST_ACTOR = 24
_USUAL = 20
_SELF_REPORTED = "  (self-reported)"
_FENCED = "  (fenced: another process had taken the session over)"


def listed(db: Database, session: str, options: argparse.Namespace) -> tuple[list[Commit], int, bool]:
    """The commits that `turnlog log` is asked for, how many at most, and whether there are more."""
    limit = options.limit or _USUAL
    found = queries.log(
        db,
        session,
        limit=limit + 1,
        turn=options.turn,
        tool=options.tool or "",
        failed=options.failed,
        checkpoints=options.checkpoints,
    )
    return found[:limit], limit, len(found) > limit


class Marks(NamedTuple):
    """What is known of commits and turns beside themselves: attempts, forks, lifecycle states without effect."""

    again: dict[int | str, Retry]
    forked: dict[int | str, int]
    refused: set[str]


def marks_of(db: Database, session: str, commits: list[Commit]) -> Marks:
    if not commits:
        return Marks({}, {}, set())
    return Marks(
        {row.commit_id or row.turn: row for row in queries.retries(db, session)},
        queries.forks(db, session),
        queries.refused(db, session) if any(commit.lifecycle_state for commit in commits) else set(),
    )


def actor_width(commits: list[Commit]) -> int:
    return min(max((columns(actor(commit)) for commit in commits), default=0), _MOST_ACTOR)


def turn_line(number: int, turn: Turn | None, marks: Marks) -> list[Text]:
    retry = marks.again.get(number)
    mark = f"retry of turn {retry.original_turn} (attempt {retry.attempt})  " if retry else ""
    mark += _forked(marks, number)
    started = Styled(day_time(turn.started_at) if turn else "before the first", "dim")
    asked = turn.input_summary if turn else ""
    return [Styled(f"turn {number}", "bold"), "  ", Styled(mark, "yellow"), started, "  ", asked]


def answer_line(turn: Turn | None, width: int) -> list[Text]:
    """What a turn answered; nothing where a commit says it, as a model's answer does."""
    if turn is None or turn.answer_commit or not turn.output_summary:
        return []
    return [" " * _BEFORE_ACTOR, Styled(pad("answer", width), "cyan"), "  ", turn.output_summary]


def commit_line(commit: Commit, width: int, marks: Marks) -> list[Text]:
    retry = marks.again.get(commit.commit_id)
    return [
        Styled(commit.commit_id[:SHORT_ID], "yellow"),
        f"  {clock(commit.committed_at)}  ",
        Styled(pad(actor(commit), width), "cyan"),
        "  ",
        Styled(f"attempt {retry.attempt}  " if retry else "", "yellow"),
        Styled(_forked(marks, commit.commit_id), "yellow"),
        *what(commit),
        Styled(REFUSED if commit.commit_id in marks.refused else "", "red"),
        Styled(_FENCED if commit.fenced else "", "red"),
        Styled(_SELF_REPORTED if commit.self_reported else "", "dim"),
    ]


def _forked(marks: Marks, what: int | str) -> str:
    if what not in marks.forked:
        return ""
    return f"fork of turn {marks.forked[what]}  " if marks.forked[what] else "fork  "


def actor(commit: Commit) -> str:
    return commit.tool or commit.kind


def what(commit: Commit) -> list[Text]:
    """What a commit did, in a line: how it failed, what was chosen and why, or what went in and came out."""
    if commit.outcome == "in_flight":
        return [Styled("in flight", "yellow"), "  ", commit.input_summary]
    if commit.outcome != "ok":
        return [*failure(commit), "  ", Styled(commit.input_summary, "dim")]
    if commit.lifecycle_state or commit.pinned:
        state, why = stated(commit)
        return [state, Styled(why, "dim")]
    if commit.kind == "eviction":
        return [left_by(commit.delta), Styled(" left the context", "dim")]
    if commit.choice:
        said = commit.reason or commit.output_summary
        return [commit.choice, Styled(f" - {said}" if said else "", "dim")]
    return [commit.input_summary, Styled(f" -> {commit.output_summary}" if commit.output_summary else "", "dim")]


def stated(commit: Commit) -> tuple[str, str]:
    """The lifecycle state that a commit says, and what it says with it."""
    state = commit.lifecycle_state or ("pinned" if commit.pinned == "true" else "unpinned")
    more = [said for said in (commit.pause_reason, commit.input_summary) if said not in ("", state)]
    return state, " - ".join(["", *more])


def failure(failed: Commit | queries.Failed) -> list[Text]:
    said = f"{failed.error}: {failed.error_message}" if failed.error_message else failed.error
    inferred = isinstance(failed, Commit) and failed.outcome_source == "inferred"
    mark = Styled(" (inferred)" if inferred else "", "dim")
    return [Styled(failed.outcome.upper(), "red bold"), mark, f" {said}" if said != failed.outcome else ""]
