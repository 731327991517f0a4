"""The list of sessions."""

from __future__ import annotations

from typing import NamedTuple

from turnlog import queries
from turnlog.cli.render import count, duration
from turnlog.queries import Session, SessionFlags
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, Row, a, ago, empty, flag, heading, link, number, row, running_since, table

_AT_ONCE = 50
_STATUSES = ("open", "active", "idle", "dead", "paused", "closed", "archived")
_HEAD = (
    "Session",
    "Status",
    "Agent",
    "Turns",
    "Commits",
    "Failures",
    "Evictions",
    "Unverified",
    "Tokens in",
    "Tokens out",
    "Lasted",
    "Last active",
)


_FLAGS = {"failed": "with failures", "evicted": "with evictions", "unverified": "with unverified inputs"}


class Filters(NamedTuple):
    text: str
    status: str
    flags: dict[str, bool]

    @property
    def query(self) -> dict[str, str]:
        return {"q": self.text, "status": self.status, **{name: "1" for name, is_asked in self.flags.items() if is_asked}}


def sessions(ask: Ask) -> Page:
    filters = Filters(ask.text("q"), ask.text("status"), {name: ask.text(name) == "1" for name in _FLAGS})
    skip = ask.number("skip")
    found = queries.sessions_like(
        ask.db, text=filters.text, status=filters.status, **filters.flags, limit=_AT_ONCE + 1, skip=skip
    )
    total = queries.totals(ask.db)
    shown, more = found[:_AT_ONCE], len(found) > _AT_ONCE
    flags = queries.session_flags(ask.db, [session.session_id for session in shown])
    known = (count(total.sessions, "session"), count(total.commits, "commit"), count(total.spans, "span"))
    body = join(
        heading("Sessions", *(known if total.sessions else ())),
        _filters(filters) if total.sessions else None,
        _table(shown, flags) if shown else _nothing(total.sessions),
        _pages(filters, skip, more),
    )
    return Page("Sessions", body, {"sessions": shown, "flags": list(flags.values())}, place="/")


def _filters(filters: Filters) -> Html:
    words = filters.text
    choices = [el("option", each, value=each, selected=each == filters.status) for each in _STATUSES]
    return el(
        "form",
        el("label", "Search", el("input", type="search", name="q", value=words, placeholder="id or agent", data_key="/")),
        el("label", "Status", el("select", el("option", "any", value=""), choices, name="status", data_submit=True)),
        [
            el("label", el("input", type="checkbox", name=name, value="1", checked=is_asked, data_submit=True), _FLAGS[name])
            for name, is_asked in filters.flags.items()
        ],
        el("button", "Show", type="submit"),
        a("/", "Clear") if any(filters.query.values()) else None,
        role="search",
        class_="filters",
        autocomplete="off",
    )


def _table(found: list[Session], flags: dict[str, SessionFlags]) -> Html:
    rows = [_row(session, flags.get(session.session_id)) for session in found]
    return table(_HEAD, rows, caption="Sessions, newest first", class_="list")


def _row(session: Session, flags: SessionFlags | None) -> Row:
    lasted = (session.last_active_at - session.started_at).total_seconds() * 1000
    is_running = session.status == "active"
    return row(
        el("th", a(link("/session", id=session.session_id), said(session.session_id)), scope="row"),
        el(
            "td",
            flag(session.status, session.status),
            flag(f"{session.in_flight:,} running", "open") if session.in_flight else None,
            flag("pinned") if session.pinned else None,
        ),
        said(session.agent or "-"),
        number(session.turns),
        number(session.commits),
        _noted(session.failures, "bad"),
        _noted(flags.evictions if flags else 0, "open"),
        _noted(flags.unverified if flags else 0, "bad"),
        number(session.tokens_in),
        number(session.tokens_out),
        el("td", running_since(session.started_at) if is_running else duration(lasted), class_="number"),
        ago(session.last_active_at),
        data_row=True,
    )


def _noted(value: int, kind: str) -> Html:
    return el("td", flag(f"{value:,}", kind), class_="number") if value else number(0)


def _nothing(total: int) -> Html:
    if total:
        return empty(f"None of {count(total, 'session')} is like this.", a("/", "Show all"))
    return empty(
        "No session has been recorded yet. This page fills by itself as soon as one is.",
        join("Watch one being recorded, offline: ", el("code", "turnlog demo")),
        join("Record your own program: ", el("code", "turnlog run python app.py")),
        join("Bring what you already have: ", el("code", "turnlog import FILE")),
    )


def _pages(filters: Filters, skip: int, more: bool) -> Html | None:
    def to(start: int) -> str:
        return link("/", **filters.query, skip=start)

    if not skip and not more:
        return None
    return el(
        "nav",
        a(to(max(skip - _AT_ONCE, 0)), "← Newer") if skip else None,
        a(to(skip + _AT_ONCE), "Older →") if more else None,
        class_="pages",
        aria_label="Pages",
    )
