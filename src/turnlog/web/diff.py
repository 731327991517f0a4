"""What changed from one turn to another."""

from __future__ import annotations

from turnlog import queries
from turnlog.cli.render import short
from turnlog.queries import Decided, Difference, Failed
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, card, commit_link, empty, flag, heading, link, nothing, row, table, tabs
from turnlog.web.side_by_side import MOST_TEXTS, SIGNS, change_counts, changed_texts, retry
from turnlog.web.texts import text_diff

_MOST_ROWS = 400
_WRITES = ("create", "write")


def diff(ask: Ask) -> Page:
    session = ask.session()
    if ask.text("retry"):
        return retry(ask, session)
    newest = queries.last_turn(ask.db, session)
    after = ask.number("b", newest)
    before = ask.number("a", max(after - 1, 0))
    found = queries.diff(ask.db, session, before, after)
    again = [each for each in queries.retries(ask.db, session) if each.kind == "turn"]
    body = join(
        heading(
            f"Turn {before} → turn {after}",
            *change_counts(found.differences),
            flag(f"{len(found.failures)} failed", "bad") if found.failures else "",
        ),
        tabs(session, "/diff", after),
        _choose(session, before, after, newest),
        card("Entries", _differences(found.differences, session), note="added, removed, changed"),
        _texts(ask, session, before, found.differences),
        card("Decided on the way", _decisions(found.decisions)),
        card("Failed on the way", _failures(found.failures)),
        card("Retries in this session", el("ul", [_retry_link(session, each.original_turn, each.turn) for each in again]))
        if again
        else None,
    )
    return Page(f"Turn {before} → {after}", body, found)


def _choose(session: str, before: int, after: int, newest: int) -> Html:
    def turns(name: str, chosen: int) -> Html:
        return el("input", type="number", name=name, value=chosen, min=0, max=newest)

    return el(
        "form",
        el("input", type="hidden", name="session", value=session),
        el("label", "From turn", turns("a", before)),
        el("label", "to turn", turns("b", after)),
        el("button", "Compare", type="submit"),
        a(_between(session, before - 1, after - 1), "← Earlier", data_key="[") if min(before, after) > 0 else None,
        a(_between(session, before + 1, after + 1), "Later →", data_key="]") if max(before, after) < newest else None,
        class_="filters",
        autocomplete="off",
    )


def _between(session: str, before: int, after: int) -> str:
    return link("/diff", session=session, a=str(before), b=str(after))


def _differences(found: list[Difference], session: str) -> Html:
    if not found:
        return empty("The state is the same after both.")
    rows = [
        row(
            el("td", f"{SIGNS[each.change]} {each.change}", class_=each.change),
            each.kind,
            said(short(each.key)),
            _values(each),
            el("td", said(each.tool), " ", commit_link(each.commit_id, session), f" turn {each.turn}")
            if each.commit_id
            else "-",
            data_row=True,
        )
        for each in found[:_MOST_ROWS]
    ]
    return join(
        table(("Change", "Kind", "Key", "Value", "By"), rows, caption="Entries that differ"), _first_of(len(found), "entries")
    )


def _first_of(many: int, what: str) -> Html | None:
    return nothing(f"The first {_MOST_ROWS} of {many:,} {what}.") if many > _MOST_ROWS else None


def _values(each: Difference) -> Html:
    before, after = short(each.before_value), short(each.after_value)
    if each.change != "changed":
        return el("td", said(after or before))
    if "\n" in before + after or max(len(before), len(after)) > 80:
        return el("td", text_diff(before, after))
    return el("td", el("del", said(before)), " ", el("ins", said(after)))


def _texts(ask: Ask, session: str, before: int, found: list[Difference]) -> Html | None:
    changed = [each for each in found if each.change == "changed" and each.kind == "file"][:MOST_TEXTS]
    if not changed or not before:
        return None
    earlier = {entry.key: entry for entry in queries.state(ask.db, session, before) if entry.kind == "file"}

    def wrote(path: str, action: str, commit: str, turn: int) -> str:
        """Who last wrote what the file held, also under an earlier name."""
        if action in _WRITES:
            return commit
        changes = queries.blamed_in(ask.db, session, path, _MOST_ROWS)
        return next((each.commit_id for each in changes if each.turn <= turn and each.action in _WRITES), "")

    texts = [
        (
            each.key,
            wrote(each.key, earlier[each.key].action, earlier[each.key].commit_id, before),
            wrote(each.key, each.action, each.commit_id, each.turn),
        )
        for each in changed
        if each.key in earlier
    ]
    commits = queries.commits(ask.db, session, [id for _, one, other in texts for id in (one, other)])
    return changed_texts(ask, commits, texts)


def _decisions(found: list[Decided]) -> Html:
    if not found:
        return nothing("Nothing was decided.")
    rows = [
        row(
            commit_link(each.commit_id, each.session_id),
            each.turn,
            said(each.about),
            said(each.choice),
            el("td", said(each.reason or "-"), class_="" if each.reason else "none"),
            data_row=True,
        )
        for each in found[:_MOST_ROWS]
    ]
    return join(
        table(("Commit", "Turn", "About", "Choice", "Why"), rows, caption="Decisions"), _first_of(len(found), "decisions")
    )


def _failures(found: list[Failed]) -> Html:
    if not found:
        return nothing("Nothing failed.")
    rows = [
        row(
            commit_link(each.commit_id, each.session_id),
            each.turn,
            said(each.tool or each.kind),
            flag(each.outcome.upper(), "bad"),
            said(each.error_message or each.error),
        )
        for each in found[:_MOST_ROWS]
    ]
    return join(
        table(("Commit", "Turn", "Tool", "Outcome", "Error"), rows, caption="Failures"), _first_of(len(found), "failures")
    )


def _retry_link(session: str, first: int, again: int) -> Html:
    return el("li", a(link("/diff", session=session, retry=again), f"turn {again} against turn {first}"))
