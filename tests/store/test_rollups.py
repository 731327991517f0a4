"""What the loader counts along the way is what counting all spans gives, whatever became of them."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from bundling.stores import beside, carry
from programs import ROOT
from store.story import SECOND, START, Story, change
from turnlog.settings import Settings
from turnlog.store import Store, retention
from turnlog.store.loader import load

MIGRATION = ROOT / "src" / "turnlog" / "store" / "sql" / "duckdb" / "migrations" / "0010_rollups.sql"
LATER = 1000
ROLLED_UP = {
    "scopes": "from scopes order by all",
    "flags": "from session_flags order by all",
    "totals": "from totals",
}
COUNTED = {
    "scopes": """
        select scope, count(*), count(*) filter (where commit_kind <> ''), max(ended_at)
        from span_rows where scope <> '' group by scope order by all
    """,
    "flags": """
        select session_id, count(*) filter (where evicted), count(*) filter (where not evicted)
        from (
            select session_id, true as evicted from span_rows where commit_kind = 'eviction'
            union all
            select session_id, false from sources where verified = 'false'
        )
        group by session_id order by all
    """,
    "totals": """
        select
            count(distinct session_id),
            count(*) filter (where outcome <> 'in_flight'),
            count(*) filter (where outcome <> 'in_flight' and commit_kind <> ''),
            count(*) filter (where outcome not in ('in_flight', 'ok', ''))
        from span_rows
    """,
}


class Scoped(Story):
    """The scope of a span is its tool; spans of no tool have none."""

    def row(self, **fields: Any) -> None:
        super().row(**{**fields, "scope": fields.get("tool", "")})

    def session(self, name: str) -> None:
        turn = f"{name} t"
        self.chat(f"{name} chat", name, turn)
        self.tool(f"{name} fetch", name, turn, "fetch", verified=False, output_hash=f"hash of {name}")
        self.tool(f"{name} again", name, turn, "fetch", verified=False, output_hash="same", outcome="error")
        self.tool(f"{name} write", name, turn, "write_file")
        self.evict(f"{name} evict", name, turn, f"{name} chat", "compaction", "tool:fetch")

    def check(self, session: str, key: str) -> None:
        self.span(
            f"check {key}", session, f"{session} t", commit_kind="note", delta=[change("source", key, "yes", action="verify")]
        )

    def start(self, session: str) -> dict[str, Any]:
        """A call that runs, and what ends it."""
        call = {"name": "slow", "trace_id": "a" * 32, "span_id": "b" * 16, "session_id": session, "turn_id": f"{session} t"}
        call |= {"operation": "execute_tool", "tool": "fetch", "start_ns": START + 500 * SECOND, "verified": False}
        self.row(record="start", **call)
        return {**call, "record": "end", "commit_kind": "tool", "outcome": "ok", "end_ns": START + 501 * SECOND}


def counts(settings: Settings) -> dict[str, list[tuple[Any, ...]]]:
    """What is rolled up; it is what is counted."""
    with Store(settings).reading() as db:
        found = {name: db.execute(query).fetchall() for name, query in ROLLED_UP.items()}
        assert found == {name: db.execute(query).fetchall() for name, query in COUNTED.items()}
    return found


def scopes(settings: Settings) -> dict[str, tuple[int, int]]:
    return {scope: (spans, commits) for scope, spans, commits, _ in counts(settings)["scopes"]}


def flags(settings: Settings) -> list[tuple[Any, ...]]:
    return counts(settings)["flags"]


def test_in_journals_in_the_store_and_in_some_of_each(settings: Settings) -> None:
    story = Scoped(settings)
    story.session("a")
    assert scopes(settings) == {"fetch": (2, 2), "write_file": (1, 1)}
    assert flags(settings) == [("a", 1, 2)]
    load(settings, patience=1)
    assert scopes(settings) == {"fetch": (2, 2), "write_file": (1, 1)}
    story.session("b")
    story.tool("more", "a", "a t", "fetch", verified=False)
    for _ in ("in some of each", "in the store", "loaded again"):
        assert scopes(settings) == {"fetch": (5, 5), "write_file": (2, 2)}
        assert flags(settings) == [("a", 1, 3), ("b", 1, 2)]
        load(settings, patience=1)
    story.writer.close()


@pytest.mark.parametrize("is_loaded", [True, False], ids=["loaded before", "in the tail"])
def test_what_somebody_checks_is_unverified_no_more(settings: Settings, is_loaded: bool) -> None:
    story = Scoped(settings)
    story.session("a")
    story.session("b")
    if is_loaded:
        load(settings, patience=1)
    story.check("b", story.ids["a fetch"])
    assert flags(settings) == [("a", 1, 1), ("b", 1, 2)]
    # By its commit and by its content: once.
    story.check("b", "hash of a")
    assert flags(settings) == [("a", 1, 1), ("b", 1, 2)]
    story.check("b", "same")
    for _ in ("from the journal", "from the store"):
        assert flags(settings) == [("a", 1, 0), ("b", 1, 1)]
        load(settings, patience=1)
    story.writer.close()


def test_a_call_that_runs_is_interrupted_and_ends_after_all(settings: Settings) -> None:
    story = Scoped(settings)
    story.session("a")
    end = story.start("a")
    for _ in ("in the tail", "in the store"):
        assert scopes(settings)["fetch"] == (3, 3)
        assert flags(settings) == [("a", 1, 2)]
        load(settings, patience=1)
    story.writer.close()
    load(settings, patience=1)
    assert scopes(settings)["fetch"] == (3, 3)
    assert flags(settings) == [("a", 1, 3)]
    story.row(**end)
    assert scopes(settings)["fetch"] == (3, 3), "of a process that is taken for gone, in the tail"
    load(settings, patience=1)
    assert scopes(settings)["fetch"] == (3, 3)
    assert flags(settings) == [("a", 1, 3)]
    story.writer.close()


def test_what_retention_takes_is_no_longer_counted(settings: Settings) -> None:
    old, young = Scoped(settings), Scoped(settings, after=LATER)
    old.session("old")
    old.check("old", "same")
    young.session("young")
    for story in (old, young):
        story.writer.close()
    load(settings, patience=1)
    assert flags(settings) == [("old", 1, 1), ("young", 1, 1)]
    plan = retention.plan(settings, time.time() - START / SECOND - LATER, keep_durable=False)
    assert [doomed.session_id for doomed in retention.collect(settings, plan, patience=1).plan.sessions] == ["old"]
    assert scopes(settings) == {"fetch": (2, 2), "write_file": (1, 1)}
    assert flags(settings) == [("young", 1, 2)], "who checked it is forgotten"


def test_what_a_bundle_brings_is_counted_once(settings: Settings) -> None:
    story = Scoped(settings)
    for name in ("a", "b"):
        story.session(name)
    story.check("a", story.ids["a fetch"])
    story.writer.close()
    load(settings, patience=1)
    other = beside(settings)
    carry(settings, other, "a")
    assert flags(other) == [("a", 1, 1)]
    for _ in ("with what is there", "again"):
        carry(settings, other)
        assert counts(other) == counts(settings)


def test_a_store_of_before_is_counted_when_it_is_migrated(settings: Settings) -> None:
    story = Scoped(settings)
    for name in ("a", "b"):
        story.session(name)
    story.check("a", "same")
    story.writer.close()
    load(settings, patience=1)
    before = counts(settings)
    with Store(settings).writing(patience=1) as db:
        added = MIGRATION.read_text()
        for table, column in re.findall(r"^alter table (\S+) add column (\S+)", added, re.MULTILINE):
            db.execute(f"alter table {table} drop column {column}")
        for table in re.findall(r"^create table (\S+)", added, re.MULTILINE):
            db.execute(f"drop table {table}")
        db.execute("update turnlog_meta set value = '9' where name = 'schema'")
    load(settings, patience=1)
    assert counts(settings) == before
