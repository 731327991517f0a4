"""What a session goes on from: its conversation, the items that a framework keeps of it, the sessions before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from store.story import message_hash
from store.talk import Talk
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load


@pytest.fixture
def talk(settings: Settings) -> Iterator[Talk]:
    told = Talk(settings)
    yield told
    told.writer.close()


def ask(settings: Settings, statement: str) -> list[tuple[object, ...]]:
    """The same from the journal and from the store."""
    with Store(settings).reading() as db:
        unloaded = db.execute(statement).fetchall()
    load(settings, patience=1)
    with Store(settings).reading() as db:
        assert db.execute(statement).fetchall() == unloaded
    return unloaded


def test_conversation(talk: Talk, settings: Settings) -> None:
    talk.agent("agent", "s", "t1", "do it")
    talk.call("before", "t1", "user:do it", output_hash="sha256:first")
    asked = ["read call a", "write call b", "run call c"]
    talk.call("last", "t1", "user:do it", "reply:before", output_hash="sha256:answer", calls=asked)
    talk.ran("a", "t1", by="last", tool="read")
    talk.ran("b", "t1", by="last", tool="write", outcome="error", error_type="OSError", status_message="full")
    assert ask(settings, "from conversation('s', 1) order by part, position") == [
        (0, 1, "user", message_hash("user", "do it"), "", "", "ok", ""),
        (0, 2, "assistant", message_hash("assistant", "before"), "", "", "ok", ""),
        (1, 1, "assistant", "sha256:answer", "", "", "ok", ""),
        (2, 1, "tool", "hash of a", "call a", "read", "ok", ""),
        (2, 2, "tool", "hash of b", "call b", "write", "error", "full"),
        (2, 3, "tool", "", "call c", "run", "queued", ""),
    ]


def test_session_items(talk: Talk, settings: Settings) -> None:
    done = [("add", "xy"), ("add", "z"), ("pop", ""), ("clear", ""), ("pop", ""), ("add", "pq"), ("pop", ""), ("add", "rs")]
    for number, (operation, items) in enumerate(done):
        talk.span(str(number), "s", "t1", commit_kind="state", memory_operation=operation, memory_items=list(items))
    talk.span("elsewhere", "o", "t2", commit_kind="state", memory_operation="add", memory_items=["o"])
    assert ask(settings, "from session_items('s') order by position") == [(1, "p"), (2, "r"), (3, "s")]


def test_continued_sessions(talk: Talk, settings: Settings) -> None:
    talk.span("first", "a", "t1")
    talk.span("second", "b", "t1", previous_session="a")
    assert ask(settings, "select session_id, previous_id from continued_sessions") == [("b", "a")]


def test_session_chain(talk: Talk, settings: Settings) -> None:
    talk.span("first", "a", "t1")
    talk.span("second", "b", "t1", previous_session="a")
    talk.span("third", "c", "t1", previous_session="b")
    assert ask(settings, "from session_chain('c') order by steps_back") == [("c", 0), ("b", 1), ("a", 2)]
    assert ask(settings, "from session_chain('a')") == [("a", 0)]
