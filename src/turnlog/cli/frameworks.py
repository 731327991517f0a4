"""`turnlog frameworks`: what is recorded without a change to the program, and whether it is here."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from turnlog.cli.render import Styled, record, screen
from turnlog.instrument import FRAMEWORKS, check, status


class Row(NamedTuple):
    framework: str
    title: str
    extra: str
    tested: str
    installed: str
    verdict: str
    records: str


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
    out = screen()
    if options.json:
        for row in rows:
            out.json(record(row))
        return 0
    out.table(
        [
            (row.title, row.tested, row.installed or "-", Styled(row.verdict, "green" if row.verdict == "recorded" else "dim"))
            for row in rows
        ],
        header=("FRAMEWORK", "TESTED", "INSTALLED", "HERE"),
    )
    return 0
