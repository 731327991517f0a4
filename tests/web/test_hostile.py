"""What models, tools and users say is shown, never obeyed."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from recording import Recording, user
from store.story import Story, change
from turnlog.content import BLOB_LIMIT
from turnlog.settings import Capture, Settings
from turnlog.store.loader import load
from web.conftest import Open
from web.reading import cells, follow
from web.serving import Served

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><a href=javascript:1>x</a>"
ESCAPES = "\x1b[2J\x1b]0;owned\x07 after\x00\x9b31m"
BACKWARDS = "abc \u202ecba\u202c \u2066xyz\u2069 \u05e9\u05dc\u05d5\u05dd"
LONG = "0123456789" * 500_000


def record(served: Served, **result: Any) -> None:
    recording = Recording(Settings(directory=served.directory, capture=Capture.FULL))
    with recording.agent(next(iter(result.values())), conversation=SCRIPT, name=SCRIPT):
        for name, value in result.items():
            recording.tool(name, {"path": f"{SCRIPT}.py", "text": value}, value)
        recording.chat([user(SCRIPT)], [{"role": "assistant", "parts": [{"type": "text", "content": SCRIPT}]}])
    recording.journal.close()
    recording.close()
    load(Settings(directory=served.directory), patience=5)


@pytest.mark.parametrize("view", ["/session?id=", "/diff?session=", "/files?session=", "/state?session=", "/context?session="])
def test_markup_stays_text_in_every_view(served: Served, open_page: Open, view: str) -> None:
    record(served, write_file=SCRIPT)
    page = open_page(served)
    assert cells(page, "Sessions, newest first")[0][0] == SCRIPT
    page.goto(served.origin + view)
    assert page.title() != "owned"
    assert page.locator("main script, main img, main a[href^=javascript]").count() == 0
    assert SCRIPT in page.locator("body").inner_text()


def test_a_commit_shows_markup_escapes_and_directions_inert(served: Served, open_page: Open) -> None:
    record(served, markup=SCRIPT, escapes=ESCAPES, backwards=BACKWARDS)
    page = open_page(served, "/session")
    shown = []
    for tool in ("markup", "escapes", "backwards"):
        page.goto(served.url("/session"))
        follow(page.locator(".log li", has=page.get_by_text(tool, exact=True)).locator(".id"))
        shown.append(page.locator("pre").nth(1).evaluate("pre => pre.textContent"))
    assert shown == [
        SCRIPT,
        "␛[2J␛]0;owned␇ after␀\ufffd31m",
        "abc \ufffdcba\ufffd \ufffdxyz\ufffd \u05e9\u05dc\u05d5\u05dd",
    ]
    assert page.locator("pre bdi").nth(1).count() == 1
    assert page.title() != "owned"


def test_five_megabytes_are_cut_and_as_captured_in_the_twin(served: Served, open_page: Open) -> None:
    record(served, dump=LONG)
    page = open_page(served, "/session")
    assert len(page.content()) < 200_000
    follow(page.locator(".log li", has=page.get_by_text("dump", exact=True)).locator(".id"))
    assert len(page.locator("pre").nth(1).evaluate("pre => pre.textContent")) == 20_000
    captured = served.json("/commit", id=page.url.rpartition("&id=")[2])["output"]
    assert captured.startswith(LONG[: BLOB_LIMIT - 1000])
    assert page.get_by_text(f"{len(captured) - 20_000:,} characters more").count() == 2, "what went in is as long"
    assert len(page.content()) < 200_000


def test_sql_shows_hostile_values_inert(served: Served, open_page: Open) -> None:
    record(served, write_file=SCRIPT)
    page = open_page(served, "/sql?q=select+session_id+from+sessions")
    assert cells(page, "Result") == [[SCRIPT]]
    page.goto(served.url("/sql", q="select '<b>' as \"<script>1</script>\", 1 as n"))
    assert page.get_by_role("table", name="Result").locator("thead th").first.inner_text() == "<script>1</script>"


def test_forms_lead_to_the_session_that_they_stand_in(served: Served, open_page: Open) -> None:
    session = 'zz\u202eabc\x1b[1m & "q"'
    story = Story(Settings(directory=served.directory))
    for turn in ("1", "2"):
        story.note(f"note {turn}", session, turn, change("fact", "f", turn))
    story.writer.close()
    page = open_page(served, f"/diff?{urlencode({'session': session, 'a': 1, 'b': 2})}")
    follow(page.get_by_role("button", name="Compare"))
    assert page.locator("h1").inner_text() == "Turn 1 → turn 2"


def test_a_hostile_address_is_an_error_shown_as_text(served: Served, open_page: Open) -> None:
    record(served, write_file="x")
    page = open_page(served, expect_errors=True)
    page.goto(served.url("/blame", path=SCRIPT[:60] + "\x1b[1m"))
    assert page.locator("main script").count() == 0
    assert page.locator(".empty").inner_text().startswith("no session has changed ")
