"""A box for SQL over the same views: one reading statement, run in a child process that is bounded in time, rows and memory."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from turnlog.cli.render import count, to_json
from turnlog.errors import TurnlogError
from turnlog.store import schema
from turnlog.web.asking import Ask
from turnlog.web.bounded import MEMORY, SECONDS, Result, ask_bounded
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, card, empty, flag, heading, link, row, table

_ROWS = 500
_BARS = 40
_NEWEST = "(select session_id from sessions order by last_active_at desc limit 1)"
_VALUES = {
    "session_a": "(select session_id from sessions order by last_active_at desc limit 1 offset 1)",
    "turn": "1",
    "turn_a": "1",
    "turn_b": "2",
    "last_turns": "5",
    "commit": "''",
    "path": "'README.md'",
    "keys": "no_keys()",
    "term_a": "'error'",
    "term_b": "''",
    "term_c": "''",
    "term_d": "''",
}
_MOST_CELL = 500


@functools.cache
def saved() -> list[tuple[str, str]]:
    """The questions of `questions.sql`: a comment that names each, and its statement."""
    text = (files("turnlog.web") / "questions.sql").read_text(encoding="utf-8")
    blocks = [block.strip().partition("\n") for block in text.split(";\n") if block.strip()]
    return [(name.removeprefix("-- "), statement) for name, _, statement in blocks]


def sql(ask: Ask) -> Page:
    statement, as_chart = ask.text("q").strip(), ask.text("as") == "chart"
    result, problem = None, ""
    if statement:
        try:
            result = ask_bounded(ask.settings, statement, rows=_ROWS, given_up=ask.given_up)
        except TurnlogError as error:
            problem = str(error)
    answer = (
        el("p", flag("REFUSED", "bad"), " ", said(problem), role="alert", class_="notice")
        if problem
        else _result(statement, result, as_chart)
        if result is not None
        else empty(
            "Choose a question, or write one.", "Ctrl+Enter runs it. It reads the views on this page, and changes nothing."
        )
    )
    body = join(
        heading(
            "SQL",
            f"at most {_ROWS} rows",
            f"{SECONDS} s",
            f"{MEMORY // 1024**2} MB",
            "read-only",
        ),
        el("div", _questions(statement), el("div", _box(statement), answer), class_="beside"),
    )
    data = (
        {"problem": problem}
        if problem
        else {"columns": result.columns, "rows": result.rows, "more": result.more}
        if result
        else {}
    )
    return Page("SQL", body, data, place="/sql", live=False, status=400 if problem else 200)


def as_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_unspoken(name) for name in columns])
    writer.writerows([[_unspoken(value) if isinstance(value, str) else _cell(value) for value in row] for row in rows])
    return out.getvalue()


def _unspoken(text: str) -> str:
    """A text that a spreadsheet would take for a formula, as the text that it is."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _questions(statement: str) -> Html:
    return el(
        "aside",
        card(
            "Questions",
            el(
                "ul",
                [
                    el("li", a(link("/sql", q=asked), name, aria_current="true" if asked == statement else None, data_row=True))
                    for name, asked in saved()
                ],
                class_="plain",
            ),
        ),
        card("Views", [_view(each) for each in schema.questions()], class_="views"),
        aria_label="What can be asked",
    )


def _view(question: schema.Question) -> Html:
    given = question.parameters.replace("p_", "")
    asked = f"from {question.name}{_example(given)}\nlimit 20"
    return el(
        "details",
        el("summary", el("code", question.name), el("span", given, class_="dim")),
        el("p", "One row: ", question.row, class_="dim"),
        el("p", [(el("code", column), " ") for column in question.columns], class_="columns"),
        el("p", a(link("/sql", q=asked), "show 20" if not given else "ask it of the newest session")),
    )


def _example(parameters: str) -> str:
    """Values for a macro's parameters with which it answers."""
    names = [name.strip() for name in parameters.strip("()").split(",") if name.strip()]
    return f"({', '.join(_VALUES.get(name, _NEWEST) for name in names)})" if names else ""


def _box(statement: str) -> Html:
    return el(
        "form",
        el(
            "label",
            "One reading statement",
            el("textarea", statement, name="q", rows=7, spellcheck="false", data_run=True, data_key="/"),
        ),
        el("button", "Run", type="submit", title="Ctrl+Enter", class_="main"),
        action="/sql",
        class_="statement",
    )


def _result(statement: str, result: Result, as_chart: bool) -> Html:
    chart = _chart(result)
    return join(
        el(
            "div",
            el(
                "span",
                count(len(result.rows), "row") + (", and there are more" if result.more else ""),
                f" in {result.seconds:.2f} s",
            ),
            el(
                "nav",
                a(link("/sql", q=statement), "Table", aria_current=None if as_chart and chart else "true"),
                a(link("/sql", q=statement, as_="chart"), "Chart", aria_current="true" if as_chart else None)
                if chart
                else None,
                a(link("/sql.csv", q=statement), "CSV", download="turnlog.csv"),
                a(link("/sql.json", q=statement), "JSON", download="turnlog.json"),
                aria_label="The result as",
            ),
            class_="result",
        ),
        chart
        if as_chart and chart
        else table(
            result.columns,
            [row(*[_shown(value) for value in values]) for values in result.rows],
            caption="Result",
            class_="answer",
        )
        if result.rows
        else empty("No rows."),
    )


def _chart(result: Result) -> Html | None:
    """The first text column against the first number, when there is one of each and few rows."""
    if not 0 < len(result.rows) <= _BARS:
        return None
    names = range(len(result.columns))
    label = next((n for n in names if all(isinstance(values[n], str) for values in result.rows)), None)
    measure = next((n for n in names if all(_is_number(values[n]) for values in result.rows)), None)
    if label is None or measure is None:
        return None
    most = max(abs(float(values[measure])) for values in result.rows) or 1.0
    bars = [
        el(
            "tr",
            el("th", said(values[label]), scope="row"),
            el(
                "td",
                el(
                    "svg",
                    el("rect", width=f"{100 * abs(float(values[measure])) / most:.2f}%", height="100%", class_="model"),
                    class_="bar",
                    aria_hidden="true",
                ),
            ),
            el("td", _cell(values[measure]), class_="number"),
        )
        for values in result.rows
    ]
    caption = f"{result.columns[measure]} by {result.columns[label]}"
    return el("table", el("caption", caption), el("tbody", bars), class_="chart")


def _shown(value: Any) -> Html:
    if _is_number(value):
        return el("td", _cell(value), class_="number")
    text = _cell(value)
    return el("td", said(text[:_MOST_CELL]), f" … {len(text):,} characters" if len(text) > _MOST_CELL else None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    return "" if value is None else to_json(value) if isinstance(value, list | dict | bool) else str(value)
