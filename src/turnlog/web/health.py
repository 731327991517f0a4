"""`turnlog doctor` as a page."""

from __future__ import annotations

from turnlog.cli.doctor import Report, examine
from turnlog.cli.render import size
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, flag, row, table, when


def health(ask: Ask) -> Page:
    report = examine(ask.settings)
    body = join(
        el("h1", "Health"),
        el("p", flag("UNREADABLE", "bad"), " ", said(report.unreadable), role="alert") if report.unreadable else None,
        [el("p", flag("WARNING", "bad"), " ", said(each)) for each in report.warnings],
        _facts(report),
        el("h2", "What could not be kept"),
        _losses(report),
        el("h2", "Journals"),
        table(
            ("Journal", "Size", "Not loaded yet", "Written now"),
            [row(each.name, size(each.size), size(each.unloaded), "yes" if each.live else "no") for each in report.journals],
            caption="Journals",
        ),
        el("h2", "Frameworks"),
        table(
            ("Framework", "Installed", "Tested", "Recorded", "Calls"),
            [
                row(
                    each.framework,
                    each.installed or "-",
                    each.requires,
                    el("td", each.verdict, " ", el("span", each.remedy, class_="dim")),
                    each.calls,
                )
                for each in report.frameworks
            ],
            caption="Frameworks",
        ),
        el("h2", "Settings"),
        table(
            ("Variable", "Value", ""),
            [row(each.variable, said(each.value), "" if each.is_default else flag("set")) for each in report.settings],
            caption="Settings",
        ),
    )
    return Page("Health", body, report, place="/health")


def _facts(report: Report) -> Html:
    totals = report.totals
    pairs = [
        ("Directory", report.directory),
        ("Database", f"{report.database} ({size(report.database_size)})"),
        ("Schema", report.schema),
        ("Sessions", f"{totals.sessions:,}" if totals else ""),
        ("Spans", f"{totals.spans:,}" if totals else ""),
        ("Receiver", report.served_by),
        ("Set aside", f"{report.set_aside} files, {size(report.set_aside_size)}" if report.set_aside else ""),
        *report.versions.items(),
    ]
    return el("dl", [(el("dt", name), el("dd", value)) for name, value in pairs if value], class_="pairs")


def _losses(report: Report) -> Html:
    if not report.losses:
        return el("p", "Nothing was lost.", class_="dim")
    rows = [row(said(each.reason), f"{each.lost:,}", when(each.last_at)) for each in report.losses]
    return table(("Reason", "How much", "Last"), rows, caption="Losses")
