"""Provenance from end to end: what a program's tools return, whom it trusts, and what it has checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import turnlog
from turnlog import queries, trusted
from turnlog.content import ContentPolicy
from turnlog.settings import Settings, read_settings


@turnlog.tool
def web_fetch(url: str) -> dict[str, str]:
    if not url:
        raise ValueError("no address")
    return {"url": url, "text": "it is 42"}


@turnlog.tool
def read_ticket(number: int) -> str:
    return f"ticket {number}"


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    turnlog.init(directory=tmp_path, instrument=False)
    yield tmp_path
    turnlog.shutdown()
    trusted._in_process.clear()


def sources(directory: Path) -> list[tuple[str, str, str, str]]:
    with queries.reading(Settings(directory=directory)) as db:
        return db.execute(
            "select tool, source_kind, verified, verification from sources where session_id = 's' and tool <> '' order by at_ns"
        ).fetchall()


def test_what_comes_from_outside_is_unverified_until_somebody_checks_it(directory: Path) -> None:
    with turnlog.session("s"), turnlog.turn(input="look"):
        page = web_fetch("https://example.com")
        read_ticket(7)
        assert sources(directory) == [("web_fetch", "retrieved", "false", ""), ("read_ticket", "tool_output", "", "")]
        turnlog.verify(page, by="ann")
    assert sources(directory) == [("web_fetch", "retrieved", "true", "verified by ann"), ("read_ticket", "tool_output", "", "")]


def test_content_is_verified_by_its_hash_and_by_its_commit_also_from_another_session(directory: Path) -> None:
    with turnlog.session("s"):
        pages = [web_fetch("https://example.com/a"), web_fetch("https://example.com/b"), web_fetch("https://example.com/c")]
    with queries.reading(Settings(directory=directory)) as db:
        found = queries.unverified(db, "s")
    assert [source.content_hash for source in found] == [ContentPolicy(read_settings()).hash(page) for page in pages]
    with turnlog.session("review"):
        turnlog.verify(found[0].content_hash, found[1].commit_id)
    assert [row[2:] for row in sources(directory)] == [("true", "verified"), ("true", "verified"), ("false", "")]


def test_verifying_is_durable_state_and_verifying_nothing_is_nothing(directory: Path) -> None:
    with turnlog.session("s"):
        turnlog.verify()
        turnlog.verify("some text", by="ann")
    with queries.reading(Settings(directory=directory)) as db:
        (commit,) = queries.log(db, "s", kind="note")
        (entry,) = queries.state(db, "s")
    assert (commit.kind, commit.input_summary) == ("note", "verified by ann")
    digest = ContentPolicy(read_settings()).hash("some text")
    assert (entry.kind, entry.key, entry.value, entry.tier, entry.action) == (
        "source",
        digest,
        "verified by ann",
        "durable",
        "verify",
    )


def test_rules_of_trust_are_of_code_and_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_TRUST", " web_* ,, mcp__handbook__*")
    monkeypatch.setenv("TURNLOG_DISTRUST", "read_*")
    assert (read_settings().trust, read_settings().distrust) == (("web_*", "mcp__handbook__*"), ("read_*",))
    turnlog.init(directory=tmp_path, instrument=False)
    try:
        with turnlog.session("s"):
            web_fetch("https://example.com")
            read_ticket(7)
            turnlog.trust("read_ticket")
            read_ticket(8)
    finally:
        turnlog.shutdown()
        trusted._in_process.clear()
    assert [row[:3] for row in sources(tmp_path)] == [
        ("web_fetch", "retrieved", "true"),
        ("read_ticket", "tool_output", "false"),
        ("read_ticket", "tool_output", "true"),
    ]


def test_a_call_that_failed_brought_nothing_in(directory: Path) -> None:
    with turnlog.session("s"), pytest.raises(ValueError, match="no address"):
        web_fetch("")
    assert sources(directory) == [("web_fetch", "retrieved", "", "")]


def test_without_a_recording_nothing_happens() -> None:
    turnlog.verify("anything", object(), by="ann")
