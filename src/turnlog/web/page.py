"""What every page shares: the frame around it, links, and how rows become tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from turnlog.cli.render import day_time, duration
from turnlog.web.html import Child, Html, cell, document, el, join, said

_PLACES = (("Sessions", "/"), ("Compare", "/compare"), ("SQL", "/sql"), ("Health", "/health"))
SHORT_ID = 7
_FAR = 86_400 * 30


@dataclass(frozen=True, slots=True)
class Page:
    """A view: its title, its markup, and the same as data for the `.json` beside it."""

    title: str
    body: Html
    data: Any
    place: str = ""
    live: bool = True
    status: int = 200


class Row(NamedTuple):
    cells: tuple[Child, ...]
    attributes: dict[str, Any]


def link(path: str, /, **query: Any) -> str:
    """An address on this server; what is empty is left out."""
    given = {name.rstrip("_"): value for name, value in query.items() if value not in ("", None, 0, False)}
    return f"{path}?{urlencode(given)}" if given else path


def a(to: str, *children: Child, **attributes: Any) -> Html:
    return el("a", *children, href=to, **attributes)


def whole(page: Page, seen: str, theme: str) -> str:
    """The document around a page. `seen`: how much was written when it was made; `theme`: light, dark or the system's."""
    nav = el(
        "nav",
        [a(path, name, aria_current="page" if path == page.place else None) for name, path in _PLACES],
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
        a("/", el("img", src="/static/turnlog.svg", alt="", width=20, height=20), "turnlog", class_="name"),
        nav,
        el("span", "live" if page.live else "", class_="live", role="status"),
        el("button", "◐", class_="theme", type="button", aria_label="Light or dark", title="Light or dark (t)"),
        el("button", "?", class_="keys", type="button", aria_label="Keys", title="Keys (?)"),
    )
    main = el("main", page.body, id="main", tabindex="-1", data_live=seen if page.live else None)
    return document(
        el("html", head, el("body", top, main), lang="en", data_theme=theme if theme in ("light", "dark") else None)
    )


def heading(title: Child, *facts: Child, small: Child = "") -> Html:
    """The top of a page: what it is about, and what is to be known of it at once."""
    shown = [el("li", fact) for fact in facts if fact]
    return el(
        "header",
        el("h1", title, el("small", small) if small else None),
        el("ul", shown, class_="facts") if shown else None,
        class_="top",
    )


def card(title: Child, *children: Child, note: Child = "", **attributes: Any) -> Html:
    """A part of a page with its own title."""
    return el(
        "section",
        el("h2", title, el("small", note) if note else None),
        *children,
        class_=f"card {attributes.pop('class_', '')}".strip(),
        **attributes,
    )


def tabs(session: str, here: str, turn: int = 0) -> Html:
    """The views of one session; the turn that is looked at goes along."""
    views = (
        ("Timeline", "/session", {"id": session, "turn": turn}),
        ("Diff", "/diff", {"session": session, "b": turn}),
        ("State", "/state", {"session": session, "turn": turn}),
        ("Working set", "/files", {"session": session}),
        ("Context", "/context", {"session": session, "turn": turn}),
    )
    return el(
        "nav",
        a(link("/session", id=session), said(session), class_="crumb") if here != "/session" else None,
        [a(link(path, **query), name, aria_current="page" if path == here else None) for name, path, query in views],
        class_="tabs",
        aria_label="Views of this session",
    )


def table(
    head: Sequence[str], rows: Iterable[Row], *, caption: str, heads: Mapping[str, Html] | None = None, **attributes: Any
) -> Html:
    """Cells know the title of their column: on a narrow screen, a row is a list of both. `heads`: titles that show more."""
    found = list(rows)
    titles = [
        el("th", (heads or {}).get(title, title), scope="col", class_="number" if _counts(found, place) else None)
        for place, title in enumerate(head)
    ]
    body = [
        el("tr", [cell(each, title) for each, title in zip(row.cells, head, strict=True)], **row.attributes) for row in found
    ]
    return el(
        "div",
        el("table", el("caption", caption, class_="unseen"), el("thead", el("tr", titles)), el("tbody", body), **attributes),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def _counts(rows: list[Row], place: int) -> bool:
    return bool(rows) and str(rows[0].cells[place]).startswith('<td class="number')


def row(*cells: Child, **attributes: Any) -> Row:
    return Row(cells, attributes)


def number(value: int) -> Html:
    return el("td", f"{value:,}", class_="number" + ("" if value else " none"))


def when(at: datetime) -> Html:
    return el("time", day_time(at), datetime=at.replace(tzinfo=UTC).isoformat())


def running_since(at: datetime) -> Html:
    """How long something has been running, which the script counts on."""
    began = at.replace(tzinfo=UTC)
    ran = (datetime.now(UTC) - began).total_seconds() * 1000
    return el("span", duration(max(ran, 0.0)), data_since=round(began.timestamp() * 1000))


def ago(at: datetime) -> Html:
    """How long ago, with the time itself at hand; what is long past only by its date."""
    seconds = (datetime.now(UTC) - at.replace(tzinfo=UTC)).total_seconds()
    if not 0 <= seconds < _FAR:
        return when(at)
    for unit, length in (("day", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            many = int(seconds // length)
            said_so = f"{many} {unit}{'s' if unit == 'day' and many > 1 else ''} ago"
            break
    else:
        said_so = "just now"
    return el("time", said_so, datetime=at.replace(tzinfo=UTC).isoformat(), title=day_time(at))


def flag(word: str, kind: str = "") -> Html:
    """A short word with a shape: never colour alone."""
    return el("span", word, class_=f"flag {kind}".strip())


def outcome_flag(outcome: str) -> Html | None:
    """How a commit ended, where that is not well."""
    if outcome == "ok":
        return None
    return flag("RUNNING", "open") if outcome == "in_flight" else flag(outcome.upper(), "bad")


def commit_link(commit_id: str, session: str = "") -> Html:
    return a(link("/commit", session=session, id=commit_id), commit_id[:SHORT_ID], class_="id") if commit_id else Html("")


def empty(what: Child, *next_steps: Child) -> Html:
    """Nothing to show, and what to do about it."""
    return el("div", el("p", what), [el("p", step) for step in next_steps], class_="empty")


def nothing(what: Child) -> Html:
    return el("p", what, class_="dim")


def pairs(found: Iterable[tuple[Child, Child]]) -> Html:
    """Names with their values; what is empty is left out."""
    return el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in found if value], class_="pairs")


def text_block(text: str, *, most: int) -> Html:
    """A long text, cut to what a browser shows well."""
    shown = el("pre", said(text[:most]), tabindex="0")
    if len(text) <= most:
        return shown
    return join(shown, nothing(f"{len(text) - most:,} characters more: they are in the .json of this page."))
