"""One session: its turns as bars over time, and its commits beside them."""

from __future__ import annotations

from itertools import groupby

from turnlog import queries
from turnlog.cli.render import clock, count, duration
from turnlog.queries import Commit, Session, TurnBar
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, commit_link, empty, flag, link, tabs

_TURNS = 60
_COMMITS = 200


def session(ask: Ask) -> Page:
    id = ask.session("id")
    found = queries.session_of(ask.db, id)
    newest = queries.last_turn(ask.db, id)
    turn = min(ask.number("turn"), newest)
    last = min(ask.number("to", newest), newest)
    bars = queries.turn_bars(ask.db, id, last=max(last, turn), limit=_TURNS)
    commits = queries.log(ask.db, id, turn=turn, limit=_COMMITS + 1)
    loops = queries.loops(ask.db, id)
    body = join(
        _head(found),
        tabs(id, "/session"),
        _strip(id, bars, turn),
        _strip_pages(id, bars, newest),
        [
            el("p", flag("LOOP", "bad"), f" {loop.tool} gave the same result {loop.times} times in turn {loop.turn}")
            for loop in loops
        ],
        el("h2", f"Turn {turn}" if turn else "Commits"),
        _log(commits[:_COMMITS], {bar.turn: bar for bar in bars}) if commits else empty("Nothing has been committed yet."),
        el("p", f"Only the last {_COMMITS} are shown: choose a turn for the rest.", class_="dim")
        if len(commits) > _COMMITS
        else None,
    )
    data = {"session": found, "turns": bars, "commits": commits[:_COMMITS]}
    return Page(id, body, data, session=id)


def _head(session: Session) -> Html:
    facts = (
        flag(session.status, session.status),
        session.agent,
        count(session.turns, "turn"),
        count(session.commits, "commit"),
        flag(f"{session.failures:,} failed", "bad") if session.failures else "",
        flag(f"{session.in_flight:,} in flight", "open") if session.in_flight else "",
        f"{session.tokens_in:,} tokens in, {session.tokens_out:,} out",
    )
    return el(
        "header",
        el("h1", said(session.session_id)),
        el("p", [el("span", fact) for fact in facts if fact], class_="facts"),
        class_="session",
    )


def _strip(id: str, bars: list[TurnBar], chosen: int) -> Html:
    """Turns side by side; a bar is as long as its turn lasted, on a scale that leaves the shortest visible."""
    if not bars:
        return empty("No turn has begun yet.")
    return el(
        "ol",
        [_bar(id, bar, max(bar.duration_ms, 1.0) ** 0.5, bar.turn == chosen) for bar in bars],
        class_="strip",
        aria_label="Turns",
    )


def _bar(id: str, bar: TurnBar, share: float, chosen: bool) -> Html:
    total = max(bar.duration_ms, 0.001)
    model, tool = min(bar.model_ms / total, 1.0), min(bar.tool_ms / total, 1.0)
    tool = min(tool, 1.0 - model)
    shown = el(
        "svg",
        _rect("model", 0.0, model),
        _rect("tool", model, tool),
        _rect("waiting", model + tool, 1.0 - model - tool),
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    marks = [
        flag("FAILED", "bad") if bar.failures else None,
        flag(f"RETRY {bar.attempt}/{bar.attempts}") if bar.attempt > 1 else None,
        flag("EVICTED") if bar.evicted else None,
        flag("RUNNING", "open") if bar.in_flight else None,
    ]
    spent = f"{duration(bar.duration_ms)}: model {duration(bar.model_ms)}, tools {duration(bar.tool_ms)}"
    return el(
        "li",
        a(
            link("/session", id=id, turn=bar.turn),
            el("span", bar.turn, class_="turn"),
            shown,
            el("span", marks, class_="marks"),
            title=f"turn {bar.turn}, {spent}. {bar.input_summary}",
            aria_current="true" if chosen else None,
            data_row=True,
        ),
        data_grow=f"{share:.2f}",
    )


def _rect(kind: str, start: float, share: float) -> Html | None:
    return (
        el("rect", x=f"{start * 100:.2f}", y="0", width=f"{share * 100:.2f}", height="10", class_=kind)
        if share > 0.001
        else None
    )


def _strip_pages(id: str, bars: list[TurnBar], newest: int) -> Html:
    first, last = (bars[0].turn, bars[-1].turn) if bars else (1, 0)
    return el(
        "p",
        a(link("/session", id=id, to=first - 1), "Earlier turns") if first > 1 else None,
        " ",
        a(link("/session", id=id, to=min(last + _TURNS, newest)), "Later turns") if last < newest else None,
        " ",
        a(link("/session", id=id), "All commits"),
        class_="pages",
    )


def _log(commits: list[Commit], bars: dict[int, TurnBar]) -> Html:
    return join([_turn(turn, list(group), bars.get(turn)) for turn, group in groupby(commits, key=lambda each: each.turn)])


def _turn(turn: int, commits: list[Commit], bar: TurnBar | None) -> Html:
    asked = said(bar.input_summary) if bar is not None and bar.input_summary else ""
    return el(
        "section",
        el("h3", f"Turn {turn} ", el("span", asked, class_="dim")),
        el("ol", [_commit(each) for each in commits], class_="log"),
        id=f"turn-{turn}",
    )


def _commit(commit: Commit) -> Html:
    failed = commit.outcome not in ("ok", "in_flight")
    what = commit.choice or commit.input_summary or commit.output_summary
    return el(
        "li",
        commit_link(commit.commit_id),
        " ",
        el("time", clock(commit.committed_at), class_="dim"),
        " ",
        el("strong", said(commit.tool or commit.kind)),
        " ",
        flag(commit.outcome.upper(), "bad") if failed else flag("RUNNING", "open") if commit.outcome == "in_flight" else None,
        " ",
        said(commit.error_message or commit.error if failed else what),
        " ",
        el("span", said(commit.reason or (commit.output_summary if commit.tool else "")), class_="dim"),
        " ",
        el("span", duration(commit.duration_ms), class_="dim number"),
        data_row=True,
    )
