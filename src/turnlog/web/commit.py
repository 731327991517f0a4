"""One commit: what went in, what came out, what it changed, who decided it and what was in the context."""

from __future__ import annotations

from typing import Any

from turnlog import queries
from turnlog.cli.render import duration, from_json, is_cut, short
from turnlog.errors import NotFound
from turnlog.queries import Commit, Eviction, InContext, Why
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import (
    Page,
    a,
    card,
    commit_link,
    flag,
    heading,
    link,
    nothing,
    outcome_flag,
    pairs,
    row,
    running_since,
    table,
    tabs,
    text_block,
    when,
)
from turnlog.web.texts import MOST_TEXT, laid_out, plain

_MOST_SEEN = 50
_MOST_ROWS = 200


def commit(ask: Ask) -> Page:
    if not ask.text("id"):
        raise NotFound("which commit? Its id is missing in the address.")
    found = queries.find_commit(ask.db, ask.text("id"), ask.text("session"))
    why = queries.why(ask.db, found)
    attributes = from_json(queries.commit_attributes(ask.db, found))
    inside = queries.blob(ask.db, found.input_hash) if found.input_hash else None
    outside = queries.blob(ask.db, found.output_hash) if found.output_hash else None
    session, delta = found.session_id, from_json(found.delta)
    gone = (
        [
            each
            for each in queries.evictions(ask.db, session, turn=found.turn, limit=_MOST_ROWS)
            if each.commit_id == found.commit_id
        ]
        if found.kind == "eviction"
        else []
    )
    body = join(
        heading(
            said(found.tool or found.kind),
            outcome_flag(found.outcome) or flag("ok", "good"),
            running_since(found.committed_at) if found.outcome == "in_flight" else duration(found.duration_ms),
            when(found.committed_at),
            a(link("/session", id=session, turn=found.turn), f"turn {found.turn}"),
            small=el("code", found.commit_id),
        ),
        tabs(session, "", found.turn),
        _failure(found),
        el(
            "div",
            card("Input", _content(found.input_hash, found.input_summary, inside)),
            card("Output", _content(found.output_hash, _output_summary(found), outside)),
            class_="halves",
        ),
        card("What left the context", _evicted(gone, session)) if gone else card("Changes", _delta(delta)),
        el(
            "div",
            card("Decision", _decision(ask, found, why)),
            card("Built on what nobody verified", _built_on(why)),
            class_="halves",
        ),
        card("In the context", _context(why.context, session), note=f"{len(why.context)} messages" if why.context else ""),
        card("Span", _span(found, ask.settings.trace_url), _attributes(attributes)),
    )
    data = {"commit": found, "why": why, "attributes": attributes, "input": inside, "output": outside, "evicted": gone}
    return Page(f"{found.tool or found.kind} {found.commit_id[:7]}", body, data)


def _failure(commit: Commit) -> Html | None:
    if commit.outcome in ("ok", "in_flight"):
        return None
    return el(
        "p",
        flag(commit.outcome.upper(), "bad"),
        " ",
        said(f"{commit.error}: {commit.error_message}".strip(": ")),
        class_="notice",
    )


def _content(digest: str, summary: str, whole: str | None) -> Html:
    told = el("p", el("code", digest), class_="hash") if digest else None
    if whole is not None:
        return join(text_block(laid_out(whole), most=MOST_TEXT), told)
    if summary:
        advice = join("A summary. The whole is kept from now on with ", el("code", "TURNLOG_CAPTURE=full"), ".")
        return join(text_block(laid_out(summary), most=MOST_TEXT), told, nothing(advice) if is_cut(summary) else None)
    return join(nothing("Its content was not captured." if digest else "Nothing."), told)


def _output_summary(commit: Commit) -> str:
    """What came out; of a call that failed, the error is told above."""
    return "" if commit.outcome != "ok" and not commit.output_hash else commit.output_summary


def _evicted(gone: list[Eviction], session: str) -> Html:
    rows = [
        row(
            each.kind,
            said(each.summary or short(each.key)),
            el("td", said(each.tool), " ", commit_link(each.source_commit, session)),
            each.introduced_in or "",
            said(each.reason),
            data_row=True,
        )
        for each in gone[:_MOST_ROWS]
    ]
    return join(
        table(("Kind", "What", "From", "Since turn", "Why"), rows, caption="What left the context"),
        _first_of(len(gone)),
    )


def _first_of(many: int) -> Html | None:
    return nothing(f"The first {_MOST_ROWS} of {many:,}.") if many > _MOST_ROWS else None


def _delta(delta: Any) -> Html:
    if not isinstance(delta, list) or not delta:
        return nothing("It changed no entry.")
    rows = [
        row(
            el("td", each.get("op", ""), class_="added" if each.get("op") == "set" else "removed"),
            each.get("kind", ""),
            said(each.get("key", "")),
            each.get("action") or "",
            flag(each["evidence"]) if each.get("evidence") else "",
            said(each.get("value") or ""),
            each.get("tier", ""),
        )
        for each in delta[:_MOST_ROWS]
    ]
    return join(
        table(("Operation", "Kind", "Key", "Action", "Evidence", "Value", "Tier"), rows, caption="Changes of entries"),
        _first_of(len(delta)),
    )


def _decision(ask: Ask, commit: Commit, why: Why) -> Html:
    decided = commit if commit.choice else why.decision
    if decided is None:
        return nothing("No model call is known that decided it.")
    record = queries.decision_of(ask.db, decided)
    others = from_json(record.alternatives) if record and record.alternatives else []
    asked = why.decision if why.decision and why.decision.commit_id != commit.commit_id else None
    return pairs(
        [
            ("About", said(record.about) if record else ""),
            ("Choice", said(decided.choice)),
            ("Instead of", join([(", " if place else None, said(plain(each))) for place, each in enumerate(others)])),
            ("Reason", said(decided.reason) if decided.reason else "none was given"),
            ("Model", said(decided.model)),
            ("Tokens", f"{decided.input_tokens:,} in, {decided.output_tokens:,} out" if decided.input_tokens else ""),
            ("Decided by", commit_link(asked.commit_id, asked.session_id) if asked else ""),
        ]
    )


def _context(seen: list[InContext], session: str) -> Html:
    if not seen:
        return nothing("What the model saw is not known.")
    rows = [
        row(
            each.position,
            each.role,
            flag("UNVERIFIED", "bad") if each.verified == "false" else each.source_kind.replace("_", " "),
            el("td", said(each.tool), " ", commit_link(each.source_commit, session)),
            said(each.summary),
            data_row=True,
        )
        for each in seen[-_MOST_SEEN:]
    ]
    return join(
        nothing(f"The last {_MOST_SEEN}.") if len(seen) > _MOST_SEEN else None,
        table(("#", "Role", "Source", "From", "Message"), rows, caption="Messages in the context"),
    )


def _built_on(why: Why) -> Html:
    if not why.built_on:
        return nothing("Nothing unverified led here.")
    return el(
        "ul",
        [el("li", _path(each.path, each.session_id), " ", said(each.source_tool), f", {each.how}") for each in why.built_on],
    )


def _path(path: str, session: str) -> Html:
    """From the source to what is built on it."""
    steps = path.split(" > ")
    return join([(" → " if place else None, commit_link(step, session)) for place, step in enumerate(steps)])


def _span(commit: Commit, trace_url: str) -> Html:
    trace = commit.trace_id
    shown = trace_url.replace("{trace_id}", trace).replace("{span_id}", commit.span_id)
    return pairs(
        [
            (
                "Trace",
                join(
                    el("code", trace), " ", a(shown, "open the trace", rel="noreferrer", target="_blank") if trace_url else None
                ),
            ),
            ("Span", el("code", commit.span_id)),
            ("Tool call", el("code", said(commit.tool_call_id)) if commit.tool_call_id else ""),
            ("Agent", said(commit.agent)),
            ("Attempt", commit.attempt if commit.attempt > 1 else ""),
        ]
    )


def _attributes(attributes: Any) -> Html:
    if not isinstance(attributes, dict) or not attributes:
        return nothing("No attributes beside those above.")
    rows = [
        row(el("th", el("code", said(name)), scope="row"), said(plain(value))) for name, value in sorted(attributes.items())
    ]
    return el("details", el("summary", f"{len(attributes)} attributes"), table(("Name", "Value"), rows, caption="Attributes"))
