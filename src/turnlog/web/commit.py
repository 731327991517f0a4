"""One commit: what went in, what came out, what it changed, who decided it and what was in the context."""

from __future__ import annotations

from typing import Any

from turnlog import queries
from turnlog.cli.render import duration, from_json, to_json
from turnlog.errors import NotFound
from turnlog.queries import Commit, InContext, Why
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, commit_link, empty, flag, link, row, table, tabs, text_block, when

_MOST_TEXT = 20_000


def commit(ask: Ask) -> Page:
    if not ask.text("id"):
        raise NotFound("which commit? Its id is missing in the address.")
    found = queries.find_commit(ask.db, ask.text("id"))
    why = queries.why(ask.db, found)
    attributes = from_json(queries.commit_attributes(ask.db, found))
    inside = queries.blob(ask.db, found.input_hash) if found.input_hash else None
    outside = queries.blob(ask.db, found.output_hash) if found.output_hash else None
    session = found.session_id
    body = join(
        el("h1", said(found.tool or found.kind), " ", el("small", found.commit_id)),
        tabs(session, ""),
        _facts(found),
        el("h2", "Input"),
        _content(found.input_hash, found.input_summary, inside),
        el("h2", "Output"),
        _content(found.output_hash, found.output_summary, outside),
        el("h2", "Changes"),
        _delta(from_json(found.delta)),
        el("h2", "Decided by"),
        _decision(why),
        el("h2", "In the context"),
        _context(why.context),
        el("h2", "Built on what nobody verified"),
        _built_on(why),
        el("h2", "Attributes of the span"),
        _attributes(attributes),
    )
    data = {"commit": found, "why": why, "attributes": attributes, "input": inside, "output": outside}
    return Page(f"{found.tool or found.kind} {found.commit_id[:7]}", body, data, session=session)


def _facts(commit: Commit) -> Html:
    failed = commit.outcome not in ("ok", "in_flight")
    pairs: list[tuple[str, Any]] = [
        ("Session", a(link("/session", id=commit.session_id), said(commit.session_id))),
        ("Turn", a(link("/session", id=commit.session_id, turn=commit.turn), commit.turn)),
        ("When", when(commit.committed_at)),
        ("Took", duration(commit.duration_ms)),
        ("Outcome", flag(commit.outcome, "bad" if failed else "")),
        ("Error", said(f"{commit.error} {commit.error_message}".strip()) if failed else ""),
        ("Choice", said(commit.choice) if commit.choice else ""),
        ("Reason", said(commit.reason) if commit.reason else ""),
        ("Model", said(commit.model) if commit.model else ""),
        ("Tokens", f"{commit.input_tokens:,} in, {commit.output_tokens:,} out" if commit.input_tokens else ""),
        ("Trace", commit.trace_id),
        ("Span", commit.span_id),
    ]
    return el("dl", [(el("dt", name), el("dd", value)) for name, value in pairs if value], class_="pairs")


def _content(digest: str, summary: str, whole: str | None) -> Html:
    if whole is not None:
        return join(text_block(whole, most=_MOST_TEXT), el("p", digest, class_="dim"))
    if summary:
        return join(el("p", said(summary)), el("p", digest, " (the whole is kept with TURNLOG_CAPTURE=full)", class_="dim"))
    return el("p", digest or "nothing", class_="dim")


def _delta(delta: Any) -> Html:
    if not delta:
        return el("p", "It changed no entry.", class_="dim")
    rows = [
        row(
            each.get("op", ""),
            each.get("kind", ""),
            said(each.get("key", "")),
            said(each.get("action") or ""),
            said(each.get("value") or ""),
            each.get("tier", ""),
        )
        for each in delta
    ]
    return table(("", "Kind", "Key", "Action", "Value", "Tier"), rows, caption="Changes of entries")


def _decision(why: Why) -> Html:
    if why.decision is None:
        return el("p", "No model call is known that decided it.", class_="dim")
    return el(
        "p",
        commit_link(why.decision.commit_id),
        " ",
        said(why.decision.choice),
        " ",
        el("span", said(why.decision.reason), class_="dim"),
    )


def _context(seen: list[InContext]) -> Html:
    if not seen:
        return el("p", "What the model saw is not known.", class_="dim")
    rows = [
        row(
            each.position,
            each.role,
            flag("UNVERIFIED", "bad") if each.verified == "false" else each.source_kind,
            commit_link(each.source_commit) if each.source_commit else "",
            said(each.tool),
            said(each.summary),
        )
        for each in seen[-50:]
    ]
    return table(("#", "Role", "Source", "From", "Tool", "Message"), rows, caption="Messages in the context")


def _built_on(why: Why) -> Html:
    if not why.built_on:
        return empty("Nothing unverified led here.")
    rows = [
        row(commit_link(each.source_commit), said(each.source_tool), each.source_turn, each.how, said(each.path))
        for each in why.built_on
    ]
    return table(("Source", "Tool", "Turn", "How", "Path"), rows, caption="Unverified sources")


def _attributes(attributes: Any) -> Html:
    if not isinstance(attributes, dict) or not attributes:
        return el("p", "none beside those above", class_="dim")
    rows = [
        row(said(name), said(value if isinstance(value, str) else to_json(value))) for name, value in sorted(attributes.items())
    ]
    return el("details", el("summary", f"{len(attributes)} attributes"), table(("Name", "Value"), rows, caption="Attributes"))
