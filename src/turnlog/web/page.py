"""What every page shares: the frame around it, links, and how rows become tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from turnlog.cli.render import day_time, duration
from turnlog.web.html import Child, Html, document, el, join, said

_PLACES = (("Sessions", "/"), ("SQL", "/sql"), ("Health", "/health"))
SHORT_ID = 7


@dataclass(frozen=True, slots=True)
class Page:
    """A view: its title, its markup, and the same as data for the `.json` beside it."""

    title: str
    body: Html
    data: Any
    place: str = ""
    session: str = ""
    live: bool = True
    status: int = 200


def link(path: str, /, **query: Any) -> str:
    """An address on this server; what is empty is left out."""
    given = {name.rstrip("_"): value for name, value in query.items() if value not in ("", None, 0, False)}
    return f"{path}?{urlencode(given)}" if given else path


def a(to: str, *children: Child, **attributes: Any) -> Html:
    return el("a", *children, href=to, **attributes)


def whole(page: Page) -> str:
    """The document around a page."""
    places = [(name, path) for name, path in _PLACES]
    nav = el(
        "nav",
        [a(path, name, aria_current="page" if path == page.place else None) for name, path in places],
        aria_label="turnlog",
    )
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{page.title} · turnlog"),
        el("link", rel="icon", href="/static/turnlog.svg", type="image/svg+xml"),
        el("link", rel="stylesheet", href="/static/turnlog.css"),
        el("script", src="/static/turnlog.js", type="module"),
    )
    top = el(
        "header",
        a("#main", "Skip to the content", class_="skip"),
        a("/", "turnlog", class_="name"),
        nav,
        el("span", "live" if page.live else "", class_="live", role="status", aria_live="polite"),
        el("button", "?", class_="keys", type="button", aria_label="Keys", title="Keys (?)"),
    )
    main = el("main", page.body, id="main", tabindex="-1", data_live="" if page.live else None)
    return document(el("html", head, el("body", top, main), lang="en"))


def tabs(session: str, here: str) -> Html:
    """The views of one session."""
    views = (
        ("Timeline", "/session", {"id": session}),
        ("State", "/state", {"session": session}),
        ("Diff", "/diff", {"session": session}),
        ("Working set", "/files", {"session": session}),
        ("Context", "/context", {"session": session}),
    )
    return el(
        "nav",
        [a(link(path, **query), name, aria_current="page" if path == here else None) for name, path, query in views],
        class_="tabs",
        aria_label="Views of this session",
    )


def table(head: Sequence[str], rows: Iterable[Html], *, caption: str, **attributes: Any) -> Html:
    titles = el("tr", [el("th", title, scope="col") for title in head])
    return el(
        "div",
        el("table", el("caption", caption, class_="unseen"), el("thead", titles), el("tbody", rows), **attributes),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def row(*cells: Child, **attributes: Any) -> Html:
    return el(
        "tr",
        [cell if isinstance(cell, Html) and cell.startswith(("<td", "<th")) else el("td", cell) for cell in cells],
        **attributes,
    )


def number(value: int) -> Html:
    return el("td", f"{value:,}", class_="number" + ("" if value else " none"))


def when(at: datetime) -> Html:
    return el("time", day_time(at), datetime=at.replace(tzinfo=UTC).isoformat())


def lasted(milliseconds: float) -> str:
    return duration(milliseconds)


def flag(word: str, kind: str = "") -> Html:
    """A short word with a shape: never colour alone."""
    return el("span", word, class_=f"flag {kind}".strip())


def commit_link(commit_id: str) -> Html:
    return a(link("/commit", id=commit_id), commit_id[:SHORT_ID], class_="id")


def empty(what: str, *next_steps: Child) -> Html:
    """Nothing to show, and what to do about it."""
    return el("div", el("p", what), [el("p", step) for step in next_steps], class_="empty")


def text_block(text: str, *, most: int, more: str = "") -> Html:
    """A long text, cut to what a browser shows well."""
    shown = el("pre", said(text[:most]), tabindex="0")
    if len(text) <= most:
        return shown
    rest = f"{len(text) - most:,} characters more"
    return join(shown, el("p", a(more, rest) if more else rest, class_="dim"))
