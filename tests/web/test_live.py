"""The page while a real agent writes: it fills by itself, and never stands in the agent's way."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import duckdb
import pytest

from programs import ROOT, environment, running
from store.story import Story
from turnlog.settings import Settings
from turnlog.store.loader import load
from web.conftest import Open
from web.reading import cells, follow, texts
from web.serving import Served, serve

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

# One step for each line that it is told.
AGENT = """\
import sys, turnlog
turnlog.init(instrument=False)

@turnlog.tool
def look(at):
    return f"saw {at}"

@turnlog.tool
def wait_for_it(at):
    print("waiting", flush=True)
    sys.stdin.readline()
    return f"waited for {at}"

with turnlog.session("running"):
    for line in sys.stdin:
        word = line.strip()
        with turnlog.turn(f"step {word}", agent="watcher"):
            look(word) if word != "long" else wait_for_it(word)
        print("done", flush=True)
"""


@contextmanager
def agent(directory: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", AGENT],
        env=environment(directory, TURNLOG_LOAD_INTERVAL="0.5"),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def tell(program: subprocess.Popen[str], word: str) -> str:
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(word + "\n")
    return program.stdout.readline().strip()


def test_what_an_agent_does_appears_without_a_reload(served: Served, open_page: Open) -> None:
    page = open_page(served)
    page.evaluate("window.marker = 1")
    assert page.locator(".empty").count() == 1
    with agent(served.directory) as program:
        assert tell(program, "one") == "done"
        page.get_by_role("link", name="running").wait_for()
        assert [row[:4] for row in cells(page, "Sessions, newest first")] == [["running", "idle", "watcher", "1"]]
        assert page.evaluate("window.marker") == 1
        follow(page.get_by_role("link", name="running"))
        page.evaluate("window.marker = 2")
        assert texts(page.locator(".log .what")) == ['look {"at":"one"} saw one']
        assert tell(program, "two") == "done"
        page.get_by_text("saw two").wait_for()
        assert tell(program, "long") == "waiting"
        page.locator(".log .flag", has_text="RUNNING").wait_for()
        assert texts(page.locator(".turns .marks").first.locator(".flag")) == ["RUNNING"]
        assert tell(program, "") == "done"
        page.get_by_text("waited for long").wait_for()
        assert texts(page.locator(".turns .asked")) == ["step long", "step two", "step one"]
        assert page.evaluate("window.marker") == 2


def test_live_updates_can_be_paused_and_keep_the_place(served: Served, open_page: Open) -> None:
    page = open_page(served)
    with agent(served.directory) as program:
        tell(program, "one")
        page.get_by_role("link", name="running").wait_for()
        page.goto(served.url("/session", id="running"))
        page.keyboard.press("j")
        here = page.locator(".here").get_attribute("href")
        tell(program, "two")
        page.get_by_text("saw two").wait_for()
        assert page.locator(".here").get_attribute("href") == here
        assert page.evaluate("document.activeElement.getAttribute('href')") == here
        page.keyboard.press(".")
        assert page.locator(".live").inner_text() == "paused"
        tell(program, "three")
        page.wait_for_timeout(2000)
        assert page.get_by_text("saw three").count() == 0
        page.keyboard.press(".")
        tell(program, "four")
        page.get_by_text("saw four").wait_for()


def test_what_somebody_types_holds_or_has_marked_stays_while_the_page_goes_on(served: Served, open_page: Open) -> None:
    page = open_page(served)
    with agent(served.directory) as program:
        tell(program, "one")
        page.get_by_role("link", name="running").wait_for()
        page.get_by_label("Search").fill("runn")
        tell(program, "two")
        page.locator("[data-label=Turns]", has_text="2").wait_for()
        assert page.get_by_label("Search").input_value() == "runn"
        page.goto(served.url("/state", session="running"))
        page.get_by_label("After turn").focus()
        tell(program, "three")
        page.get_by_text("3 of 3").wait_for()
        assert page.evaluate("document.activeElement.id") == "turn"
        page.goto(served.url("/session", id="running"))
        page.get_by_text("saw one").evaluate("each => getSelection().selectAllChildren(each)")
        tell(program, "four")
        page.get_by_text("saw four").wait_for()
        assert page.evaluate("String(getSelection())") == "saw one"


def test_an_answer_that_comes_late_takes_nothing_back(served: Served, open_page: Open) -> None:
    page = open_page(served)
    with agent(served.directory) as program:
        for word in ("one", "two"):
            tell(program, word)
        page.get_by_role("link", name="running").wait_for()
        page.goto(served.url("/state", session="running", turn=2))
        held: list[Route] = []
        page.route("**/state**turn=2", lambda route: held.append(route))
        with page.expect_request("**/state**turn=2"):
            tell(program, "three")
        page.get_by_label("After turn").press("ArrowLeft")
        page.locator("h1", has_text="after turn 1").wait_for()
        for route in held:
            route.continue_()
        page.wait_for_timeout(1000)
        assert page.url.endswith("turn=1")
        assert page.locator("h1 small").inner_text() == "after turn 1"


def test_a_page_that_could_not_be_read_is_read_again(tmp_path: Path, open_page: Open) -> None:
    directory = tmp_path / "turnlog"
    with serve(directory, TURNLOG_PATIENCE="0.2") as served, agent(directory) as program:
        page = open_page(served, expect_errors=True)
        tell(program, "one")
        page.get_by_role("link", name="running").wait_for()
        with (directory / "store.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tell(program, "two")
            page.locator(".live", has_text="cannot read now").wait_for()
        page.locator("[data-label=Turns]", has_text="2").wait_for()
        page.locator(".live", has_text="live").wait_for()


def test_a_call_that_runs_is_counted_on_and_one_whose_process_died_is_told(served: Served, open_page: Open) -> None:
    page = open_page(served)
    with agent(served.directory) as program:
        tell(program, "one")
        page.get_by_role("link", name="running").wait_for()
        page.goto(served.url("/session", id="running"))
        tell(program, "long")
        running = page.locator(".log [data-since]")
        running.wait_for()
        # 2.0 s and more: by the page's own counting, as nothing is written meanwhile.
        page.wait_for_function(
            "() => /^([2-9]|[0-9]{2,})[.][0-9] s$/.test(document.querySelector('.log [data-since]').textContent)"
        )
        program.kill()
        page.locator(".log .flag", has_text="INTERRUPTED").wait_for()
        assert texts(page.locator(".turns .marks").first.locator(".flag")) == ["1 INTERRUPTED"]
        assert page.locator("[data-since]").count() == 0


def look_away(page: Page, away: bool) -> None:
    """Headless, every page is always in view."""
    page.evaluate(
        "away => { Object.defineProperty(document, 'hidden', { configurable: true, get: () => away });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        away,
    )


def test_a_page_that_nobody_looks_at_holds_no_connection_and_misses_nothing(served: Served, open_page: Open) -> None:
    page = open_page(served)
    page.locator(".live", has_text="live").wait_for()
    with agent(served.directory) as program:
        with page.expect_event("requestfailed", lambda request: "/live" in request.url):
            look_away(page, True)
        tell(program, "one")
        page.wait_for_timeout(2000)
        assert page.get_by_role("link", name="running").count() == 0
        look_away(page, False)
        page.get_by_role("link", name="running").wait_for()
        page.keyboard.press(".")
        look_away(page, True)
        with pytest.raises(Exception, match="Timeout"), page.expect_request("**/live*", timeout=1000):
            look_away(page, False)
        assert page.locator(".live").inner_text() == "paused"


def test_ctrl_c_ends_the_server_while_a_page_follows_it(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "turnlog", "ui", "--port", "0", "--no-open", "--json")
    with running(*command, directory=tmp_path) as program:
        assert program.stdout is not None
        address = urlsplit(json.loads(program.stdout.readline())["address"])
        page = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
        page.request("GET", "/live", headers={"Authorization": f"Bearer {address.query.removeprefix('token=')}"})
        assert page.getresponse().readline() == b"retry: 2000\n"
        program.send_signal(signal.SIGINT)
        program.wait(timeout=60)
        page.close()


def test_an_open_page_holds_nothing(served: Served, open_page: Open) -> None:
    load(Settings(directory=served.directory), patience=1)
    page = open_page(served)
    page.locator(".live", has_text="live").wait_for()
    with duckdb.connect(str(Settings(directory=served.directory).database)) as db:
        assert db.execute("select count(*) from sessions").fetchall() == [(0,)]


def test_a_store_that_is_damaged_is_a_page_that_says_what_to_do(tmp_path: Path) -> None:
    story = Story(Settings(directory=tmp_path))
    for number in range(2000):
        story.tool(f"call {number}", "s", "t1", "read", input_summary=f"{number} {os.urandom(40).hex()}")
    story.writer.close()
    load(Settings(directory=tmp_path), patience=1)
    database = Settings(directory=tmp_path).database
    whole = database.read_bytes()
    answers = []
    with serve(tmp_path) as served:
        # After DuckDB's headers, block by block: some are read when it is opened, others when they are asked for.
        for place in range(3 * 4096 + 5000, len(whole), 262144):
            database.write_bytes(whole[:place] + os.urandom(3000) + whole[place + 3000 :])
            answers += [served.ask(path, Authorization=f"Bearer {served.token}") for path in ("/session?id=s", "/state.json")]
    assert {answer.status for answer in answers} == {200, 503}
    assert any("the store could not be read" in answer.text and "move away the file" in answer.text for answer in answers)


def test_while_another_program_keeps_the_store_the_page_says_so_and_recovers(tmp_path: Path) -> None:
    load(Settings(directory=tmp_path), patience=1)
    with serve(tmp_path, TURNLOG_PATIENCE="0.5") as served:
        known = {"Authorization": f"Bearer {served.token}"}
        with duckdb.connect(str(Settings(directory=tmp_path).database)):
            busy, health = served.ask("/", **known), served.ask("/health", **known)
        assert (busy.status, health.status) == (503, 200)
        assert "<h1>Cannot read</h1>" in busy.text
        assert "UNREADABLE" in health.text
        assert served.ask("/", **known).status == 200
