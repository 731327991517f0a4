"""The typed state at any turn, and what the model could see."""

from __future__ import annotations

from itertools import groupby

from turnlog import queries
from turnlog.cli.render import SPAN_ID, count, duration, short
from turnlog.queries import Commit, Entry, Message, OutOfContext, Pending, Source
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import (
    Page,
    card,
    commit_link,
    empty,
    flag,
    heading,
    nothing,
    outcome_flag,
    row,
    running_since,
    table,
    tabs,
    when,
)

_MOST = 200
_LAST_FAILURES = 5


def state(ask: Ask) -> Page:
    session = ask.session()
    newest = queries.last_turn(ask.db, session)
    turn = ask.turn(session, newest) or newest
    is_now = turn == newest
    entries = queries.state(ask.db, session, turn)
    pending = queries.pending(ask.db, session) if is_now else []
    gone = queries.out_of_context(ask.db, session, 0 if is_now else turn)
    failures = queries.log(ask.db, session, failed=True, to=turn, limit=_LAST_FAILURES)
    doubts = queries.unverified(ask.db, session) if is_now else []
    named = [entry.commit_id for entry in entries if entry.kind == "decision" and not SPAN_ID.match(entry.key)]
    reasons = queries.commits(ask.db, session, named[:_MOST])
    kinds = [(kind, list(group)) for kind, group in groupby(entries, key=lambda entry: entry.kind)]
    body = join(
        heading(
            "State",
            *(f"{kind} {len(group):,}" for kind, group in kinds),
            flag(f"{len(pending)} open", "open") if pending else "",
            flag(f"{len(gone)} out of context", "open") if gone else "",
            small="now" if is_now else f"after turn {turn}",
        ),
        tabs(session, "/state", turn),
        _slider(session, turn, newest),
        card("Open work", _pending(pending, session), note="runs, or waits to be done", id="open") if pending else None,
        [
            card(
                kind,
                _decisions(group, reasons, session) if kind == "decision" else _entries(kind, group, session),
                note="1 entry" if len(group) == 1 else f"{len(group):,} entries",
            )
            for kind, group in kinds
        ]
        or empty("No entries yet.", "Files, decisions, facts and open work become entries as commits change them."),
        card("Last failures", _failures(failures, session), id="failures") if failures else None,
        card("Not verified", _doubts(doubts, session), note="what nobody has vouched for", id="unverified") if doubts else None,
        card(
            "Fell out of the context", _gone(gone, session), note="what the model could see once and no longer can", id="gone"
        ),
    )
    data = {"turn": turn, "entries": entries, "pending": pending, "out_of_context": gone}
    return Page("State", body, data | {"failures": failures, "unverified": doubts})


def _slider(session: str, turn: int, newest: int) -> Html:
    return el(
        "form",
        el("input", type="hidden", name="session", value=session),
        el(
            "label",
            "After turn",
            el("input", type="range", name="turn", min=1, max=max(newest, 1), value=turn, id="turn", data_slide=True),
        ),
        el("output", f"{turn} of {newest}", for_="turn"),
        el("button", "Show", type="submit"),
        class_="filters slider",
        autocomplete="off",
    )


def _entries(kind: str, entries: list[Entry], session: str) -> Html:
    rows = [
        row(
            el("th", said(short(each.key)), scope="row"),
            el("td", el("span", each.action, " ", class_="dim") if each.action else None, said(short(each.value))),
            each.tier,
            each.turn,
            el("td", said(each.tool), " ", commit_link(each.commit_id, session)),
            data_row=True,
        )
        for each in entries[:_MOST]
    ]
    return join(
        table(("Key", "Value", "Tier", "Turn", "By"), rows, caption=f"{kind} entries"),
        _first_of(len(entries)),
    )


def _decisions(entries: list[Entry], reasons: dict[str, Commit], session: str) -> Html:
    """What was decided by name, with its reason; what a model chose in one call is one of hundreds."""
    steps = [each for each in entries if SPAN_ID.match(each.key)]
    named = [each for each in entries if not SPAN_ID.match(each.key)]
    rows = [
        row(
            el("th", said(each.key), scope="row"),
            said(each.value),
            said(reasons[each.commit_id].reason) if each.commit_id in reasons else "",
            each.turn,
            el("td", said(each.tool), " ", commit_link(each.commit_id, session)),
            data_row=True,
        )
        for each in named[:_MOST]
    ]
    return join(
        table(("About", "Choice", "Why", "Turn", "By"), rows, caption="decision entries") if rows else None,
        _first_of(len(named)),
        el("details", el("summary", f"{count(len(steps), 'choice')} of a model call"), _entries("step", steps, session))
        if steps
        else None,
    )


def _failures(found: list[Commit], session: str) -> Html:
    rows = [
        row(
            commit_link(each.commit_id, session),
            each.turn,
            said(each.tool or each.kind),
            outcome_flag(each.outcome),
            said(each.error_message or each.error),
            said(each.input_summary),
            data_row=True,
        )
        for each in found
    ]
    return table(("Commit", "Turn", "Tool", "Outcome", "Error", "Input"), rows, caption="Last failures")


def _doubts(found: list[Source], session: str) -> Html:
    rows = [
        row(
            commit_link(each.commit_id, session),
            each.turn,
            said(each.tool or each.source_kind.replace("_", " ")),
            said(each.summary),
            data_row=True,
        )
        for each in found[:_MOST]
    ]
    return join(table(("Commit", "Turn", "From", "What"), rows, caption="Not verified"), _first_of(len(found)))


def _first_of(many: int) -> Html | None:
    return nothing(f"The first {_MOST} of {many:,}.") if many > _MOST else None


def _pending(found: list[Pending], session: str) -> Html:
    rows = [
        row(
            flag(each.status.replace("_", " ").upper(), "open"),
            each.turn,
            el("td", said(each.action), " ", el("span", said(each.input_summary), class_="dim")),
            _since(each),
            commit_link(each.commit_id, session),
        )
        for each in found
    ]
    return table(("Status", "Turn", "Action", "Since", "Commit"), rows, caption="Open work")


def _since(row: Pending) -> Html:
    if row.status == "in_flight":
        return el("td", "running for ", running_since(row.since_at))
    # A process shows life every few seconds; how much later it died nobody saw.
    return el("td", f"ran at least {duration(row.ran_ms)}") if row.status == "interrupted" else el("td", when(row.since_at))


def _gone(found: list[OutOfContext], session: str) -> Html:
    if not found:
        return nothing("Nothing.")
    rows = [
        row(
            each.kind,
            said(short(each.key)),
            said(each.summary),
            each.turn,
            said(each.reason),
            commit_link(each.commit_id, session),
        )
        for each in found[:_MOST]
    ]
    return join(
        table(("Kind", "Key", "What", "Left in turn", "Why", "Commit"), rows, caption="Out of context"),
        _first_of(len(found)),
    )


def context(ask: Ask) -> Page:
    session = ask.session()
    newest = queries.last_turn(ask.db, session)
    turn = ask.turn(session, newest) or queries.last_model_turn(ask.db, session)
    found = queries.context(ask.db, session, turn)
    body = join(
        heading("What the model saw", count(len(found), "message") if found else "", small=f"in turn {turn}"),
        tabs(session, "/context", turn),
        _turns(session, turn, newest),
        _messages(found, session) if found else empty("No model call of this turn is known."),
    )
    return Page("Context", body, found)


def _turns(session: str, turn: int, newest: int) -> Html:
    return el(
        "form",
        el("input", type="hidden", name="session", value=session),
        el("label", "Turn", el("input", type="number", name="turn", min=1, max=max(newest, 1), value=turn or None)),
        el("button", "Show", type="submit"),
        class_="filters",
        autocomplete="off",
    )


def _messages(found: list[Message], session: str) -> Html:
    rows = [
        row(
            each.position,
            flag(each.role, f"role-{each.role}"),
            said(each.tool),
            said(each.summary),
            each.turn,
            commit_link(each.source_commit, session),
            data_row=True,
        )
        for each in found[-_MOST:]
    ]
    return join(
        nothing(f"The last {_MOST}.") if len(found) > _MOST else None,
        table(("#", "Role", "Tool", "Message", "Since turn", "From"), rows, caption="Messages in the context"),
    )
