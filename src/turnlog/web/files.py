"""The working set by turn, and who changed a file."""

from __future__ import annotations

from turnlog import queries
from turnlog.cli.blame import what_changed
from turnlog.errors import NotFound
from turnlog.queries import FileChange, Touched
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, Row, a, commit_link, empty, flag, heading, link, nothing, number, row, table, tabs, when

Heat = dict[int, tuple[str, str]]
_TURNS = 40
_MOST = 200
_LETTERS = {"read": "r", "list": "r", "write": "w", "create": "w", "rename": "w", "delete": "d", "fetch": "f"}
_UNTOUCHED = el("span", "·", class_="heat untouched")
_KEY = (("r", "read"), ("w", "written"), ("d", "deleted"), ("f", "fetched"))


def working_set(ask: Ask) -> Page:
    session = ask.session()
    newest = queries.last_turn(ask.db, session)
    last = min(ask.number("last", _TURNS) or _TURNS, _MOST)
    found = queries.working_set(ask.db, session, last)
    heat = queries.touches_by_turn(ask.db, session, last)
    turns = range(max(1, newest - last + 1), newest + 1)
    body = join(
        heading("Working set", f"turns {turns.start} to {newest}", f"{len(found):,} files and sources"),
        tabs(session, "/files"),
        el(
            "p",
            [el("span", el("span", letter, class_=f"heat {letter}"), " ", what) for letter, what in _KEY],
            el("span", el("span", "w", class_="heat w declared"), " only declared by the call, not observed on disk"),
            class_="legend",
        ),
        _table(session, found[:_MOST], heat, turns)
        if found
        else empty(
            "Nothing was touched.",
            "Files come from what tools are given, from patches and shell commands, and from what was seen on disk meanwhile.",
        ),
        nothing(f"The first {_MOST} of {len(found):,}.") if len(found) > _MOST else None,
        el("nav", a(link("/files", session=session, last=_MOST), f"The last {_MOST} turns"), class_="pages", aria_label="More")
        if turns.start > 1 and last < _MOST
        else None,
    )
    return Page("Working set", body, found)


def _table(session: str, found: list[Touched], heat: dict[tuple[str, str], Heat], turns: range) -> Html:
    rows = [_row(session, each, heat.get((each.kind, each.key), {}), turns) for each in found]
    head = ("What", "Kind", "By turn", "Last", "Evidence", "Touches", "By")
    numbers = join("By turn", el("span", [el("span", turn, class_="heat") for turn in turns], class_="axis"))
    return table(head, rows, caption="Working set", heads={"By turn": numbers}, class_="list")


def _row(session: str, each: Touched, heat: Heat, turns: range) -> Row:
    name = a(_blame_link(each.key, session), said(each.key)) if each.kind == "file" else said(each.key)
    cells = [_heat(session, each, turn, *heat[turn]) if turn in heat else _UNTOUCHED for turn in turns]
    return row(
        el("th", name, scope="row"),
        each.kind,
        el("td", cells, class_="strip"),
        join(each.last_action, el("span", " from ", said(each.renamed_from), class_="dim") if each.renamed_from else None),
        flag(each.evidence) if each.evidence else "",
        number(each.touches),
        el("td", said(each.tool), " ", commit_link(each.commit_id, session)),
        data_row=True,
    )


def _heat(session: str, each: Touched, turn: int, action: str, evidence: str) -> Html:
    letter = _LETTERS.get(action, "x")
    to = (
        _blame_link(each.key, session, turn)
        if each.kind == "file" and letter in "wd"
        else link("/session", id=session, turn=turn)
    )
    told = f"turn {turn}: {action}{f', {evidence}' if evidence else ''}"
    kind = f"heat {letter}{' declared' if evidence == 'declared' else ''}"
    at = el("small", turn, class_="at", aria_hidden="true")
    return a(to, letter, at, class_=kind, title=told, aria_label=f"{told} {each.key}")


def _blame_link(path: str, session: str, turn: int = 0) -> str:
    return link("/blame", path=path, session=session, turn=turn)


def blame(ask: Ask) -> Page:
    path, turn = ask.text("path"), ask.number("turn")
    if not path:
        raise NotFound("which file? Its path is missing in the address.")
    session = ask.session() if ask.text("session") else ""
    found = queries.blamed_in(ask.db, session, path, _MOST + 1) if session else queries.blame(ask.db, path)
    shown = found[:_MOST]
    body = join(
        heading(
            said(path), f"{len(shown):,} changes", "in this session" if session else "in all sessions", small="who changed it"
        ),
        tabs(session, "/files") if session else None,
        _changes(shown, turn) if shown else empty("It was not changed here."),
        nothing(f"The last {_MOST} changes.") if len(found) > _MOST else None,
        el("nav", a(link("/blame", path=path), "In all sessions"), class_="pages", aria_label="More") if session else None,
    )
    return Page(f"Blame {path}", body, shown)


def _changes(found: list[FileChange], turn: int) -> Html:
    rows = [
        row(
            el("td", when(each.changed_at)),
            said(each.path),
            el("td", what_changed(each).partition(" ")[0], " ", said(what_changed(each).partition(" ")[2])),
            flag(each.evidence) if each.evidence else "",
            el("td", said(each.tool), " ", commit_link(each.commit_id, each.session_id)),
            a(link("/session", id=each.session_id, turn=each.turn), f"turn {each.turn} of ", said(each.session_id)),
            el(
                "td",
                said(each.reason or each.choice or "-"),
                " ",
                commit_link(each.decision_commit_id, each.session_id),
            ),
            class_="chosen" if turn and each.turn == turn else None,
            data_row=True,
        )
        for each in found
    ]
    return table(("When", "File", "Change", "Evidence", "By", "In", "Why"), rows, caption="Changes, newest first")
