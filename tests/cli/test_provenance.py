"""`turnlog taint` and `turnlog why`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from cli.history import Turnlog, plain
from store.story import change
from store.talk import Talk, report
from turnlog import queries
from turnlog.settings import Settings


@pytest.fixture
def told(settings: Settings) -> Iterator[Talk]:
    talk = Talk(settings)
    report(talk)
    yield talk
    talk.writer.close()


BUILT = [
    "session s",
    "ID  web_search  turn 1  retrieved  NOT VERIFIED",
    "  it is 42",
    "built on it: 4 decisions, 1 tool call, 1 file, up to 2 turns later",
    "turn 1",
    "  ID  decision  saw it  choice of c2 - keep it",
    "  ID  write_file  asked by ID",
    "  ID  decision  saw it  choice of c3",
    "turn 2",
    "  ID  decision  by way of ID  choice of c4",
    "turn 3",
    "  ID  decision  by way of ID  choice of c6",
    "files",
    "  notes.md  write  turn 1  write_file ID",
]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in plain(text)]


def test_taint_without_a_name_lists_what_is_unverified(told: Talk, turnlog: Turnlog) -> None:
    assert lines(turnlog("taint").out) == ["session s", "ID  web_search  turn 1  retrieved  NOT VERIFIED  it is 42"]
    (line,) = turnlog("taint", "--json").out.splitlines()
    assert list(json.loads(line)) == list(queries.Source._fields)


def test_nothing_unverified_is_a_value(told: Talk, turnlog: Turnlog) -> None:
    told.tool("other", "clean", "t9", "read_file")
    assert turnlog("taint", "-s", "clean") == (0, "session clean\nnothing unverified\n", "")
    assert turnlog("taint", "-s", "clean", "--json") == (0, "", "")


def test_taint_shows_what_is_built_on_a_result_and_by_which_way(told: Talk, turnlog: Turnlog) -> None:
    assert lines(turnlog("taint", told.ids["web"][:7]).out) == BUILT
    assert lines(turnlog("taint", "hash of web").out) == BUILT


def test_taint_takes_an_address(told: Talk, turnlog: Turnlog) -> None:
    fetched = change("source", "https://example.com/a", "", action="fetch", evidence="declared")
    told.ran("page", "t3", fetched, by="c6", tool="fetch", source_kind="retrieved", verified=True)
    assert lines(turnlog("taint", "https://example.com").out) == [
        "session s",
        "ID  fetch  turn 3  retrieved  verified",
        "nothing is built on it",
    ]


def test_taint_of_a_decision_begins_with_what_it_asked_for(told: Talk, turnlog: Turnlog) -> None:
    assert lines(turnlog("taint", told.ids["c5"]).out) == [
        "session s",
        "ID  decision  turn 3  model_generated",
        "built on it: 1 decision, 1 tool call, in its turn",
        "turn 3",
        "  ID  read_file  asked by ID",
        "  ID  decision  built on its reply  choice of c6",
    ]


def test_taint_says_when_there_is_more_than_it_shows(told: Talk, turnlog: Turnlog) -> None:
    web = told.ids["web"][:7]
    assert turnlog("taint", web, "-n", "2").out.splitlines()[7] == f"there is more: turnlog taint {web} -n 5"


def test_taint_as_json_has_a_line_for_every_commit(told: Talk, turnlog: Turnlog) -> None:
    rows = [json.loads(line) for line in turnlog("taint", told.ids["web"], "--json").out.splitlines()]
    assert [list(row) for row in rows] == [list(queries.Built._fields)] * 5
    assert rows[1]["path"].split(" > ") == [told.ids[label] for label in ("web", "c2", "write")]


def test_a_verified_result_says_who_verified_it(told: Talk, turnlog: Turnlog) -> None:
    told.note("verify", "s", "t3", change("source", "hash of web", "verified by ann", action="verify"))
    assert lines(turnlog("taint", told.ids["web"]).out)[1] == "ID  web_search  turn 1  retrieved  verified by ann"
    assert turnlog("taint").out == "session s\nnothing unverified\n"


def test_a_source_that_is_not_there_is_an_error_with_the_nearest(told: Talk, turnlog: Turnlog) -> None:
    code, out, error = turnlog("taint", told.ids["web"][:6] + "zzzzzzzzzz")
    assert (code, out) == (1, "")
    assert error.startswith(
        f"turnlog: session s has no result '{told.ids['web'][:6]}zzzzzzzzzz', by commit, content hash or address."
    )
    assert f"Nearest: {told.ids['web']} (web_search), " in error


def test_why_shows_who_decided_and_what_was_in_the_context(told: Talk, turnlog: Turnlog) -> None:
    assert lines(turnlog("why", told.ids["write"]).out) == [
        "session s",
        "ID  turn 1  write_file",
        "decided by",
        "ID  turn 1  decision  choice of c2 - keep it",
        "reason  keep it",
        "built on 1 unverified input",
        "  ID  web_search  turn 1  in its context  ID > ID > ID",
        "in its context  4 messages",
        "  system  operator  turn 1  be brief",
        "  user  user_supplied  turn 1  find it",
        "  assistant  model_generated  turn 1  ID  choice of c1",
        "  tool  retrieved  NOT VERIFIED  turn 1  web_search ID  it is 42",
    ]


def test_why_of_a_decision_is_its_own_context(told: Talk, turnlog: Turnlog) -> None:
    assert lines(turnlog("why", told.ids["c5"], "-n", "1").out) == [
        "session s",
        "ID  turn 3  decision  choice of c5",
        "reason  none stated",
        "built on nothing unverified that is known",
        "in its context  2 messages",
        "  1 earlier: turnlog why ID -n 2",
        "  user  user_supplied  turn 3  what was it?",
    ]


def test_why_of_what_nobody_asked_for_says_so(told: Talk, turnlog: Turnlog) -> None:
    told.note("fact", "s", "t3", change("fact", "f", "42"))
    assert lines(turnlog("why").out) == ["session s", "ID  turn 3  note", "no model call is known to have asked for it"]


def test_why_as_json_has_everything(told: Talk, turnlog: Turnlog) -> None:
    shown = json.loads(turnlog("why", told.ids["write"], "--json").out)
    assert list(shown) == ["commit", "decision", "context", "built_on"]
    assert (shown["commit"]["commit_id"], shown["decision"]["commit_id"]) == (told.ids["write"], told.ids["c2"])
    assert [list(row) for row in shown["context"]] == [list(queries.InContext._fields)] * 4
    assert [row["source_commit"] for row in shown["built_on"]] == [told.ids["web"]]


def test_a_commit_that_is_not_there_is_an_error(told: Talk, turnlog: Turnlog) -> None:
    assert turnlog("why", "zzz").code == 1
