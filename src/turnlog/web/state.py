"""The typed state at any turn, and what the model could see."""

from __future__ import annotations

from itertools import groupby

from turnlog import queries
from turnlog.queries import Entry, Message, OutOfContext, Pending
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, commit_link, empty, flag, row, table, tabs


def state(ask: Ask) -> Page:
    session = ask.session()
    newest = queries.last_turn(ask.db, session)
    turn = min(ask.number("turn", newest), newest)
    is_now = turn == newest
    entries = queries.state(ask.db, session, turn)
    pending = queries.pending(ask.db, session) if is_now else []
    gone = queries.out_of_context(ask.db, session, 0 if is_now else turn)
    body = join(
        el("h1", "State ", el("small", "now" if is_now else f"after turn {turn}")),
        tabs(session, "/state"),
        _slider(session, turn, newest),
        el("h2", "Open work") if pending else None,
        _pending(pending) if pending else None,
        [_entries(kind, list(group)) for kind, group in groupby(entries, key=lambda entry: entry.kind)]
        or empty("No entries yet."),
        el("h2", "Fell out of the context"),
        _gone(gone),
    )
    return Page("State", body, {"turn": turn, "entries": entries, "pending": pending, "out_of_context": gone}, session=session)


def _slider(session: str, turn: int, newest: int) -> Html:
    return el(
        "form",
        el("input", type="hidden", name="session", value=session),
        el(
            "label",
            "After turn",
            el("input", type="range", name="turn", min=1, max=max(newest, 1), value=turn, data_submit=True),
        ),
        el("output", f"{turn} of {newest}"),
        el("button", "Show", type="submit"),
        class_="filters",
    )


def _entries(kind: str, entries: list[Entry]) -> Html:
    rows = [
        row(
            said(each.key),
            el("td", el("span", each.action, " ", class_="dim"), said(each.value)),
            each.tier,
            each.turn,
            el("td", said(each.tool), " ", commit_link(each.commit_id)),
            data_row=True,
        )
        for each in entries
    ]
    return join(el("h2", kind), table(("Key", "Value", "Tier", "Turn", "By"), rows, caption=f"{kind} entries"))


def _pending(found: list[Pending]) -> Html:
    rows = [
        row(flag(each.status.replace("_", " "), "open"), each.turn, said(each.action), commit_link(each.commit_id))
        for each in found
    ]
    return table(("Status", "Turn", "Action", "Commit"), rows, caption="Open work")


def _gone(found: list[OutOfContext]) -> Html:
    if not found:
        return el("p", "Nothing.", class_="dim")
    rows = [
        row(each.kind, said(each.key), said(each.summary), each.turn, said(each.reason), commit_link(each.commit_id))
        for each in found[:200]
    ]
    return table(("Kind", "Key", "What", "Left in turn", "Why", "Commit"), rows, caption="Out of context")


def context(ask: Ask) -> Page:
    session = ask.session()
    newest = queries.last_turn(ask.db, session)
    turn = ask.number("turn") or queries.last_model_turn(ask.db, session)
    found = queries.context(ask.db, session, turn)
    body = join(
        el("h1", "What the model saw ", el("small", f"in turn {turn}")),
        tabs(session, "/context"),
        _turns(session, turn, newest),
        _messages(found) if found else empty("No model call of this turn is known."),
    )
    return Page("Context", body, found, session=session)


def _turns(session: str, turn: int, newest: int) -> Html:
    return el(
        "form",
        el("input", type="hidden", name="session", value=session),
        el("label", "Turn", el("input", type="number", name="turn", min=1, max=max(newest, 1), value=turn)),
        el("button", "Show", type="submit"),
        class_="filters",
    )


def _messages(found: list[Message]) -> Html:
    rows = [
        row(
            each.position,
            each.role,
            said(each.tool),
            said(each.summary),
            each.turn,
            commit_link(each.source_commit) if each.source_commit else "",
            data_row=True,
        )
        for each in found
    ]
    return table(("#", "Role", "Tool", "Message", "Since turn", "From"), rows, caption="Messages in the context")
