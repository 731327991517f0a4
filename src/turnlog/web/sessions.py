"""The list of sessions."""

from __future__ import annotations

from turnlog import queries
from turnlog.cli.render import count, duration
from turnlog.queries import Session
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join
from turnlog.web.page import Page, a, empty, flag, link, number, row, table, when

_AT_ONCE = 50
_STATUSES = ("active", "idle", "dead", "paused", "closed", "archived")
_HEAD = (
    "Session",
    "Status",
    "Agent",
    "Turns",
    "Commits",
    "Failed",
    "In flight",
    "Tokens in",
    "Tokens out",
    "Lasted",
    "Last active",
)


def sessions(ask: Ask) -> Page:
    text, status, failed, skip = ask.text("q"), ask.text("status"), ask.text("failed") == "1", ask.number("skip")
    found = queries.sessions_like(ask.db, text=text, status=status, failed=failed, limit=_AT_ONCE + 1, skip=skip)
    total = queries.totals(ask.db).sessions
    shown, more = found[:_AT_ONCE], len(found) > _AT_ONCE
    body = join(
        el("h1", "Sessions"),
        _filters(text, status, failed),
        _table(shown) if shown else _nothing(total),
        _pages(text, status, failed, skip, more),
    )
    return Page("Sessions", body, shown, place="/")


def _filters(text: str, status: str, failed: bool) -> Html:
    choices = [el("option", "any status", value="")] + [
        el("option", each, value=each, selected=each == status) for each in _STATUSES
    ]
    return el(
        "form",
        el("label", "Search", el("input", type="search", name="q", value=text, placeholder="id or agent", data_key="/")),
        el("label", "Status", el("select", choices, name="status")),
        el("label", el("input", type="checkbox", name="failed", value="1", checked=failed), "with failures"),
        el("button", "Show", type="submit"),
        role="search",
        class_="filters",
    )


def _table(found: list[Session]) -> Html:
    return table(_HEAD, [_row(session) for session in found], caption="Sessions, newest first", class_="list")


def _row(session: Session) -> Html:
    lasted = (session.last_active_at - session.started_at).total_seconds() * 1000
    return row(
        el("th", a(link("/session", id=session.session_id), session.session_id), scope="row"),
        el("td", flag(session.status, session.status), flag("pinned") if session.pinned else None),
        session.agent or "-",
        number(session.turns),
        number(session.commits),
        el("td", flag(f"{session.failures:,} failed", "bad"), class_="number") if session.failures else number(0),
        number(session.in_flight),
        number(session.tokens_in),
        number(session.tokens_out),
        duration(lasted),
        when(session.last_active_at),
        data_row=True,
    )


def _nothing(total: int) -> Html:
    if total:
        return empty(f"None of {count(total, 'session')} is like this.", a("/", "Show all"))
    return empty(
        "No session has been recorded yet.",
        join("Watch one being recorded: ", el("code", "turnlog demo")),
        join("Record your own program: ", el("code", "turnlog run python app.py")),
    )


def _pages(text: str, status: str, failed: bool, skip: int, more: bool) -> Html:
    def to(start: int) -> str:
        return link("/", q=text, status=status, failed="1" if failed else "", skip=start)

    return el(
        "p",
        a(to(max(skip - _AT_ONCE, 0)), "Newer") if skip else None,
        " ",
        a(to(skip + _AT_ONCE), "Older") if more else None,
        class_="pages",
    )
