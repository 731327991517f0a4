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
from turnlog.web.bounded import Result, ask_bounded
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, a, flag, link, row, table

_ROWS = 500


@functools.cache
def saved() -> list[tuple[str, str]]:
    """The questions of `questions.sql`: a comment that names each, and its statement."""
    text = (files("turnlog.web") / "questions.sql").read_text(encoding="utf-8")
    blocks = [block.strip().partition("\n") for block in text.split(";\n") if block.strip()]
    return [(name.removeprefix("-- "), statement) for name, _, statement in blocks]


def sql(ask: Ask) -> Page:
    statement = ask.text("q").strip()
    result, problem = None, ""
    if statement:
        try:
            result = ask_bounded(ask.settings, statement, rows=_ROWS)
        except TurnlogError as error:
            problem = str(error)
    body = join(
        el("h1", "SQL"),
        el("div", _schema(), el("div", _box(statement), _problem(problem), _result(statement, result)), class_="beside"),
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
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def _schema() -> Html:
    def columns(names: str) -> Html:
        return el("span", names, class_="dim")

    return el(
        "aside",
        el("h2", "Questions"),
        el("ul", [el("li", a(link("/sql", q=statement), name)) for name, statement in saved()]),
        el("h2", "Views"),
        el(
            "ul",
            [
                el(
                    "li",
                    a(link("/sql", q=_sample(each)), el("code", each.name + each.parameters.replace("p_", ""))),
                    " ",
                    columns(each.row),
                )
                for each in schema.questions()
            ],
            class_="views",
        ),
        aria_label="What can be asked",
    )


def _sample(question: schema.Question) -> str:
    return (
        f"describe {question.name}"
        if question.kind == "view"
        else f"-- {question.row}\nfrom {question.name}{question.parameters.replace('p_', '')}"
    )


def _box(statement: str) -> Html:
    return el(
        "form",
        el(
            "label",
            "One reading statement",
            el("textarea", statement, name="q", rows=6, spellcheck="false", data_run=True, data_key="/"),
        ),
        el("button", "Run", type="submit", title="Ctrl+Enter"),
        action="/sql",
        class_="statement",
    )


def _problem(problem: str) -> Html | None:
    return el("p", flag("REFUSED", "bad"), " ", said(problem), role="alert") if problem else None


def _result(statement: str, result: Result | None) -> Html | None:
    if result is None:
        return None
    rows = [row(*[said(_cell(value)) for value in values]) for values in result.rows]
    return join(
        el(
            "p",
            f"{count(len(result.rows), 'row')}" + (", and there are more" if result.more else ""),
            f" in {result.seconds:.2f} s · ",
            a(link("/sql.csv", q=statement), "CSV", download="turnlog.csv"),
            " · ",
            a(link("/sql.json", q=statement), "JSON", download="turnlog.json"),
        ),
        _chart(result),
        table(result.columns, rows, caption="Result"),
    )


def _chart(result: Result) -> Html | None:
    """The first text column against the first number, when there is one of each and few rows."""
    if not 1 < len(result.rows) <= 40:
        return None
    names = range(len(result.columns))
    label = next((n for n in names if all(isinstance(values[n], str) for values in result.rows)), None)
    number = next((n for n in names if all(_is_number(values[n]) for values in result.rows)), None)
    if label is None or number is None:
        return None
    most = max(abs(float(values[number])) for values in result.rows) or 1.0
    bars = [
        el(
            "tr",
            el("th", said(values[label]), scope="row"),
            el("td", el("meter", value=abs(float(values[number])), min=0, max=most), " ", _cell(values[number])),
        )
        for values in result.rows
    ]
    return el(
        "details",
        el("summary", f"Chart: {result.columns[number]} by {result.columns[label]}"),
        el("table", el("tbody", bars), class_="chart"),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    return "" if value is None else to_json(value) if isinstance(value, list | dict | bool) else str(value)
