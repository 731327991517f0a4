"""`turnlog diff TURN --retry` and `turnlog diff SESSION SESSION`: two attempts of one turn, or two runs of one task, side by
side, to where they part, and why they do.
"""

from __future__ import annotations

import argparse

from turnlog import queries
from turnlog.cli.asking import asking, known_turn
from turnlog.cli.commit import SHORT_ID, what
from turnlog.cli.render import Screen, Styled, Text, count, duration, inert, record, screen, short
from turnlog.cli.widths import columns, cut, pad
from turnlog.errors import TurnlogError
from turnlog.queries import (
    Commit,
    Divergence,
    PairedEntry,
    RetryDiff,
    Session,
    SessionDiff,
    SessionDivergence,
    Step,
    TurnAttempt,
)

MARKS = {"added": Styled("+", "green"), "removed": Styled("-", "red"), "changed": Styled("~", "yellow")}
_ALL_COMMITS = 2**31
_GUTTER = 9
# Of two sessions, so many steps before and after the one at which they part.
_AROUND = 8
_RESULT = 40
_CAUSES = {
    "one ended": "only one of them has this turn",
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
    _show_entries(out, found.entries)
    return 0


def diff_sessions(options: argparse.Namespace) -> int:
    if options.second is None or options.session or options.retry is not None:
        options.refuse(
            "two sessions are compared by: turnlog diff SESSION SESSION; the turns of one by: turnlog diff --session ID"
        )
    with asking() as db:
        found = queries.session_diff(db, *(queries.find_session(db, str(name)) for name in (options.first, options.second)))
        shown = _around(found)
        commits = {
            id: commit
            for session, ids in zip(
                found.sessions, zip(*((step.commit_a, step.commit_b) for step in shown), strict=True), strict=False
            )
            for id, commit in queries.commits(db, session.session_id, ids).items()
        }
    out = screen()
    if options.json:
        out.json(record(found) | {"divergence": record(found.divergence) if found.divergence else None})
        return 0
    _show_sessions(out, found, shown, commits)
    _show_entries(out, found.entries)
    return 0


def _around(found: SessionDiff) -> list[Step]:
    """The steps that are shown: those around the first divergence, or the last."""
    parted = found.divergence
    at = len(found.steps)
    if parted is not None:
        at = next(n for n, step in enumerate(found.steps) if (step.turn, step.step) == (parted.turn, parted.step))
    return found.steps[max(at - _AROUND, 0) : at + _AROUND]


def _show_sessions(out: Screen, found: SessionDiff, shown: list[Step], commits: dict[str, Commit]) -> None:
    a, b = found.sessions
    first = found.steps.index(shown[0]) if shown else 0
    later = len(found.steps) - first - len(shown)
    _show_steps(
        out,
        (a.session_id, b.session_id),
        [(f"{step.turn}.{step.step}", step) for step in shown],
        commits,
        found.divergence,
        session_totals(a, b),
        before=f"{count(first, 'step')} before, alike in both" if first else "",
        after=f"and {count(later, 'more step')}: --json has them all" if later else "",
    )


def _show(out: Screen, found: RetryDiff, commits: dict[str, Commit]) -> None:
    a, b = found.attempts
    out.line(
        Styled(f"session {found.session_id}", "dim"),
        "  ",
        Styled(f"turn {a.turn} and turn {b.turn}", "bold"),
        f"  attempts {a.attempt} and {b.attempt} of {a.attempts}",
    )
    _show_steps(
        out,
        (f"turn {a.turn}", f"turn {b.turn}"),
        [(str(step.step), step) for step in found.steps],
        commits,
        found.divergence,
        [
            ("outcome", a.outcome, b.outcome),
            ("tokens", _tokens(a), _tokens(b)),
            ("time", duration(a.duration_ms), duration(b.duration_ms)),
        ],
    )


def _show_steps(
    out: Screen,
    titles: tuple[str, str],
    steps: list[tuple[str, Step]],
    commits: dict[str, Commit],
    divergence: Divergence | SessionDivergence | None,
    ends: list[tuple[str, str, str]],
    before: str = "",
    after: str = "",
) -> None:
    lines = [(label, step, _step(commits.get(step.commit_a)), _step(commits.get(step.commit_b))) for label, step in steps]
    width = max(columns(text) for text in (titles[0], *(left for _, _, left, _ in lines), *(left for _, left, _ in ends)))
    if out.width:
        width = min(width, max((out.width - _GUTTER - 2) // 2, 1))
    _line(out, "", titles[0], titles[1], width, "dim")
    if before:
        out.line(" " * _GUTTER, Styled(before, "dim"))
    for label, step, left, right in lines:
        parts_here = divergence is not None and (step.commit_a, step.commit_b) == (divergence.commit_a, divergence.commit_b)
        mark = _mark(step, parts_here)
        style = "bold" if parts_here else "dim" if mark == "=" else ""
        _line(out, f"{mark} {label:>5}", left, right, width, style)
        if divergence is not None and parts_here:
            why = why_parted(divergence, step) + _results(divergence, commits)
            out.line(" " * _GUTTER, Styled(f"first divergence: {divergence.cause}", "red bold"), f" - {why}")
    if after:
        out.line(" " * _GUTTER, Styled(after, "dim"))
    if divergence is None:
        out.line(" " * _GUTTER, Styled("no divergence: both did the same", "green"))
    for name, left, right in ends:
        _line(out, name, left, right, width)


def _show_entries(out: Screen, entries: list[PairedEntry]) -> None:
    if entries:
        out.line(Styled("entries that differ", "bold"))
    rows: list[tuple[Text, ...]] = [
        (
            MARKS[entry.change],
            entry.kind,
            short(entry.key),
            f"{_held(entry.op_a, entry.value_a)} -> {_held(entry.op_b, entry.value_b)}",
            Styled(" -> ".join(id[:SHORT_ID] for id in (entry.commit_a, entry.commit_b) if id), "dim"),
        )
        for entry in entries
    ]
    out.table(rows, indent="  ")


def _held(op: str, value: str) -> str:
    return short(value) or "set" if op == "set" else f"({op or 'none'})"


def _line(out: Screen, label: str, left: str, right: str, width: int, style: str = "") -> None:
    shown = cut(left, width)
    texts: list[Text] = [Styled(f"{label:{_GUTTER}}", "dim"), Styled(pad(shown, width + 2), style)]
    out.line(*texts, Styled(right, style))


def _mark(step: Step, parts_here: bool) -> str:
    if not step.commit_a or not step.commit_b:
        return "-" if step.commit_a else "+"
    return "=" if step.same and not parts_here else "~"


def _step(commit: Commit | None) -> str:
    if commit is None:
        return ""
    did = "".join(text if isinstance(text, str) else text.text for text in what(commit))
    return inert(f"{commit.commit_id[:SHORT_ID]}  {commit.tool or commit.kind}  {did}".rstrip())


def why_parted(divergence: Divergence | SessionDivergence, step: Step) -> str:
    if divergence.cause in _CAUSES:
        return _CAUSES[divergence.cause]
    for before, after in ((step.model_a, step.model_b), (step.parameters_a, step.parameters_b)):
        if before != after:
            return f"{before or '(none)'} -> {after or '(none)'}"
    return "another model or provider answered"


def _results(divergence: Divergence | SessionDivergence, commits: dict[str, Commit]) -> str:
    """What came back on either side, which the columns may have no room for."""
    before, after = (commits.get(id) for id in (divergence.commit_a, divergence.commit_b))
    if divergence.cause != "tool result" or before is None or after is None:
        return ""
    if {before.outcome, after.outcome} != {"ok"} or not (before.output_summary or after.output_summary):
        return ""
    return inert(f": {cut(before.output_summary, _RESULT)} -> {cut(after.output_summary, _RESULT)}")


def session_totals(a: Session, b: Session) -> list[tuple[str, str, str]]:
    return [
        ("turns", f"{a.turns:,}", f"{b.turns:,}"),
        ("failed", f"{a.failures:,}", f"{b.failures:,}"),
        ("tokens", _tokens(a), _tokens(b)),
        ("time", _lasted(a), _lasted(b)),
    ]


def _tokens(side: TurnAttempt | Session) -> str:
    return f"{side.tokens_in:,} in, {side.tokens_out:,} out"


def _lasted(session: Session) -> str:
    return duration((session.last_active_at - session.started_at).total_seconds() * 1000)
