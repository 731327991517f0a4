"""Two turns, a turn and its retry, or two sessions side by side."""

from __future__ import annotations

import difflib

from turnlog import queries
from turnlog.queries import Commit, Decided, Difference, Divergence, Failed, SessionDivergence, Step
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, commit_link, empty, flag, link, row, table, tabs

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_MOST_STEPS = 400


def diff(ask: Ask) -> Page:
    session = ask.session()
    if ask.text("retry"):
        return _retry(ask, session)
    newest = queries.last_turn(ask.db, session)
    after = ask.number("b", newest)
    before = ask.number("a", max(after - 1, 0))
    found = queries.diff(ask.db, session, before, after)
    again = queries.retries(ask.db, session)
    body = join(
        el("h1", f"Turn {before} → turn {after}"),
        tabs(session, "/diff"),
        _choose(session, before, after, newest),
        el("h2", "Entries"),
        _differences(found.differences),
        el("h2", "Decided on the way"),
        _decisions(found.decisions),
        el("h2", "Failed on the way"),
        _failures(found.failures),
        el("h2", "Retries in this session") if again else None,
        el("ul", [_retry_link(session, each.original_turn, each.turn) for each in again if each.kind == "turn"])
        if again
        else None,
    )
    return Page(f"Turn {before} → {after}", body, found, session=session)


def _choose(session: str, before: int, after: int, newest: int) -> Html:
    def turns(name: str, chosen: int) -> Html:
        return el("input", type="number", name=name, value=chosen, min=0, max=newest)

    return el(
        "form",
        el("input", type="hidden", name="session", value=session),
        el("label", "From turn", turns("a", before)),
        el("label", "to turn", turns("b", after)),
        el("button", "Compare", type="submit"),
        a(link("/diff", session=session, a=before - 1, b=after - 1), "Earlier", data_key="[") if after > 1 else None,
        a(link("/diff", session=session, a=before + 1, b=after + 1), "Later", data_key="]") if after < newest else None,
        class_="filters",
    )


def _differences(found: list[Difference]) -> Html:
    if not found:
        return empty("The state is the same after both.")
    rows = [
        row(
            el("td", f"{_SIGNS[each.change]} {each.change}", class_=each.change),
            each.kind,
            said(each.key),
            _values(each),
            el("td", said(each.tool), " ", commit_link(each.commit_id), f" turn {each.turn}"),
            data_row=True,
        )
        for each in found
    ]
    return table(("", "Kind", "Key", "Value", "By"), rows, caption="Entries that differ")


def _values(each: Difference) -> Html:
    if each.change == "changed" and ("\n" in each.before_value + each.after_value or len(each.before_value) > 80):
        return el("td", text_diff(each.before_value, each.after_value))
    if each.change == "changed":
        return el("td", el("del", said(each.before_value)), " ", el("ins", said(each.after_value)))
    return el("td", said(each.after_value or each.before_value))


def text_diff(before: str, after: str) -> Html:
    """Line by line, with what is alike around it."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    kinds = {"+": "ins", "-": "del"}
    return el(
        "pre",
        [el(kinds.get(line[:1], "span"), said(line), "\n") for line in list(lines)[2:]] or "alike but for white space",
        class_="diff",
        tabindex="0",
    )


def _decisions(found: list[Decided]) -> Html:
    if not found:
        return el("p", "Nothing was decided.", class_="dim")
    rows = [
        row(commit_link(each.commit_id), each.turn, said(each.about), said(each.choice), said(each.reason)) for each in found
    ]
    return table(("Commit", "Turn", "About", "Choice", "Why"), rows, caption="Decisions")


def _failures(found: list[Failed]) -> Html:
    if not found:
        return el("p", "Nothing failed.", class_="dim")
    rows = [
        row(
            commit_link(each.commit_id),
            each.turn,
            said(each.tool or each.kind),
            flag(each.outcome, "bad"),
            said(each.error_message or each.error),
        )
        for each in found
    ]
    return table(("Commit", "Turn", "Tool", "Outcome", "Error"), rows, caption="Failures")


def _retry_link(session: str, first: int, again: int) -> Html:
    return el("li", a(link("/diff", session=session, retry=again), f"turn {again} against turn {first}"))


def _retry(ask: Ask, session: str) -> Page:
    found = queries.retry_diff(ask.db, session, ask.number("retry"))
    one, other = found.attempts
    commits = queries.commits(ask.db, session, [id for step in found.steps for id in (step.commit_a, step.commit_b) if id])
    body = join(
        el("h1", f"Turn {one.turn} and its retry, turn {other.turn}"),
        tabs(session, "/diff"),
        _parted(found.divergence),
        _steps(found.steps, commits, found.divergence, f"turn {one.turn}", f"turn {other.turn}"),
    )
    return Page(f"Retry of turn {one.turn}", body, found, session=session)


def compare(ask: Ask) -> Page:
    if not ask.text("a") or not ask.text("b"):
        return Page("Compare sessions", join(el("h1", "Compare two sessions"), _choose_sessions("", "")), {})
    one, other = ask.session("a"), ask.session("b")
    found = queries.session_diff(ask.db, one, other)
    shown = found.steps[:_MOST_STEPS]
    commits = queries.commits(ask.db, one, [step.commit_a for step in shown]) | queries.commits(
        ask.db, other, [step.commit_b for step in shown]
    )
    body = join(
        el("h1", "Two sessions"),
        _choose_sessions(one, other),
        _parted(found.divergence),
        _steps(shown, commits, found.divergence, one, other),
        el("p", f"The first {_MOST_STEPS} of {len(found.steps):,} steps.", class_="dim")
        if len(found.steps) > _MOST_STEPS
        else None,
    )
    return Page(f"{one} and {other}", body, found)


def _choose_sessions(one: str, other: str) -> Html:
    return el(
        "form",
        el("label", "Session", el("input", name="a", value=one, required=True)),
        el("label", "and", el("input", name="b", value=other, required=True)),
        el("button", "Compare", type="submit"),
        action="/compare",
        class_="filters",
    )


def _parted(divergence: Divergence | SessionDivergence | None) -> Html:
    if divergence is None:
        return el("p", flag("SAME", "good"), " Both did the same.")
    return el(
        "p", flag("PARTED", "bad"), f" at step {divergence.step}: ", el("strong", divergence.cause), " ", a("#parted", "show")
    )


def _steps(
    steps: list[Step], commits: dict[str, Commit], parted: Divergence | SessionDivergence | None, left: str, right: str
) -> Html:
    def side(id: str) -> Html:
        commit = commits.get(id)
        if commit is None:
            return el("td", "")
        what = commit.error_message or commit.choice or commit.input_summary
        return el(
            "td",
            commit_link(id),
            " ",
            el("strong", said(commit.tool or commit.kind)),
            " ",
            said(what),
            " ",
            el("span", said(commit.output_summary), class_="dim"),
        )

    rows = []
    for step in steps:
        here = parted is not None and (step.commit_a, step.commit_b) == (parted.commit_a, parted.commit_b)
        same = step.same and step.same_context and step.same_request
        rows.append(
            row(
                f"{step.turn}.{step.step}",
                "=" if same and not here else "≠",
                side(step.commit_a),
                side(step.commit_b),
                id="parted" if here else None,
                class_="parted" if here else "same" if same else None,
                data_row=True,
            )
        )
    return table(("Step", "", left, right), rows, caption="Steps side by side") if rows else empty("Neither took a step.")
