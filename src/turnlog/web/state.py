"""The typed state at any turn, and what the model could see."""

from __future__ import annotations

from itertools import groupby

from turnlog import queries
from turnlog.cli.render import count, duration, short
from turnlog.queries import Entry, Message, OutOfContext, Pending
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, card, commit_link, empty, flag, heading, nothing, row, table, tabs

_MOST = 200


def state(ask: Ask) -> Page:
    session = ask.session()
    newest = queries.last_turn(ask.db, session)
    turn = min(ask.number("turn", newest) or newest, newest)
    is_now = turn == newest
    entries = queries.state(ask.db, session, turn)
    pending = queries.pending(ask.db, session) if is_now else []
    gone = queries.out_of_context(ask.db, session, 0 if is_now else turn)
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
        card("Open work", _pending(pending, session), note="runs, or waits to be done") if pending else None,
        [
            card(kind, _entries(kind, group, session), note="1 entry" if len(group) == 1 else f"{len(group):,} entries")
            for kind, group in kinds
        ]
        or empty("No entries yet.", "Files, decisions, facts and open work become entries as commits change them."),
        card("Fell out of the context", _gone(gone, session), note="what the model could see once and no longer can"),
    )
    return Page("State", body, {"turn": turn, "entries": entries, "pending": pending, "out_of_context": gone})


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
        nothing(f"The first {_MOST} of {len(entries):,}.") if len(entries) > _MOST else None,
    )


def _pending(found: list[Pending], session: str) -> Html:
    rows = [
        row(
            flag(each.status.replace("_", " ").upper(), "open"),
            each.turn,
            el("td", said(each.action), " ", el("span", said(each.input_summary), class_="dim")),
            duration(each.ran_ms) if each.ran_ms else "",
            commit_link(each.commit_id, session),
        )
        for each in found
    ]
    return table(("Status", "Turn", "Action", "For", "Commit"), rows, caption="Open work")


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
        nothing(f"The first {_MOST} of {len(found):,}.") if len(found) > _MOST else None,
    )


def context(ask: Ask) -> Page:
    session = ask.session()
    newest = queries.last_turn(ask.db, session)
    turn = ask.number("turn") or queries.last_model_turn(ask.db, session)
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
        el("label", "Turn", el("input", type="number", name="turn", min=1, max=max(newest, 1), value=turn)),
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
