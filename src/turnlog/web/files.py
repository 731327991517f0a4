"""The working set by turn, and who changed a file."""

from __future__ import annotations

from turnlog import queries
from turnlog.cli.render import day_time
from turnlog.errors import NotFound
from turnlog.queries import FileChange, Touched
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, commit_link, empty, flag, link, row, table, tabs, when

_TURNS = 40
_MOST = 200
_LETTERS = {"read": "r", "list": "r", "write": "w", "create": "w", "rename": "w", "delete": "d", "fetch": "f"}


def working_set(ask: Ask) -> Page:
    session = ask.session()
    newest = queries.last_turn(ask.db, session)
    last = ask.number("last", _TURNS)
    found = queries.working_set(ask.db, session, last)
    heat = queries.touches_by_turn(ask.db, session, last)
    turns = range(max(1, newest - last + 1), newest + 1)
    body = join(
        el("h1", "Working set"),
        tabs(session, "/files"),
        el(
            "p",
            f"What turns {turns.start} to {newest} touched: r read, w written, d deleted, f fetched; ",
            flag("observed"),
            " on disk, or ",
            flag("declared"),
            " by the call.",
        ),
        _table(session, found[:_MOST], heat, turns) if found else empty("Nothing was touched."),
        el("p", f"The first {_MOST} of {len(found):,}.", class_="dim") if len(found) > _MOST else None,
    )
    return Page("Working set", body, found, session=session)


def _table(session: str, found: list[Touched], heat: dict[tuple[str, str], dict[int, str]], turns: range) -> Html:
    rows = [_row(session, each, heat.get((each.kind, each.key), {}), turns) for each in found]
    return table(("What", "Kind", "By turn", "Last", "Evidence", "Touches", "By"), rows, caption="Working set", class_="list")


def _row(session: str, each: Touched, heat: dict[int, str], turns: range) -> Html:
    name = a(link("/blame", path=each.key), said(each.key)) if each.kind == "file" else said(each.key)
    cells = [
        el(
            "a",
            letter,
            href=link("/session", id=session, turn=turn),
            class_=f"heat {letter}",
            title=f"turn {turn}: {heat[turn]}",
        )
        if (letter := _LETTERS.get(heat.get(turn, ""), "x" if turn in heat else ""))
        else el("span", "·", class_="heat", aria_hidden="true")
        for turn in turns
    ]
    return row(
        el("th", name, scope="row"),
        each.kind,
        el("td", cells, class_="strip"),
        each.last_action,
        flag(each.evidence) if each.evidence else "",
        f"{each.touches:,}",
        el("td", said(each.tool), " ", commit_link(each.commit_id)),
        data_row=True,
    )


def blame(ask: Ask) -> Page:
    path = ask.text("path")
    if not path:
        raise NotFound("which file? Its path is missing in the address.")
    found = queries.blame(ask.db, path)
    body = join(el("h1", "Who changed ", said(path)), _changes(found))
    return Page(f"Blame {path}", body, found)


def _changes(found: list[FileChange]) -> Html:
    rows = [
        row(
            when(each.changed_at),
            each.action,
            flag(each.evidence) if each.evidence else "",
            el("td", said(each.tool), " ", commit_link(each.commit_id)),
            a(link("/session", id=each.session_id, turn=each.turn), f"turn {each.turn} of ", said(each.session_id)),
            said(each.reason or each.choice),
            title=day_time(each.changed_at),
            data_row=True,
        )
        for each in found
    ]
    return table(("When", "Action", "Evidence", "By", "In", "Why"), rows, caption="Changes, newest first")
