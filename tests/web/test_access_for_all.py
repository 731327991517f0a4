"""Readable by everybody: axe-core finds nothing serious, nothing is wider than a phone, and the first view is light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from web.conftest import Open
from web.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Page

VIEWS = {
    "sessions": "/",
    "nothing": "/?q=nothing-like-it",
    "session": "/session?id={demo}",
    "retried": "/session?id=s&turn=3",
    "commit": "/commit?session={demo}&id={commit}",
    "diff": "/diff?session={demo}&a=2&b=3",
    "retry": "/diff?session=s&retry=3",
    "compare": "/compare?a={demo}&b=s",
    "working set": "/files?session={demo}",
    "blame": "/blame?path=wordcount.py",
    "state": "/state?session=parser",
    "context": "/context?session={demo}&turn=3",
    "sql": "/sql?q=select+tool,+sum(calls)+as+calls+from+tool_stats+group+by+tool",
    "chart": "/sql?as=chart&q=select+tool,+sum(calls)+as+calls+from+tool_stats+group+by+tool",
    "health": "/health",
}


@pytest.fixture(scope="package")
def commit(told: Served, demo: str) -> str:
    return str(told.json("/session", id=demo, turn=2)["commits"][-1]["commit_id"])


def serious(page: Page) -> list[str]:
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="pip install axe-core-python")
    found: list[dict[str, Any]] = axe.Axe().run(page)["violations"]
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(told: Served, demo: str, commit: str, open_page: Open, view: str) -> None:
    page = open_page(told, VIEWS[view].format(demo=demo, commit=commit))
    for details in page.locator("main > .card details summary").all():
        details.click()
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    assert serious(page) == []


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(told: Served, demo: str, commit: str, open_page: Open, view: str) -> None:
    page = open_page(told, VIEWS[view].format(demo=demo, commit=commit), width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    beyond = page.locator("main table").evaluate_all(
        "all => all.filter(each => each.scrollWidth > each.parentElement.clientWidth)"
    )
    assert beyond == []


def test_the_dialog_of_keys_is_readable_too(told: Served, open_page: Open) -> None:
    page = open_page(told)
    page.get_by_role("button", name="Keys").click()
    assert serious(page) == []


@pytest.mark.parametrize("view", ["sessions", "session"])
def test_the_first_view_is_under_200_kilobytes(told: Served, demo: str, open_page: Open, view: str) -> None:
    page = open_page(told, "/health")
    weights = {}
    page.context.on("response", lambda answer: weights.update({answer.url: "/live" not in answer.url and len(answer.body())}))
    page.goto(told.origin + VIEWS[view].format(demo=demo))
    page.reload()
    assert {url.rpartition("/")[2] for url in weights} >= {"turnlog.css", "turnlog.js"}
    assert 5_000 < sum(weights.values()) < 200_000
