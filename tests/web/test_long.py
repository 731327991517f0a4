"""Sessions with more than a page shows: the chosen turn is in view, and what was left out is said."""

from __future__ import annotations

import gzip
import itertools
import random
import re
import string
from collections.abc import Iterator

import pytest

from store.attempts import Attempts
from store.story import Story, change
from turnlog.settings import Settings
from web.conftest import Open
from web.reading import follow
from web.serving import Served, serve

TURNS = 150
MANY = 410
LATE = 1000
PARTED = 500


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("long")
    story = Story(Settings(directory=directory))
    for turn in range(1, TURNS + 1):
        story.chat(f"answer {turn}", "long", f"t{turn}", choice="answer")
    for session, number in itertools.product(("wordy", "wordier"), range(150)):
        story.agent(f"{session} is asked {number}", session, f"{session} {number}", wordy())
        words = {"input_summary": wordy(), "output_summary": wordy()}
        story.tool(f"{session} {number}", session, f"{session} {number}", "run", **words)
    story.note("set", "endless", "v1", change("decision", "db", "A" * 200))
    story.note("gone", "endless", "v2", change("decision", "db", "", "evict"))
    story.chat("begin", "wide", "u0", choice="answer")
    story.note("notes", "wide", "u1", *(change("fact", f"f{number}", "v") for number in range(MANY)))
    for number in range(MANY):
        story.chat(f"decide {number}", "wide", "u1", choice="call run", calls=[f"c{number}"])
        story.tool(f"run {number}", "wide", "u1", "run", outcome="error", error_type="E")
    for run in ("one", "other"):
        story.chat(f"{run} begins", run, f"{run} t", choice="answer", output_hash="same")
        for number in range(LATE):
            told = f"{run if number == PARTED else 'same'} {number}"
            story.tool(f"{run} {number}", run, f"{run} t", "run", input_hash="i", output_hash=told, output_summary=told)
    story.writer.close()
    attempts = Attempts(Settings(directory=directory), after=100_000)
    attempts.session = "again"
    for run in ("w1", "w2"):
        attempts.open(run)
        for number in range(LATE):
            told = f"{run if number == PARTED else 'same'} {number}"
            attempts.call(f"{run} {number}", "run", "c1", output_hash=told, output_summary=told)
    attempts.writer.close()
    with serve(directory) as served:
        yield served


def wordy() -> str:
    """As long as a summary can be, and hardly to be packed."""
    return "".join(random.choices("<&'" + string.printable[:62] + 'äöü"', k=240))


def html(served: Served, path: str) -> str:
    return served.ask(path, Authorization=f"Bearer {served.token}").text


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ({}, 91, 150),
        ({"turn": 5}, 1, 35),
        ({"turn": 100}, 91, 150),
        ({"turn": 40, "to": 60}, 1, 60),
        ({"turn": 140, "to": 60}, 91, 150),
        ({"to": 999}, 91, 150),
    ],
)
def test_the_chosen_turn_is_in_the_timeline(long: Served, asked: dict[str, int], first: int, last: int) -> None:
    turns = [bar["turn"] for bar in long.json("/session", id="long", **asked)["turns"]]
    assert turns == list(range(first, last + 1))


def test_a_turn_is_chosen_without_the_timeline_moving(long: Served) -> None:
    shown = html(long, "/session?id=long&to=60")
    assert "/session?id=long&amp;turn=40&amp;to=60" in shown
    assert "to=" not in "".join(re.findall(r"id=long&amp;turn=[^\"]*", html(long, "/session?id=long")))


def test_the_commits_go_with_the_turns_that_are_shown(long: Served) -> None:
    assert [commit["turn"] for commit in long.json("/session", id="long", to=60)["commits"]] == list(range(60, 0, -1))


def test_a_commit_whose_turn_has_no_bar_has_no_place_in_it(long: Served) -> None:
    shown = html(long, "/session?id=long")
    assert (shown.count('<svg class="place"'), shown.count('<span class="place"')) == (60, 40)


def test_all_commits_of_a_long_turn_are_reached(long: Served, open_page: Open) -> None:
    page = open_page(long, "/session?id=wide&turn=2")
    found = page.locator(".log .id").all_inner_texts()
    while page.get_by_role("link", name="Earlier commits").count():
        follow(page.get_by_role("link", name="Earlier commits"))
        found += page.locator(".log .id").all_inner_texts()
    assert len(set(found)) == len(found) == 2 * MANY + 1
    follow(page.get_by_role("link", name="Newest"))
    assert page.locator(".log .id").all_inner_texts() == found[:100]


@pytest.mark.parametrize("path", ["/session?id=wordy", "/compare?a=wordy&b=wordier"])
def test_whatever_its_commits_say_a_first_view_is_under_200_kilobytes(long: Served, path: str) -> None:
    answer = long.ask(path, Authorization=f"Bearer {long.token}", Accept_Encoding="gzip")
    assert len(gzip.decompress(answer.body)) > 100_000
    assert len(answer.body) < 170_000


def test_a_diff_says_how_much_it_leaves_out(long: Served) -> None:
    shown = html(long, "/diff?session=wide&a=1&b=2")
    said = re.findall(r"The first 400 of [^<]*", shown)
    assert said == [f"The first 400 of {what}." for what in (f"{MANY + 1} entries", f"{MANY} decisions", f"{MANY} failures")]
    assert shown.count("<tr") == 3 * 401


@pytest.mark.parametrize("path", ["/compare?a=one&b=other", "/diff?session=again&retry=2"])
def test_two_that_part_late_are_shown_where_they_part(long: Served, path: str) -> None:
    shown = html(long, path)
    assert ('href="#parted"' in shown, shown.count('id="parted"'), shown.count("data-row")) == (True, 1, 100)
    assert (f"Steps 501 to 600 of {LATE + 1:,}" in shown, "What came out" in shown) == (True, True)
    earlier, later = (re.search(rf'href="([^"]*)">{arrow}', shown) for arrow in ("← Earlier", "Later →"))
    assert earlier and later
    for link, steps in ((earlier[1], "Steps 401 to 500"), (later[1], "Steps 601 to 700")):
        other = html(long, link.replace("&amp;", "&"))
        assert (steps in other, 'id="parted"' in other, "What came out" in other) == (True, False, True)
        back = re.search(r'href="([^"]*)#parted"', other)
        assert back and back[1].replace("&amp;", "&") == path
    assert "Steps 1,001 to 1,001" in html(long, f"{path}&skip=99999")


def test_j_goes_through_rows_that_lead_to_the_same_commit(long: Served, open_page: Open) -> None:
    page = open_page(long, "/state?session=wide")
    for _ in range(4):
        page.keyboard.press("j")
    assert page.locator("[data-row]").evaluate_all("all => all.findIndex(each => each.classList.contains('here'))") == 3


def test_two_that_part_late_open_with_it_in_view(long: Served, open_page: Open) -> None:
    page = open_page(long, "/compare?a=one&b=other&skip=0")
    assert page.locator("#parted").count() == 0
    follow(page.get_by_role("link", name="Show it"))
    page.wait_for_function(
        "() => { const { y } = document.querySelector('#parted').getBoundingClientRect(); return 0 <= y && y <= innerHeight; }"
    )


def test_an_endless_word_leaves_the_words_beside_it_whole(long: Served, open_page: Open) -> None:
    page = open_page(long, "/state?session=endless")
    row = page.get_by_role("region", name="Out of context").get_by_role("row").nth(1)
    assert "AAA" in row.inner_text()
    lines = """cell => {
        const words = document.createRange();
        words.selectNodeContents(cell);
        return new Set([...words.getClientRects()].map(line => line.top)).size;
    }"""
    for label in ("Kind", "Commit"):
        assert row.locator(f"[data-label={label}]").evaluate(lines) == 1
