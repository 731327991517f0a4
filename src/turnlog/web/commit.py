"""One commit: what went in, what came out, what it changed, who decided it and what was in the context."""

from __future__ import annotations

from typing import Any

from turnlog import queries
from turnlog.cli.render import duration, from_json, to_json
from turnlog.errors import NotFound
from turnlog.queries import Commit, InContext, Why
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
    table,
    tabs,
    text_block,
    when,
)

_MOST_TEXT = 20_000
_MOST_SEEN = 50


def commit(ask: Ask) -> Page:
    if not ask.text("id"):
        raise NotFound("which commit? Its id is missing in the address.")
    found = queries.find_commit(ask.db, ask.text("id"), ask.text("session"))
    why = queries.why(ask.db, found)
    attributes = from_json(queries.commit_attributes(ask.db, found))
    inside = queries.blob(ask.db, found.input_hash) if found.input_hash else None
    outside = queries.blob(ask.db, found.output_hash) if found.output_hash else None
    session, delta = found.session_id, from_json(found.delta)
    body = join(
        heading(
            said(found.tool or found.kind),
            outcome_flag(found.outcome) or flag("ok", "good"),
            duration(found.duration_ms),
            when(found.committed_at),
            a(link("/session", id=session, turn=found.turn), f"turn {found.turn}"),
            small=el("code", found.commit_id),
        ),
        tabs(session, "", found.turn),
        _failure(found),
        el(
            "div",
            card("Input", _content(found.input_hash, found.input_summary, inside)),
            card("Output", _content(found.output_hash, found.output_summary, outside)),
            class_="halves",
        ),
        card("Changes", _delta(delta)),
        el(
            "div",
            card("Decision", _decision(found, why)),
            card("Built on what nobody verified", _built_on(why)),
            class_="halves",
        ),
        card("In the context", _context(why.context, session), note=f"{len(why.context)} messages" if why.context else ""),
        card("Span", _span(found, ask.settings.trace_url), _attributes(attributes)),
    )
    data = {"commit": found, "why": why, "attributes": attributes, "input": inside, "output": outside}
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
        return join(text_block(laid_out(whole), most=_MOST_TEXT), told)
    if summary:
        return join(
            text_block(laid_out(summary), most=_MOST_TEXT),
            told,
            nothing(join("A summary. The whole is kept from now on with ", el("code", "TURNLOG_CAPTURE=full"), ".")),
        )
    return join(nothing("Its content was not captured." if digest else "Nothing."), told)


def laid_out(text: str) -> str:
    """JSON with a line for each field, and texts within it as they were; anything else as it is."""
    if not text.startswith(("{", "[")) or len(text) > _MOST_TEXT:
        return text
    value = from_json(text)
    if not isinstance(value, dict):
        return text
    return "\n".join(
        f"{name}:\n{each.rstrip()}" if isinstance(each, str) and "\n" in each else f"{name}: {_plain(each)}"
        for name, each in value.items()
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


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
        for each in delta
    ]
    return table(("Operation", "Kind", "Key", "Action", "Evidence", "Value", "Tier"), rows, caption="Changes of entries")


def _decision(commit: Commit, why: Why) -> Html:
    decided = commit if commit.choice else why.decision
    if decided is None:
        return nothing("No model call is known that decided it.")
    return pairs(
        [
            ("Choice", said(decided.choice)),
            ("Reason", said(decided.reason) if decided.reason else "none was given"),
            ("Model", said(decided.model)),
            ("Tokens", f"{decided.input_tokens:,} in, {decided.output_tokens:,} out" if decided.input_tokens else ""),
            ("Decided by", commit_link(decided.commit_id, decided.session_id) if decided != commit else ""),
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
        row(el("th", el("code", said(name)), scope="row"), said(_plain(value))) for name, value in sorted(attributes.items())
    ]
    return el("details", el("summary", f"{len(attributes)} attributes"), table(("Name", "Value"), rows, caption="Attributes"))
