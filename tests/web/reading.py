"""What a person would read from the page: tables as rows of texts, the log as lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def cells(page: Page, caption: str) -> list[list[str]]:
    """The rows of a table, cell by cell."""
    rows: list[list[str]] = page.get_by_role("table", name=caption, exact=True).evaluate(
        "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.innerText))"
    )
    return [[plain(cell) for cell in row] for row in rows]


def follow(link: Locator) -> None:
    """Click, and wait for the page that it leads to."""
    with link.page.expect_navigation():
        link.click()


def texts(found: Locator) -> list[str]:
    return [plain(text) for text in found.all_inner_texts()]


def facts(page: Page) -> list[str]:
    return texts(page.locator(".facts li"))


def plain(text: str) -> str:
    """On one line, without what differs from run to run: ids and durations."""
    text = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7}\b|\b[a-f]{7}\b", "ID", " ".join(text.split()))
    return re.sub(r"\b[\d.]+(e-\d+)? m?s\b", "MS", text)
