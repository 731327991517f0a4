"""The page by keyboard, and addresses that others can open."""

from __future__ import annotations

import pytest

from web.conftest import Open
from web.reading import texts
from web.serving import Served


def test_j_and_k_go_through_turns_and_commits_and_enter_opens(told: Served, open_page: Open) -> None:
    page = open_page(told, "/session?id=s")
    rows = page.locator("[data-row]")
    assert rows.count() == 3 + 12
    page.keyboard.press("j")
    assert texts(page.locator(".here .turn")) == ["3"]
    for _ in range(4):
        page.keyboard.press("j")
    assert texts(page.locator(".here .what")) == ['run {"target":"tests"} 3 passed']
    page.keyboard.press("k")
    assert texts(page.locator(".here .what")) == ["decision answer"]
    assert page.evaluate("document.activeElement.matches('.here a')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/commit?session=s**")


def test_h_and_l_go_from_turn_to_turn_and_d_to_its_diff(told: Served, open_page: Open) -> None:
    page = open_page(told, "/session?id=s")
    for key, turn in (("l", "1"), ("l", "2"), ("l", "3"), ("h", "2")):
        page.keyboard.press(key)
        page.wait_for_url(f"**turn={turn}")
        assert texts(page.locator(".turns [aria-current] .turn")) == [turn]
    page.keyboard.press("d")
    page.wait_for_url("**/diff?session=s&b=2")
    assert page.locator("h1").inner_text() == "Turn 1 → turn 2"
    page.keyboard.press("]")
    page.wait_for_url("**a=2&b=3")
    page.keyboard.press("[")
    page.wait_for_url("**a=1&b=2")
    page.keyboard.press("g")
    page.wait_for_url(f"{told.origin}/")


def test_slash_searches_and_a_key_that_is_typed_is_no_command(told: Served, open_page: Open) -> None:
    page = open_page(told)
    page.keyboard.press("/")
    page.keyboard.type("gjk")
    assert page.get_by_label("Search").input_value() == "gjk"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    assert len(texts(dialog.locator("kbd"))) == 11
    page.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_d_leads_from_the_chosen_turn_to_its_diff(told: Served, demo: str, open_page: Open) -> None:
    page = open_page(told, f"/session?id={demo}")
    for _ in range(3):
        page.keyboard.press("j")
    with page.expect_navigation():
        page.keyboard.press("d")
    assert page.locator("h1").inner_text() == "Turn 1 → turn 2"


def test_filters_are_chosen_by_keys_and_keep_the_focus(told: Served, open_page: Open) -> None:
    page = open_page(told)
    page.get_by_label("Status").focus()
    for status in ("open", "active", "idle"):
        page.keyboard.press("ArrowDown")
        page.wait_for_url(f"**status={status}**")
    page.get_by_role("link", name="parser").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.get_by_role("link", name="parser").wait_for(state="detached")
    assert page.evaluate("document.activeElement.name") == "failed"


def test_light_and_dark_are_chosen_by_key_and_kept(told: Served, open_page: Open) -> None:
    page = open_page(told)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.keyboard.press("t")
    assert page.evaluate(paper) != light
    page.goto(told.url("/health"))
    page.locator("html[data-theme=dark]").wait_for()


def test_the_first_stop_of_the_tabulator_skips_to_the_content(told: Served, open_page: Open) -> None:
    page = open_page(told)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/?q=parser", "Sessions"),
        ("/session?id=s&turn=2", "s"),
        ("/diff?session=s&a=1&b=2", "Turn 1 → 2"),
        ("/diff?session=s&retry=3", "Retry of turn 2"),
        ("/compare?a=s&b=parser", "s and parser"),
        ("/files?session=parser", "Working set"),
        ("/blame?path=parser.py", "Blame parser.py"),
        ("/state?session=parser&turn=1", "State"),
        ("/context?session=parser&turn=1", "Context"),
        ("/sql?q=select+1", "SQL"),
        ("/health", "Health"),
    ],
)
def test_every_view_has_an_address_that_opens_it(told: Served, open_page: Open, path: str, title: str) -> None:
    page = open_page(told, path)
    assert (page.title(), page.url) == (f"{title} · turnlog", told.origin + path)


def test_an_address_with_a_token_opens_its_view(told: Served, open_page: Open) -> None:
    page = open_page(told)
    # A page that is open asks for news, which it would be refused.
    page.goto("about:blank")
    page.context.clear_cookies()
    page.goto(told.url("/session", id="s", turn=2, token=told.token))
    assert page.url == told.url("/session", id="s", turn=2)
