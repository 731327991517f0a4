"""Two turns, a turn and its retry, or two sessions side by side."""

from __future__ import annotations

import difflib

from turnlog import queries
from turnlog.cli.render import duration, short
from turnlog.queries import Commit, Decided, Difference, Divergence, Failed, SessionDivergence, Step
from turnlog.web.asking import Ask
from turnlog.web.commit import laid_out
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import (
    Page,
    a,
    card,
    commit_link,
    empty,
    flag,
    heading,
    link,
    nothing,
    outcome_flag,
    row,
    table,
    tabs,
)

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_MOST_ROWS = 400
_MOST_TEXTS = 20
_MOST_TEXT = 20_000


def diff(ask: Ask) -> Page:
    session = ask.session()
    if ask.text("retry"):
        return _retry(ask, session)
    newest = queries.last_turn(ask.db, session)
    after = ask.number("b", newest)
    before = ask.number("a", max(after - 1, 0))
    found = queries.diff(ask.db, session, before, after)
    again = [each for each in queries.retries(ask.db, session) if each.kind == "turn"]
    counts = {change: sum(each.change == change for each in found.differences) for change in _SIGNS}
    body = join(
        heading(
            f"Turn {before} → turn {after}",
            *(el("span", f"{_SIGNS[change]}{many} {change}", class_=change) for change, many in counts.items() if many),
            flag(f"{len(found.failures)} failed", "bad") if found.failures else "",
        ),
        tabs(session, "/diff", after),
        _choose(session, before, after, newest),
        card("Entries", _differences(found.differences, session), note="added, removed, changed"),
        _texts(ask, session, before, found.differences),
        card("Decided on the way", _decisions(found.decisions)),
        card("Failed on the way", _failures(found.failures)),
        card("Retries in this session", el("ul", [_retry_link(session, each.original_turn, each.turn) for each in again]))
        if again
        else None,
    )
    return Page(f"Turn {before} → {after}", body, found)


def _choose(session: str, before: int, after: int, newest: int) -> Html:
    def turns(name: str, chosen: int) -> Html:
        return el("input", type="number", name=name, value=chosen, min=0, max=newest)

    return el(
        "form",
        el("input", type="hidden", name="session", value=session),
        el("label", "From turn", turns("a", before)),
        el("label", "to turn", turns("b", after)),
        el("button", "Compare", type="submit"),
        a(_between(session, before - 1, after - 1), "← Earlier", data_key="[") if min(before, after) > 0 else None,
        a(_between(session, before + 1, after + 1), "Later →", data_key="]") if max(before, after) < newest else None,
        class_="filters",
    )


def _between(session: str, before: int, after: int) -> str:
    return link("/diff", session=session, a=str(before), b=str(after))


def _differences(found: list[Difference], session: str) -> Html:
    if not found:
        return empty("The state is the same after both.")
    rows = [
        row(
            el("td", f"{_SIGNS[each.change]} {each.change}", class_=each.change),
            each.kind,
            said(short(each.key)),
            _values(each),
            el("td", said(each.tool), " ", commit_link(each.commit_id, session), f" turn {each.turn}"),
            data_row=True,
        )
        for each in found[:_MOST_ROWS]
    ]
    return join(
        table(("Change", "Kind", "Key", "Value", "By"), rows, caption="Entries that differ"), _first_of(len(found), "entries")
    )


def _first_of(many: int, what: str) -> Html | None:
    return nothing(f"The first {_MOST_ROWS} of {many:,} {what}.") if many > _MOST_ROWS else None


def _values(each: Difference) -> Html:
    before, after = short(each.before_value), short(each.after_value)
    if each.change != "changed":
        return el("td", said(after or before))
    if "\n" in before + after or max(len(before), len(after)) > 80:
        return el("td", text_diff(before, after))
    return el("td", el("del", said(before)), " ", el("ins", said(after)))


def _texts(ask: Ask, session: str, before: int, found: list[Difference]) -> Html | None:
    """What was last written to a changed file, beside what had been written to it: entries hold the hash of a content."""
    changed = [each for each in found if each.change == "changed" and each.kind == "file"][:_MOST_TEXTS]
    if not changed:
        return None
    earlier = {(entry.kind, entry.key): entry.commit_id for entry in queries.state(ask.db, session, before)} if before else {}
    pairs = [(each, earlier.get((each.kind, each.key), ""), each.commit_id) for each in changed]
    commits = queries.commits(ask.db, session, [id for _, one, other in pairs for id in (one, other)])
    shown = [
        (el("h3", said(each.key)), text_diff(_input(ask, commits[one]), _input(ask, commits[other])))
        for each, one, other in pairs
        if one in commits and other in commits and one != other
    ]
    return card("Changed texts", shown, note="what the calls were given, as captured") if shown else None


def _input(ask: Ask, commit: Commit) -> str:
    whole = queries.blob(ask.db, commit.input_hash) if commit.input_hash else None
    return laid_out(whole if whole is not None else commit.input_summary)


def _output(ask: Ask, commit: Commit) -> str:
    whole = queries.blob(ask.db, commit.output_hash) if commit.output_hash else None
    return laid_out(whole if whole is not None else commit.output_summary)


def text_diff(before: str, after: str) -> Html:
    """Line by line, with what is alike around it."""
    lines = difflib.unified_diff(before[:_MOST_TEXT].splitlines(), after[:_MOST_TEXT].splitlines(), lineterm="", n=3)
    kinds = {"+": "ins", "-": "del"}
    return el(
        "pre",
        [el(kinds.get(line[:1], "span"), said(line), "\n") for line in list(lines)[2:]] or "alike but for white space",
        class_="diff",
        tabindex="0",
    )


def _decisions(found: list[Decided]) -> Html:
    if not found:
        return nothing("Nothing was decided.")
    rows = [
        row(
            commit_link(each.commit_id, each.session_id),
            each.turn,
            said(each.about),
            said(each.choice),
            el("td", said(each.reason or "-"), class_="" if each.reason else "none"),
            data_row=True,
        )
        for each in found[:_MOST_ROWS]
    ]
    return join(
        table(("Commit", "Turn", "About", "Choice", "Why"), rows, caption="Decisions"), _first_of(len(found), "decisions")
    )


def _failures(found: list[Failed]) -> Html:
    if not found:
        return nothing("Nothing failed.")
    rows = [
        row(
            commit_link(each.commit_id, each.session_id),
            each.turn,
            said(each.tool or each.kind),
            flag(each.outcome.upper(), "bad"),
            said(each.error_message or each.error),
        )
        for each in found[:_MOST_ROWS]
    ]
    return join(
        table(("Commit", "Turn", "Tool", "Outcome", "Error"), rows, caption="Failures"), _first_of(len(found), "failures")
    )


def _retry_link(session: str, first: int, again: int) -> Html:
    return el("li", a(link("/diff", session=session, retry=again), f"turn {again} against turn {first}"))


def _retry(ask: Ask, session: str) -> Page:
    found = queries.retry_diff(ask.db, session, ask.number("retry"))
    one, other = found.attempts
    shown = found.steps[:_MOST_ROWS]
    told: list[Step | Divergence] = [*shown, *([found.divergence] if found.divergence else [])]
    commits = queries.commits(ask.db, session, [id for each in told for id in (each.commit_a, each.commit_b) if id])
    body = join(
        heading(
            f"Turn {one.turn} and its retry, turn {other.turn}",
            *(
                f"turn {each.turn}: {each.outcome}, {duration(each.duration_ms)}, {each.tokens_in:,} tokens in"
                for each in found.attempts
            ),
        ),
        tabs(session, "/diff", other.turn),
        _parted(ask, found.divergence, commits),
        card("Step by step", _steps(shown, commits, found.divergence, f"turn {one.turn}", f"turn {other.turn}")),
        _first_of(len(found.steps), "steps"),
    )
    return Page(f"Retry of turn {one.turn}", body, found)


def compare(ask: Ask) -> Page:
    if not ask.text("a") or not ask.text("b"):
        body = join(
            heading("Compare two sessions"),
            _choose_sessions(ask, "", ""),
            empty(
                "Two runs of one task, step by step, to where they part.", "The beginning of an id is enough, if it is unique."
            ),
        )
        return Page("Compare sessions", body, {}, place="/compare")
    one, other = ask.session("a"), ask.session("b")
    found = queries.session_diff(ask.db, one, other)
    shown = found.steps[:_MOST_ROWS]
    commits = queries.commits(ask.db, one, [step.commit_a for step in shown]) | queries.commits(
        ask.db, other, [step.commit_b for step in shown]
    )
    body = join(
        heading("Compare two sessions"),
        _choose_sessions(ask, one, other),
        _parted(ask, found.divergence, commits),
        card("Step by step", _steps(shown, commits, found.divergence, one, other, by_turn=True)),
        _first_of(len(found.steps), "steps"),
    )
    return Page(f"{one} and {other}", body, found, place="/compare")


def _choose_sessions(ask: Ask, one: str, other: str) -> Html:
    known = [el("option", value=each.session_id) for each in queries.sessions_like(ask.db, limit=20)]
    return el(
        "form",
        el("label", "Session", el("input", name="a", value=one, required=True, list="known", class_="session")),
        el("label", "and", el("input", name="b", value=other, required=True, list="known", class_="session")),
        el("datalist", known, id="known"),
        el("button", "Compare", type="submit"),
        action="/compare",
        class_="filters",
    )


def _parted(ask: Ask, divergence: Divergence | SessionDivergence | None, commits: dict[str, Commit]) -> Html:
    if divergence is None:
        return el("p", flag("SAME", "good"), " Both did the same.", class_="notice good")
    one, other = commits.get(divergence.commit_a), commits.get(divergence.commit_b)
    texts = None
    if one and other:
        ins = (_input(ask, one), _input(ask, other))
        outs = (_output(ask, one), _output(ask, other))
        texts = [
            (el("h3", name), text_diff(*sides))
            for name, sides in (("What went in", ins), ("What came out", outs))
            if sides[0] != sides[1]
        ]
    turn = f"turn {divergence.turn}, " if isinstance(divergence, SessionDivergence) else ""
    return card(
        "They part",
        el(
            "p",
            flag("PARTED", "bad"),
            f" at {turn}step {divergence.step}: ",
            el("strong", divergence.cause),
            ". ",
            a("#parted", "Show it"),
        ),
        texts,
    )


def _steps(
    steps: list[Step],
    commits: dict[str, Commit],
    parted: Divergence | SessionDivergence | None,
    left: str,
    right: str,
    *,
    by_turn: bool = False,
) -> Html:
    def side(id: str) -> Html:
        commit = commits.get(id)
        if commit is None:
            return el("td", "no such step" if not id else "", class_="none")
        what = commit.error_message or commit.choice or commit.input_summary
        told = "" if commit.output_summary == what else commit.output_summary
        return el(
            "td",
            commit_link(id, commit.session_id),
            " ",
            el("strong", said(commit.tool or commit.kind)),
            " ",
            outcome_flag(commit.outcome),
            " ",
            said(what),
            " ",
            el("span", said(told), class_="told") if told else None,
        )

    rows = []
    for step in steps:
        here = parted is not None and (step.commit_a, step.commit_b) == (parted.commit_a, parted.commit_b)
        same = step.same and step.same_context and step.same_request
        rows.append(
            row(
                f"{step.turn}.{step.step}" if by_turn else step.step,
                "=" if same and not here else "≠",
                side(step.commit_a),
                side(step.commit_b),
                id="parted" if here else None,
                class_="parted" if here else "same" if same else None,
                data_row=True,
            )
        )
    return table(("Step", "Same", left, right), rows, caption="Steps side by side") if rows else empty("Neither took a step.")
