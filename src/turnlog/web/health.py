"""`turnlog doctor` as a page."""

from __future__ import annotations

from turnlog.cli.doctor import Report, examine
from turnlog.cli.render import size
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, join, said
from turnlog.web.page import Page, card, flag, heading, nothing, number, pairs, row, table, when


def health(ask: Ask) -> Page:
    report = examine(ask.settings)
    well = not (report.unreadable or report.warnings or report.losses)
    body = join(
        heading("Health", flag("ALL WELL", "good") if well else flag("LOOK HERE", "bad")),
        el("p", flag("UNREADABLE", "bad"), " ", said(report.unreadable), role="alert", class_="notice")
        if report.unreadable
        else None,
        [el("p", flag("WARNING", "bad"), " ", said(each), class_="notice") for each in report.warnings],
        el("div", card("The store", _store(report)), card("Versions", _versions(report)), class_="halves"),
        card("What could not be kept", _losses(report)),
        card("Journals", _journals(report), note="what processes wrote and nobody has loaded yet"),
        nothing(report.frameworks_unknown) if report.frameworks_unknown else None,
        card("Frameworks", _frameworks(report), note="what would be recorded in this environment"),
        card("Settings", _settings(report)),
    )
    return Page("Health", body, report, place="/health")


def _store(report: Report) -> Html:
    totals = report.totals
    return pairs(
        [
            ("Directory", el("code", said(report.directory))),
            ("Database", f"{size(report.database_size)}, schema {report.schema}" if report.database_size else "none yet"),
            ("Sessions", f"{totals.sessions:,}" if totals else ""),
            ("Commits", f"{totals.commits:,}" if totals else ""),
            ("Spans", f"{totals.spans:,}" if totals else ""),
            ("Receiver", said(report.served_by)),
            ("Set aside", f"{report.set_aside} files, {size(report.set_aside_size)}" if report.set_aside else ""),
        ]
    )


def _versions(report: Report) -> Html:
    return pairs(list(report.versions.items()))


def _losses(report: Report) -> Html:
    if not report.losses:
        return nothing("Nothing was lost.")
    rows = [row(said(each.reason), number(each.lost), when(each.last_at)) for each in report.losses]
    return table(("Reason", "How much", "Last"), rows, caption="Losses")


def _journals(report: Report) -> Html:
    journals = [*report.journals, *report.inbox]
    if not journals:
        return nothing("None: everything is loaded, and no process records.")
    rows = [
        row(each.name, size(each.size), size(each.unloaded), flag("WRITTEN NOW", "good") if each.live else "no")
        for each in journals
    ]
    return table(("Journal", "Size", "Not loaded yet", "Written now"), rows, caption="Journals")


def _frameworks(report: Report) -> Html:
    rows = [
        row(
            el("th", each.framework, scope="row"),
            each.installed or el("td", "not installed", class_="none"),
            each.requires,
            el("td", each.verdict, " ", el("span", each.remedy, class_="dim")),
            number(each.calls),
        )
        for each in report.frameworks
    ]
    return table(("Framework", "Installed", "Tested", "Recorded", "Calls"), rows, caption="Frameworks")


def _settings(report: Report) -> Html:
    rows = [
        row(
            el("th", el("code", each.variable), scope="row"),
            said(each.value),
            el("td", "default", class_="none") if each.is_default else flag("set"),
        )
        for each in report.settings
    ]
    return table(("Variable", "Value", "From"), rows, caption="Settings")
