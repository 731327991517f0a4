"""A real Chromium, and `turnlog ui` on a store with the demo in it. Where there is no browser, its tests say so and skip."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from turnlog import queries
from turnlog.settings import Settings
from web.serving import Served, serve
from web.story import TRACES, tell

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
Open = Callable[..., "Page"]


# Not for the whole run: while it lives, its event loop is that of the thread, and asynchronous tests elsewhere need their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright: pip install playwright")
    if not CHROMIUM:
        pytest.skip("the page is tested with Chromium, which is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page on the store of `story.tell`."""
    directory = tmp_path_factory.mktemp("page")
    tell(directory)
    with serve(directory, TURNLOG_TRACE_URL=TRACES) as served:
        yield served


@pytest.fixture(scope="package")
def demo(told: Served) -> str:
    """The newest session of the demo."""
    with queries.reading(Settings(directory=told.directory)) as db:
        return next(session.session_id for session in queries.sessions(db) if session.session_id.startswith("demo-"))


@pytest.fixture(scope="package")
def vacant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page on an empty store that stays empty."""
    with serve(tmp_path_factory.mktemp("vacant")) as served:
        yield served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The page on an empty store of the test's own."""
    with serve(tmp_path / "turnlog") as served:
        yield served


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open a page in a window of its own. Nothing may complain in its console, fail, or be asked of another server."""
    contexts, complaints = [], []

    def open_(served: Served, path: str = "/", *, width: int = 1280, dark: bool = False, expect_errors: bool = False) -> Page:
        size: ViewportSize = {"width": width, "height": 844}
        context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", timezone_id="UTC")
        contexts.append(context)
        page = context.new_page()
        if not expect_errors:
            page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(served.origin) or complaints.append(request.url))
        if path == "/":
            page.goto(served.address)
        else:
            context.request.get(served.address, max_redirects=0)
            page.goto(served.origin + path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
