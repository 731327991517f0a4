"""`turnlog diff TURN --retry`: two attempts of one turn side by side, to where they part, and why they do."""

from __future__ import annotations

import argparse

from turnlog import queries
from turnlog.cli.asking import asking, known_turn
from turnlog.cli.log import SHORT_ID, what
from turnlog.cli.render import Screen, Styled, Text, columns, cut, duration, inert, record, screen
from turnlog.errors import TurnlogError
from turnlog.queries import Commit, Divergence, RetryDiff, RetryStep, TurnAttempt

_ALL_COMMITS = 2**31
_GUTTER = 9
_CAUSES = {
    "input": "the turns were asked different things",
    "context": "the model call saw other messages or instructions",
    "tool result": "the same call came back differently",
    "unknown": "nothing that was recorded before it differs",
}


def diff_retry(options: argparse.Namespace) -> int:
    turn, attempt = options.first, options.retry
    if turn is None:
        # Without a turn before it there is no attempt to count: `--retry 4` is about turn 4.
        turn, attempt = attempt, 0
    if options.second is not None and attempt:
        raise TurnlogError("name the other attempt once: by a second turn, or by --retry=N.")
    with asking() as db:
        session = queries.find_session(db, options.session)
        known_turn(db, session, max(turn, options.second or 0))
        found = queries.retry_diff(db, session, turn, attempt=attempt, second=options.second)
        commits = {
            commit.commit_id: commit
            for side in found.attempts
            for commit in queries.log(db, session, turn=side.turn, limit=_ALL_COMMITS)
        }
    out = screen()
    if options.json:
        out.json(record(found) | {"divergence": record(found.divergence) if found.divergence else None})
        return 0
    _show(out, found, commits)
    return 0


def _show(out: Screen, found: RetryDiff, commits: dict[str, Commit]) -> None:
    a, b = found.attempts
    out.line(
        Styled(f"session {found.session_id}", "dim"),
        "  ",
        Styled(f"turn {a.turn} and turn {b.turn}", "bold"),
        f"  attempts {a.attempt} and {b.attempt} of {a.attempts}",
    )
    steps = [(step, _step(commits.get(step.commit_a)), _step(commits.get(step.commit_b))) for step in found.steps]
    ends = [
        ("outcome", a.outcome, b.outcome),
        ("tokens", _tokens(a), _tokens(b)),
        ("time", duration(a.duration_ms), duration(b.duration_ms)),
    ]
    titles = (f"turn {a.turn}", f"turn {b.turn}")
    width = max(columns(text) for text in (titles[0], *(left for _, left, _ in steps), *(left for _, left, _ in ends)))
    if out.width:
        width = min(width, max((out.width - _GUTTER - 2) // 2, 1))
    _line(out, "", titles[0], titles[1], width, "dim")
    for step, left, right in steps:
        parts_here = found.divergence is not None and step.step == found.divergence.step
        mark = _mark(step, parts_here)
        style = "bold" if parts_here else "dim" if mark == "=" else ""
        _line(out, f"{mark} {step.step:>5}", left, right, width, style)
        if found.divergence is not None and parts_here:
            why = _why(found.divergence, step)
            out.line(" " * _GUTTER, Styled(f"first divergence: {found.divergence.cause}", "red bold"), f" - {why}")
    if found.divergence is None:
        out.line(" " * _GUTTER, Styled("no divergence: both did the same", "green"))
    for name, left, right in ends:
        _line(out, name, left, right, width)


def _line(out: Screen, label: str, left: str, right: str, width: int, style: str = "") -> None:
    shown = cut(left, width)
    texts: list[Text] = [Styled(f"{label:{_GUTTER}}", "dim"), Styled(shown + " " * (width - columns(shown) + 2), style)]
    out.line(*texts, Styled(right, style))


def _mark(step: RetryStep, parts_here: bool) -> str:
    if not step.commit_a or not step.commit_b:
        return "-" if step.commit_a else "+"
    return "=" if step.same and not parts_here else "~"


def _step(commit: Commit | None) -> str:
    if commit is None:
        return ""
    did = "".join(text if isinstance(text, str) else text.text for text in what(commit))
    return inert(f"{commit.commit_id[:SHORT_ID]}  {commit.tool or commit.kind}  {did}".rstrip())


def _why(divergence: Divergence, step: RetryStep) -> str:
    if divergence.cause in _CAUSES:
        return _CAUSES[divergence.cause]
    for before, after in ((step.model_a, step.model_b), (step.parameters_a, step.parameters_b)):
        if before != after:
            return f"{before or '(none)'} -> {after or '(none)'}"
    return "another model or provider answered"


def _tokens(attempt: TurnAttempt) -> str:
    return f"{attempt.tokens_in:,} in, {attempt.tokens_out:,} out"
