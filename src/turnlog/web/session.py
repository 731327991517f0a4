"""One session: its turns as bars over time, and its commits beside them."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import NamedTuple

from turnlog import queries
from turnlog.cli.render import clock, count, duration
from turnlog.queries import Commit, Session, SessionFlags, TurnBar
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, ago, card, commit_link, empty, flag, heading, link, outcome_flag, running_since, tabs

_TURNS = 60
_COMMITS = 100
_LEAST_SHARE = 1.5
_DEEPEST = 4
_MOST_INNER = 5


class _Noted(NamedTuple):
    """What is to be marked: of commits which attempt they are and inside of how many calls; of turns, retried and open work."""

    attempts: dict[str, int]
    depths: dict[str, int]
    retried: Counter[int]
    open: Counter[int]


def session(ask: Ask) -> Page:
    id = ask.session("id")
    found = queries.session_of(ask.db, id)
    newest = queries.last_turn(ask.db, id)
    turn = ask.turn(id, newest)
    to = min(ask.number("to") or newest, newest)
    last = to if not turn or to - _TURNS < turn <= to else min(turn + _TURNS // 2, newest)
    bars = queries.turn_bars(ask.db, id, last=last, limit=_TURNS)
    before = queries.find_commit(ask.db, ask.text("before"), id).commit_id if ask.text("before") else ""
    commits = queries.log(ask.db, id, turn=turn, to=last, before=before, limit=_COMMITS + 1)
    flags = queries.session_flags(ask.db, [id]).get(id)
    loops = queries.loops(ask.db, id)
    retried = [each for each in queries.retries(ask.db, id) if each.kind == "tool"]
    noted = _Noted(
        {each.commit_id: each.attempt for each in retried},
        _depths(queries.nested_commits(ask.db, id)),
        Counter(each.turn for each in retried),
        Counter(each.turn for each in queries.pending(ask.db, id) if each.status in ("pending", "queued")),
    )
    inner = queries.nested_sessions(ask.db, id)
    body = join(
        _head(found, flags),
        tabs(id, "/session", turn),
        [
            el("p", flag("LOOP", "bad"), f" {loop.tool} gave the same result {loop.times} times in turn {loop.turn}")
            for loop in loops
        ],
        [
            el(
                "p",
                f"In turn {each.turn} began session ",
                a(link("/session", id=each.nested_session), said(each.nested_session)),
                join(" of ", said(each.agent)) if each.agent else None,
                ".",
            )
            for each in inner[:_MOST_INNER]
        ],
        el(
            "div",
            _timeline(id, bars, noted, turn, newest),
            _commits(id, commits, bars, noted, turn, last if last < newest else 0, before),
            class_="beside",
        ),
    )
    data = {"session": found, "flags": flags, "turns": bars, "commits": commits[:_COMMITS]}
    return Page(id, body, data)


def _depths(nested: dict[str, str]) -> dict[str, int]:
    """Inside of how many calls each nested commit was made."""
    found: dict[str, int] = {}
    for commit, outer in nested.items():
        depth, around = 0, outer
        while around and depth < _DEEPEST:
            depth, around = depth + 1, nested.get(around, "")
        found[commit] = depth
    return found


def _head(session: Session, flags: SessionFlags | None) -> Html:
    evictions, unverified = (flags.evictions, flags.unverified) if flags else (0, 0)

    def to_state(part: str, word: str, kind: str) -> Html:
        return a(f"{link('/state', session=session.session_id)}#{part}", flag(word, kind))

    return heading(
        said(session.session_id),
        flag(session.status, session.status),
        said(session.agent),
        count(session.turns, "turn"),
        count(session.commits, "commit"),
        to_state("failures", f"{session.failures:,} failed", "bad") if session.failures else "",
        to_state("open", f"{session.in_flight:,} in flight", "open") if session.in_flight else "",
        to_state("gone", count(evictions, "eviction"), "open") if evictions else "",
        to_state("unverified", f"{unverified:,} unverified", "bad") if unverified else "",
        f"{session.tokens_in:,} tokens in, {session.tokens_out:,} out",
        join("last active ", ago(session.last_active_at)),
    )


def _timeline(id: str, bars: list[TurnBar], noted: _Noted, chosen: int, newest: int) -> Html:
    """Turns, the newest first; a bar is as long as its turn lasted, beside the longest that is shown."""
    if not bars:
        return card("Turns", empty("No turn has begun yet.", "It begins with the first call of a model or an agent."))
    longest = max(max(bar.duration_ms for bar in bars), 0.001)
    to = bars[-1].turn if bars[-1].turn < newest else 0
    return card(
        "Turns",
        el(
            "p",
            [el("span", kind, class_=f"key {kind}") for kind in ("model", "tool", "waiting")],
            class_="legend",
        ),
        el(
            "ol",
            [_turn_bar(id, bar, noted, longest, bar.turn == chosen, to) for bar in reversed(bars)],
            class_="turns",
            reversed=True,
        ),
        el(
            "nav",
            a(link("/session", id=id, to=min(bars[-1].turn + _TURNS, newest)), "↑ Later turns")
            if bars[-1].turn < newest
            else None,
            a(link("/session", id=id, to=bars[0].turn - 1), "↓ Earlier turns") if bars[0].turn > 1 else None,
            class_="pages",
            aria_label="More turns",
        ),
        class_="timeline",
    )


def _turn_bar(id: str, bar: TurnBar, noted: _Noted, longest: float, chosen: bool, to: int) -> Html:
    failed, retried, open_ = bar.failures - bar.interrupted, noted.retried[bar.turn], noted.open[bar.turn]
    marks = [
        flag(f"{failed:,} FAILED", "bad") if failed else None,
        flag(f"{bar.interrupted:,} INTERRUPTED", "bad") if bar.interrupted else None,
        flag(f"RETRY {bar.attempt}/{bar.attempts}", "again") if bar.attempt > 1 else None,
        flag(f"{retried:,} RETRIED", "again") if retried else None,
        flag("EVICTED", "open") if bar.evicted else None,
        flag("RUNNING", "open") if bar.is_running else None,
        flag(f"{open_:,} OPEN", "open") if open_ else None,
    ]
    spent = f"{duration(bar.duration_ms)}: model {duration(bar.model_ms)}, tools {duration(bar.tool_ms)}"
    return el(
        "li",
        a(
            link("/session", id=id, turn=bar.turn, to=to),
            el(
                "span",
                el("span", bar.turn, class_="turn"),
                el("span", said(bar.input_summary or "-"), class_="asked"),
                el("span", running_since(bar.started_at) if bar.is_running else duration(bar.duration_ms), class_="lasted"),
                class_="line",
            ),
            _bar(bar, longest),
            el("span", marks, class_="marks"),
            title=f"turn {bar.turn}, {spent}",
            aria_current="true" if chosen else None,
            data_row=True,
        ),
    )


def _bar(bar: TurnBar, longest: float) -> Html:
    total = max(bar.duration_ms, 0.001)
    length = max(100 * total / longest, _LEAST_SHARE)
    model = min(bar.model_ms / total, 1.0)
    tool = min(bar.tool_ms / total, 1.0 - model)
    return el(
        "svg",
        _rect("model", 0.0, model * length),
        _rect("tool", model * length, tool * length),
        _rect("waiting", (model + tool) * length, (1.0 - model - tool) * length),
        class_="bar",
        aria_hidden="true",
    )


def _rect(kind: str, start: float, width: float) -> Html | None:
    return el("rect", x=f"{start:.2f}%", width=f"{width:.2f}%", height="100%", class_=kind) if width > 0.05 else None


def _commits(id: str, commits: list[Commit], bars: list[TurnBar], noted: _Noted, turn: int, to: int, before: str) -> Html:
    by_turn = {bar.turn: bar for bar in bars}
    shown = commits[:_COMMITS]
    return card(
        f"Turn {turn}" if turn else "Commits",
        [
            _turn(id, number, list(group), by_turn.get(number), noted, to)
            for number, group in groupby(shown, key=lambda each: each.turn)
        ]
        if commits
        else empty("Nothing has been committed yet."),
        el(
            "nav",
            a(link("/session", id=id, turn=turn, to=to), "↑ Newest") if before else None,
            a(link("/session", id=id, turn=turn, to=to, before=shown[-1].commit_id), "↓ Earlier commits")
            if len(commits) > _COMMITS
            else None,
            class_="pages",
            aria_label="More commits",
        ),
        note=a(link("/session", id=id), "all turns") if turn else "newest first",
    )


def _turn(id: str, turn: int, commits: list[Commit], bar: TurnBar | None, noted: _Noted, to: int) -> Html:
    """A turn's commits as a log, each with its place in the turn's time."""
    return el(
        "section",
        el(
            "h3",
            a(link("/session", id=id, turn=turn, to=to), f"turn {turn}"),
            " ",
            said(bar.input_summary) if bar is not None and bar.input_summary else None,
        ),
        el(
            "p",
            flag(f"RETRY {bar.attempt}/{bar.attempts}", "again"),
            " ",
            a(link("/diff", session=id, retry=turn), "compare with the first attempt"),
        )
        if bar is not None and bar.attempt > 1
        else None,
        el(
            "ol",
            [_commit(each, noted, bar) for each in commits],
            class_="log",
        ),
        id=f"turn-{turn}",
    )


def _commit(commit: Commit, noted: _Noted, bar: TurnBar | None) -> Html:
    attempt, depth = noted.attempts.get(commit.commit_id, 1), noted.depths.get(commit.commit_id, 0)
    failed = commit.outcome not in ("ok", "in_flight")
    told = commit.error_message or commit.error if failed else commit.reason or commit.output_summary
    kind = "failed" if failed else "tool" if commit.kind == "tool" else "model" if commit.kind == "decision" else "waiting"
    return el(
        "li",
        el("span", commit_link(commit.commit_id, commit.session_id), class_=f"dot {kind}"),
        el(
            "span",
            el("span", "↳ " * depth, title="inside of a tool call", class_="dim") if depth else None,
            el("strong", said(commit.tool or commit.kind)),
            " ",
            outcome_flag(commit.outcome),
            flag(f"ATTEMPT {attempt}", "again") if attempt > 1 else None,
            flag("SELF-REPORTED") if commit.self_reported else None,
            flag("FENCED", "bad") if commit.fenced else None,
            " ",
            said(commit.choice or commit.input_summary),
            " ",
            el("span", said(told), class_="told") if told else None,
            class_="what",
        ),
        _place(commit, kind, bar) if bar is not None else el("span", class_="place"),
        el(
            "span",
            running_since(commit.committed_at) if commit.outcome == "in_flight" else duration(commit.duration_ms),
            class_="lasted",
            title=clock(commit.committed_at),
        ),
        data_row=True,
    )


def _place(commit: Commit, kind: str, bar: TurnBar) -> Html:
    length = max(bar.duration_ms, 0.001)
    offset = (commit.committed_at - bar.started_at).total_seconds() * 1000 - commit.duration_ms
    start = min(max(100 * offset / length, 0.0), 100.0 - _LEAST_SHARE)
    lasted = length - offset if commit.outcome == "in_flight" else commit.duration_ms
    width = min(max(100 * lasted / length, _LEAST_SHARE), 100.0 - start)
    return el("svg", _rect(kind, start, width), class_="place", aria_hidden="true")
