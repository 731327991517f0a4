"""`turnlog frameworks`: what is recorded without a change to the program, and whether it is here."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from turnlog.cli.render import Styled, count, record, screen
from turnlog.instrument import FRAMEWORKS, check, status


class Row(NamedTuple):
    framework: str
    title: str
    extra: str
    tested: str
    installed: str
    verdict: str
    records: str


def tested_version(extra: str) -> str:
    """What brings a framework into the range that the tests have seen."""
    return f"pip install 'turnlog[{extra}]'"


def frameworks(options: argparse.Namespace) -> int:
    found = {each.framework: each for each in (check() if options.check else status())}
    rows = [
        Row(
            framework.name,
            framework.title,
            framework.extra or framework.name,
            framework.requires,
            found[framework.name].installed,
            (found[framework.name].why or "recorded") if options.check else found[framework.name].verdict,
            framework.records,
        )
        for framework in sorted(FRAMEWORKS, key=lambda each: each.title.lower())
    ]
    installed = [row for row in rows if row.installed]
    hooked = [row for row in installed if found[row.framework].hooked and not found[row.framework].why]
    code = 1 if options.check and len(hooked) < len(installed) else 0
    out = screen()
    if options.json:
        for row in rows:
            out.json(record(row))
        return code
    out.table(
        [
            (row.title, row.tested, row.installed or "-", Styled(row.verdict, "green" if row.verdict == "recorded" else "dim"))
            for row in rows
        ],
        header=("FRAMEWORK", "TESTED", "INSTALLED", "HERE"),
    )
    for row in installed:
        if found[row.framework].verdict.startswith("not recorded"):
            out.line(f"{row.title} {row.installed} is outside the tested range: {tested_version(row.extra)}")
    if options.check:
        out.line(f"hooked {len(hooked)} of {count(len(installed), 'installed framework')}")
    return code
