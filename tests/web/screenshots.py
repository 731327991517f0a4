"""Pictures of the main views for the README, from the demo: `python tests/web/screenshots.py`.

Records the demo twice in a store of its own, opens the page in Chromium and writes `examples/screenshots/*.png`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser, sync_playwright

from programs import ROOT, run
from turnlog import queries
from turnlog.settings import Settings
from web.conftest import ARGUMENTS, CHROMIUM
from web.serving import Served, serve

FOLDER = ROOT / "examples" / "screenshots"


def pictures(served: Served) -> dict[str, str]:
    with queries.reading(Settings(directory=served.directory)) as db:
        second, first = (session.session_id for session in queries.sessions(db, 2))
        commit = queries.log(db, second, tool="write_file", turn=3)[0]
    return {
        "sessions": "/",
        "session": f"/session?id={second}",
        "commit": f"/commit?session={second}&id={commit.commit_id}",
        "diff": f"/diff?session={second}&a=2&b=3",
        "compare": f"/compare?a={first}&b={second}",
        "files": f"/files?session={second}",
        "state": f"/state?session={second}&turn=3",
        "sql": "/sql?as=chart&q=select+tool,+sum(calls)+as+calls%0Afrom+tool_stats%0Agroup+by+tool%0Aorder+by+calls+desc",
        "health": "/health",
    }


def take(browser: Browser, served: Served, *, dark: bool, width: int, only: tuple[str, ...] = ()) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 780 if width > 600 else 844}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    page.goto(served.address)
    for name, path in pictures(served).items():
        if only and name not in only:
            continue
        page.goto(served.origin + path)
        page.locator(".live:not(:empty), main:not([data-live])").first.wait_for()
        page.screenshot(path=FOLDER / f"{name}{'-dark' if dark else ''}{'-narrow' if width < 600 else ''}.png")
    context.close()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        directory = Path(folder)
        for _ in range(2):
            run(sys.executable, "-m", "turnlog", "demo", directory=directory, TURNLOG_CAPTURE="full")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        with serve(directory) as served:
            take(browser, served, dark=False, width=1280, only=("session", "diff", "commit", "sql"))
            take(browser, served, dark=True, width=1280, only=("session",))
            take(browser, served, dark=False, width=390, only=("session",))
        browser.close()


if __name__ == "__main__":
    main()
