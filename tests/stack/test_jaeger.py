"""What somebody who has only Jaeger finds there, through the API of its search page."""

from __future__ import annotations

from typing import Any

import pytest

from programs import ROOT
from stack.sessions import SERVICE, Stack

Trace = dict[str, Any]


def test_a_session_is_found_turn_by_turn(stack: Stack) -> None:
    first, second = turns(stack)
    for turn in (first, second):
        turn_id = tags(root(turn))["turnlog.turn.id"]
        assert traces(stack, {"turnlog.turn.id": turn_id}) == {turn["traceID"]}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"turnlog.commit.kind": "tool"}, (1, 2)),
        ({"turnlog.commit.kind": "tool", "turnlog.commit.outcome": "ok"}, (1,)),
        ({"turnlog.commit.outcome": "error"}, (2,)),
        ({"error.type": "PermissionError"}, (2,)),
        ({"gen_ai.tool.name": "save"}, (1,)),
    ],
)
def test_turns_are_found_by_what_happened_in_them(stack: Stack, asked: dict[str, str], found: tuple[int, ...]) -> None:
    both = turns(stack)
    assert traces(stack, {"session.id": stack.kept, **asked}) == {both[number - 1]["traceID"] for number in found}


def test_the_readmes_searches_find_something(stack: Stack) -> None:
    table = (ROOT / "README.md").read_text().partition("<!-- searches -->")[2].partition("\n\n")[0]
    searches = [line.split("|")[2].strip(" `") for line in table.splitlines()[3:]]
    turn = tags(root(turns(stack)[0]))["turnlog.turn.id"]
    named = [search.replace("SESSION", stack.kept).replace("TURN", turn) for search in searches if search]
    assert len(named) >= 6
    assert [search for search in named if not traces(stack, dict(part.split("=") for part in search.split()))] == []


def test_a_turn_links_to_the_one_before(stack: Stack) -> None:
    first, second = turns(stack)
    assert [root(first)["references"], root(second)["references"]] == [
        [],
        [{"refType": "FOLLOWS_FROM", "traceID": first["traceID"], "spanID": root(first)["spanID"]}],
    ]


def test_span_names_tell_the_story(stack: Stack) -> None:
    _, second = turns(stack)
    told = [span["operationName"] for span in sorted(second["spans"], key=lambda span: span["startTime"])]
    assert [name for name in told if name != "checkpoint"] == [
        "invoke_agent keeper",
        "chat scripted",
        "execute_tool publish",
        "POST /list",
        "chat scripted",
    ]


def test_the_services_page_lists_the_operations(stack: Stack) -> None:
    assert SERVICE in stack.jaeger.ask("/api/v3/services")
    assert "execute_tool publish" in stack.jaeger.ask("/api/v3/operations", service=SERVICE)


def turns(stack: Stack) -> list[Trace]:
    return sorted(stack.jaeger.traces(SERVICE, {"session.id": stack.kept}), key=lambda trace: root(trace)["startTime"])


def traces(stack: Stack, asked: dict[str, str]) -> set[str]:
    return {trace["traceID"] for trace in stack.jaeger.traces(SERVICE, asked)}


def root(trace: Trace) -> Trace:
    return next(span for span in trace["spans"] if not any(link["refType"] == "CHILD_OF" for link in span["references"]))


def tags(span: Trace) -> dict[str, Any]:
    return {tag["key"]: tag["value"] for tag in span["tags"]}
