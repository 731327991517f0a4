"""Sessions with more than a page shows: the chosen turn is in view, and what was left out is said."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from store.story import Story, change
from turnlog.settings import Settings
from web.serving import Served, serve

TURNS = 150
MANY = 410


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("long")
    story = Story(Settings(directory=directory))
    for turn in range(1, TURNS + 1):
        story.chat(f"answer {turn}", "long", f"t{turn}", choice="answer")
    story.chat("begin", "wide", "u0", choice="answer")
    story.note("notes", "wide", "u1", *(change("fact", f"f{number}", "v") for number in range(MANY)))
    for number in range(MANY):
        story.chat(f"decide {number}", "wide", "u1", choice="call run", calls=[f"c{number}"])
        story.tool(f"run {number}", "wide", "u1", "run", outcome="error", error_type="E")
    story.writer.close()
    with serve(directory) as served:
        yield served


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


def test_a_commit_whose_turn_has_no_bar_has_no_place_in_it(long: Served) -> None:
    shown = html(long, "/session?id=long&to=60")
    assert (shown.count('<svg class="place"'), shown.count('<span class="place"')) == (60, 90)


def test_a_diff_says_how_much_it_leaves_out(long: Served) -> None:
    shown = html(long, "/diff?session=wide&a=1&b=2")
    said = re.findall(r"The first 400 of [^<]*", shown)
    assert said == [f"The first 400 of {what}." for what in (f"{MANY + 1} entries", f"{MANY} decisions", f"{MANY} failures")]
    assert shown.count("<tr") == 3 * 401
