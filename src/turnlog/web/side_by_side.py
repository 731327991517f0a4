"""A turn and its retry, or two sessions, step by step to where they part and beyond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from turnlog import queries
from turnlog.cli.render import duration, short
from turnlog.cli.side_by_side import session_totals, why_parted
from turnlog.queries import Commit, Difference, Divergence, PairedEntry, SessionDiff, SessionDivergence, Step
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, card, commit_link, empty, flag, heading, link, nothing, outcome_flag, row, table, tabs
from turnlog.web.texts import input_text, output_text, text_diff

SIGNS = {"added": "+", "removed": "-", "changed": "~"}
MOST_TEXTS = 20
_MOST_STEPS = 100
_MOST_ENTRIES = 100

Parting = Divergence | SessionDivergence | None


class _Window(NamedTuple):
    """Some steps of many: the place of the first, and of the one where the two part (-1 when none is)."""

    steps: list[Step]
    first: int
    total: int
    parted: int
    address: str

    @property
    def is_parting(self) -> bool:
        return self.first <= self.parted < self.first + len(self.steps)


def retry(ask: Ask, session: str) -> Page:
    found = queries.retry_diff(ask.db, session, ask.number("retry"))
    one, other = found.attempts
    window = _window(ask, found.steps, found.divergence, link("/diff", session=session, retry=other.turn))
    commits = _commits(ask, (session, session), window.steps, found.divergence, found.entries)
    body = join(
        heading(
            f"Turn {one.turn} and its retry, turn {other.turn}",
            *(
                f"turn {each.turn}: {each.outcome}, {duration(each.duration_ms)}, {each.tokens_in:,} tokens in"
                for each in found.attempts
            ),
            *change_counts(found.entries),
        ),
        tabs(session, "/diff", other.turn),
        _parted(ask, found.divergence, found.steps, commits, window),
        _entries(found.entries, (session, session), (f"turn {one.turn}", f"turn {other.turn}")),
        _texts(ask, found.entries, commits),
        card("Step by step", _steps(window, commits, f"turn {one.turn}", f"turn {other.turn}")),
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
    window = _window(ask, found.steps, found.divergence, link("/compare", a=one, b=other))
    commits = _commits(ask, (one, other), window.steps, found.divergence, found.entries)
    body = join(
        heading("Compare two sessions", *change_counts(found.entries)),
        _choose_sessions(ask, one, other),
        _parted(ask, found.divergence, found.steps, commits, window),
        _totals(found),
        _entries(found.entries, (one, other), (one, other)),
        _texts(ask, found.entries, commits),
        card("Step by step", _steps(window, commits, one, other, by_turn=True)),
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
        autocomplete="off",
    )


def _window(ask: Ask, steps: list[Step], parted: Parting, address: str) -> _Window:
    """The steps that are asked for; without a word, those where the two part."""
    sides = (parted.commit_a, parted.commit_b) if parted else None
    at = next((place for place, step in enumerate(steps) if (step.commit_a, step.commit_b) == sides), -1)
    wanted = min(ask.number("skip", max(at, 0)), max(len(steps) - 1, 0))
    first = wanted - wanted % _MOST_STEPS
    return _Window(steps[first : first + _MOST_STEPS], first, len(steps), at, address)


def _commits(
    ask: Ask, sessions: tuple[str, str], steps: list[Step], parted: Parting, entries: list[PairedEntry]
) -> dict[str, Commit]:
    told = [(each.commit_a, each.commit_b) for each in (*steps, *([parted] if parted else []), *_changed_files(entries))]
    one, other = ([pair[side] for pair in told] for side in (0, 1))
    return queries.commits(ask.db, sessions[0], one) | queries.commits(ask.db, sessions[1], other)


def _totals(found: SessionDiff) -> Html:
    rows = [row(el("th", name, scope="row"), left, right) for name, left, right in session_totals(*found.sessions)]
    titles = [each.session_id for each in found.sessions]
    return card("In all", table(("", *titles), rows, caption="Both in all"))


def change_counts(found: Sequence[Difference | PairedEntry]) -> list[Html]:
    counts = {change: sum(each.change == change for each in found) for change in SIGNS}
    return [el("span", f"{SIGNS[change]}{many} {change}", class_=change) for change, many in counts.items() if many]


def _entries(found: list[PairedEntry], sessions: tuple[str, str], titles: tuple[str, str]) -> Html | None:
    if not found:
        return None

    def held(op: str, value: str, tool: str, commit: str, session: str) -> Html:
        if not op:
            return el("td", "-", class_="none")
        told = said(short(value)) if op == "set" else flag(op.upper())
        return el("td", told, " ", el("span", said(tool), class_="dim"), " ", commit_link(commit, session))

    rows = [
        row(
            el("td", f"{SIGNS[each.change]} {each.change}", class_=each.change),
            each.kind,
            said(short(each.key)),
            held(each.op_a, each.value_a, each.tool_a, each.commit_a, sessions[0]),
            held(each.op_b, each.value_b, each.tool_b, each.commit_b, sessions[1]),
            data_row=True,
        )
        for each in found[:_MOST_ENTRIES]
    ]
    return card(
        "Entries that differ",
        table(("Change", "Kind", "Key", *titles), rows, caption="Entries that differ"),
        nothing(f"The first {_MOST_ENTRIES} of {len(found):,} entries.") if len(found) > _MOST_ENTRIES else None,
        note="what came of both",
    )


def _changed_files(found: list[PairedEntry]) -> list[PairedEntry]:
    return [each for each in found if each.kind == "file" and each.op_a == each.op_b == "set" and each.tool_a == each.tool_b][
        :MOST_TEXTS
    ]


def _texts(ask: Ask, found: list[PairedEntry], commits: dict[str, Commit]) -> Html | None:
    return changed_texts(ask, commits, [(each.key, each.commit_a, each.commit_b) for each in _changed_files(found)])


def changed_texts(ask: Ask, commits: dict[str, Commit], found: list[tuple[str, str, str]]) -> Html | None:
    """What was last written to a file on either side: entries hold the hash of a content."""
    shown = [
        (el("h3", said(path)), text_diff(input_text(ask, commits[one]), input_text(ask, commits[other])))
        for path, one, other in found
        if one in commits and other in commits and one != other
    ]
    return card("Changed texts", shown, note="what the calls were given, as captured") if shown else None


def _parted(ask: Ask, divergence: Parting, steps: list[Step], commits: dict[str, Commit], window: _Window) -> Html:
    if divergence is None:
        return el("p", flag("SAME", "good"), " Both did the same.", class_="notice good")
    one, other = commits.get(divergence.commit_a), commits.get(divergence.commit_b)
    step = next((each for each in steps if (each.commit_a, each.commit_b) == (divergence.commit_a, divergence.commit_b)), None)
    texts = None
    if one and other:
        ins = (input_text(ask, one), input_text(ask, other))
        outs = (output_text(ask, one), output_text(ask, other))
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
            f" ({why_parted(divergence, step)})" if step else None,
            ". ",
            a("#parted" if window.is_parting else f"{window.address}#parted", "Show it"),
        ),
        texts,
    )


def _steps(window: _Window, commits: dict[str, Commit], left: str, right: str, *, by_turn: bool = False) -> Html:
    def side(id: str) -> Html:
        commit = commits.get(id)
        if commit is None:
            return el("td", "no such step" if not id else "", class_="none")
        what = commit.error_message or commit.choice or commit.input_summary
        why = commit.reason or commit.output_summary
        told = "" if why == what else why
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
    for place, step in enumerate(window.steps, window.first):
        here = place == window.parted
        same = step.same and step.same_context and step.same_request
        rows.append(
            row(
                f"{step.turn}.{step.step}" if by_turn else step.step,
                "=" if same and not here else el("td", "≠", el("small", _unlike(step), class_="told")),
                side(step.commit_a),
                side(step.commit_b),
                id="parted" if here else None,
                class_="parted" if here else "same" if same else None,
                data_row=True,
            )
        )
    if not rows:
        return empty("Neither took a step.")
    shown = table(("Step", "Same", left, right), rows, caption="Steps side by side", class_="sides")
    return join(shown, _pages(window))


def _unlike(step: Step) -> str:
    """What differs of two steps that look alike."""
    if not step.same or (step.same_context and step.same_request):
        return ""
    return "context" if not step.same_context else "model or parameters"


def _pages(window: _Window) -> Html | None:
    last = window.first + len(window.steps)
    if len(window.steps) == window.total:
        return None

    def to(first: int) -> str:
        return f"{window.address}&skip={first}"

    return el(
        "nav",
        a(to(window.first - _MOST_STEPS), "← Earlier") if window.first else None,
        a(to(last), "Later →") if last < window.total else None,
        el("span", f"Steps {window.first + 1:,} to {last:,} of {window.total:,}"),
        class_="pages",
        aria_label="Pages",
    )
