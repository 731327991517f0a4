"""Who may read the page, and what it may do in a browser."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from turnlog.settings import Settings
from turnlog.store.loader import load
from web.serving import Served, serve

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
STRANGER = "open the address that `turnlog ui` printed: it carries the token of this page"


@pytest.mark.parametrize("path", ["/", "/?token=wrong", "/?token=", "/sessions.json", "/live", "/sql?q=select+1", "/health"])
def test_without_the_token_nothing_is_shown(vacant: Served, path: str) -> None:
    answer = vacant.ask(path)
    assert (answer.status, answer.text) == (401, STRANGER)


def test_the_token_becomes_a_cookie_and_leaves_the_address(vacant: Served) -> None:
    welcome = vacant.ask(f"/sql?token={vacant.token}&q=select+1")
    assert (welcome.status, welcome.headers["location"], welcome.body) == (303, "/sql?q=select+1", b"")
    cookie, *rules = welcome.headers["set-cookie"].split("; ")
    assert set(rules) == {"HttpOnly", "Path=/", "SameSite=strict"}
    assert vacant.token not in cookie
    assert vacant.ask("/", Cookie=cookie).status == 200
    assert vacant.ask("/", Cookie=cookie + "x").status == 401


@pytest.mark.parametrize("other", ['prefs={"a": 1}', "foo", "a@b=1", "x=\xe9"])
def test_a_cookie_of_another_server_is_none_of_ours(vacant: Served, other: str) -> None:
    cookie = vacant.ask(f"/?token={vacant.token}").headers["set-cookie"].partition(";")[0]
    assert vacant.ask("/", Cookie=f"{other}; {cookie}").status == 200


def test_the_token_leaves_the_address_of_who_is_known_too(vacant: Served) -> None:
    cookie = vacant.ask(f"/?token={vacant.token}").headers["set-cookie"].partition(";")[0]
    again = vacant.ask(f"/sql?token={vacant.token}", Cookie=cookie)
    assert (again.status, again.headers["location"]) == (303, "/sql")


@pytest.mark.parametrize("path", ["//evil.example/", "///evil.example/", "/%2fevil.example/"])
def test_the_token_leads_to_no_other_server(vacant: Served, path: str) -> None:
    assert vacant.ask(f"{path}?token={vacant.token}").headers["location"] == "/evil.example/"


def test_a_cookie_of_another_port_is_none(vacant: Served) -> None:
    cookie = vacant.ask(f"/?token={vacant.token}").headers["set-cookie"].partition(";")[0]
    elsewhere = cookie.replace(str(vacant.port), "1")
    assert (vacant.ask("/", Cookie=cookie).status, vacant.ask("/", Cookie=elsewhere).status) == (200, 401)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0"])
def test_a_rebound_name_is_refused_even_with_the_token(vacant: Served, host: str) -> None:
    answer = vacant.ask(f"/?token={vacant.token}", Host=f"{host}:{vacant.port}", Authorization=f"Bearer {vacant.token}")
    assert answer.status == 403
    assert answer.text.startswith(f"the Host header names {host}:{vacant.port}, which this server does not go by.")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"},
    ],
)
def test_a_page_of_another_site_is_refused_even_with_the_token(vacant: Served, headers: dict[str, str]) -> None:
    assert vacant.ask("/sessions.json", Authorization=f"Bearer {vacant.token}", **headers).status == 403


@pytest.mark.parametrize("path", ["/", "/static/turnlog.js", "/nowhere", "/session?id=none", "/?token=wrong"])
def test_every_answer_says_what_it_may_do(vacant: Served, path: str) -> None:
    headers = vacant.ask(path, Authorization=f"Bearer {vacant.token}").headers
    assert headers["content-security-policy"] == CSP
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"])
def test_only_the_assets_are_served_as_files(vacant: Served, path: str) -> None:
    assert vacant.ask(path).status in (401, 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(vacant: Served, method: str) -> None:
    assert vacant.ask("/", method, Authorization=f"Bearer {vacant.token}", Content_Length="0").status == 405


def test_what_is_not_there_is_an_error_with_a_hint(told: Served) -> None:
    answer = told.ask("/session?id=parse", Authorization=f"Bearer {told.token}")
    assert answer.status == 200
    answer = told.ask("/session.json?id=parsing", Authorization=f"Bearer {told.token}")
    assert answer.status == 404
    assert answer.text.startswith('{"error":"there is no session \'parsing\'. Nearest: parser')
    assert told.ask("/session?id=s&turn=x", Authorization=f"Bearer {told.token}").status == 404


def test_an_address_that_leads_nowhere_is_a_page_that_leads_back(vacant: Served) -> None:
    answer = vacant.ask("/<b>nowhere", Authorization=f"Bearer {vacant.token}")
    assert answer.status == 404
    assert "there is nothing at /&lt;b&gt;nowhere." in answer.text
    assert '<a href="/">All sessions</a>' in answer.text


def test_a_view_that_fails_says_so_and_where_to_look(tmp_path: Path) -> None:
    load(Settings(directory=tmp_path), patience=1)
    with duckdb.connect(str(Settings(directory=tmp_path).database)) as db:
        db.execute("update turnlog_meta set value = 'none' where name = 'schema'")
    with serve(tmp_path) as served:
        page, data = (served.ask(path, Authorization=f"Bearer {served.token}") for path in ("/", "/sessions.json"))
    assert (page.status, data.status) == (500, 500)
    assert "<h1>Failed</h1>" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert data.text.startswith('{"error":"this page failed (ValueError)')


def test_the_list_of_sessions_has_a_name_of_its_own(told: Served) -> None:
    named, first = (told.ask(path, Authorization=f"Bearer {told.token}") for path in ("/sessions?q=parser", "/?q=parser"))
    assert (named.status, named.text.count("<tr")) == (200, first.text.count("<tr"))
