"""Retention: what goes, what stays as it was, and that the file shrinks and never breaks."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from programs import ROOT, run
from store.story import SECOND, START, Story, added, change, touch
from turnlog.errors import StoreLocked
from turnlog.journal.transition import transition_row
from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings
from turnlog.store import Store, retention
from turnlog.store.loader import load
from turnlog.store.schema import questions

YOUNG = 1000
LATER = START + YOUNG * SECOND
TEXT = "x" * 300
# Views whose rows are of no one session.
OF_ALL = {"losses", "scopes", "totals", "tool_sequences", "tool_failures", "outcome_costs"}


def age(seconds: int = YOUNG - 100) -> float:
    """An age that everything up to so many seconds into the story exceeds, and nothing later."""
    return time.time() - START / SECOND - seconds


class Past(Story):
    """Sessions in which the same happens, and blobs of what went in and out."""

    def session(self, name: str, **more: Any) -> None:
        ran = {"operation": "invoke_agent", "agent": "coder", "turn_input": "do it", "turn_output": "done"}
        self.span(f"{name} agent", name, f"{name} t", **ran)
        context = [added(0, "user", f"{name} do it")]
        decided: dict[str, Any] = {
            "choice": "call write_file",
            "reason": "it is needed",
            "delta": [change("decision", "d", "c")],
        }
        self.chat(f"{name} chat", name, f"{name} t", context=context, lineage=f"{name} L", input_summary=TEXT, **decided)
        written = touch("write", "a.py", "sha256:file")
        told: dict[str, Any] = {"input_hash": f"sha256:{name}", "output_hash": "sha256:shared", "output_summary": TEXT}
        attributes = {"gen_ai.tool.type": "function"}
        self.tool(f"{name} tool", name, f"{name} t", "write_file", written, attributes=attributes, **told, **more)
        self.note(f"{name} note", name, f"{name} t", change("fact", "f", "v"), change("source", "https://x", ""))
        for digest in (f"sha256:{name}", "sha256:shared"):
            self.row(record="blob", start_ns=START, hash=digest, text=f"{digest} {TEXT}")


@pytest.fixture
def past(settings: Settings) -> Past:
    """Old sessions of each kind and a young one, loaded; their process is gone."""
    old = Past(settings)
    for name in ("old", "archived", "pinned", "closed"):
        old.session(name)
    old.span("pin", "pinned", "", commit_kind="lifecycle", pinned=True)
    old.writer.close()
    young = Past(settings, after=YOUNG)
    young.session("young")
    young.writer.close()
    say(settings, "closed", state="closed")
    say(settings, "archived", state="closed")
    say(settings, "archived", state="archived")
    load(settings, patience=1)
    return old


def say(settings: Settings, session: str, **words: Any) -> None:
    writer = JournalWriter(settings)
    assert writer.append(transition_row(session, **words))
    writer.close()


def collect(settings: Settings, *, keep_durable: bool = False) -> retention.Freed:
    return retention.collect(settings, retention.plan(settings, age(), keep_durable), patience=1)


def ask(settings: Settings, statement: str) -> list[tuple[Any, ...]]:
    with Store(settings).reading() as db:
        return db.execute(statement).fetchall()


def everything(settings: Settings, *sessions: str) -> dict[str, list[tuple[Any, ...]]]:
    """What every view says of these sessions."""
    found = {}
    with Store(settings).reading() as db:
        for question in questions():
            if question.kind == "view" and question.name not in OF_ALL:
                found[question.name] = db.execute(
                    f"select * from {question.name} where list_contains(?, session_id) order by all", [list(sessions)]
                ).fetchall()
    return found


def test_the_plan_names_what_goes_and_what_is_left_alone(past: Past, settings: Settings) -> None:
    running = Past(settings)
    running.span("runs", "in flight", "t", ends=False, operation="execute_tool", tool="t")
    load(settings, patience=1)
    running.agent("unloaded", "written to", "t", "go")
    plan = retention.plan(settings, age(), keep_durable=False)
    assert [(row.session_id, row.status, row.spans, row.to_archive, row.keeps_durable) for row in plan.sessions] == [
        ("old", "idle", 4, False, False),
        ("closed", "closed", 5, False, False),
        ("archived", "archived", 6, True, False),
    ]
    assert (plan.pinned, plan.in_use) == (1, 2)
    assert all(session.bytes > 1000 for session in plan.sessions)
    running.writer.close()


def test_closing_and_archiving_are_no_work_but_resuming_is(past: Past, settings: Settings) -> None:
    say(settings, "closed", state="resumed")
    load(settings, patience=1)
    assert [row.session_id for row in retention.plan(settings, age(), False).sessions] == ["old", "archived"]


def test_what_goes_is_gone_and_what_stays_is_as_it_was(past: Past, settings: Settings) -> None:
    kept = everything(settings, "pinned", "young")
    order = ask(
        settings,
        "select commit_id from store.raw.spans where session_key in (select session_key from raw.sessions "
        "where session_id in ('pinned', 'young'))",
    )
    freed = collect(settings)
    assert [row.session_id for row in freed.plan.sessions] == ["old", "closed", "archived"]
    assert ask(settings, "select session_id from raw.sessions order by all") == [("pinned",), ("young",)]
    assert everything(settings, "pinned", "young") == kept
    assert ask(settings, "select commit_id from store.raw.spans") == order
    assert everything(settings, "old", "closed", "archived") == {name: [] for name in kept}
    with Store(settings).writing(patience=1) as db:
        tables = db.execute("select table_name from duckdb_columns() where schema_name = 'raw' and column_name = 'session_key'")
        for (table,) in tables.fetchall():
            lost = f"select count(*) from raw.{table} where session_key not in (select session_key from raw.sessions)"
            assert (table, db.execute(lost).fetchall()) == (table, [(0,)])
        assert db.execute("select count(*) from raw.processes").fetchall() == [(2,)]


def test_keeping_the_durable_leaves_decisions_facts_files_and_the_log(past: Past, settings: Settings) -> None:
    freed = collect(settings, keep_durable=True)
    assert [(row.session_id, row.keeps_durable) for row in freed.plan.sessions] == [
        ("old", True),
        ("closed", True),
        ("archived", False),
    ]
    assert ask(settings, "select kind, key, value, tier from state where session_id = 'old' order by kind") == [
        ("decision", "d", "c", "durable"),
        ("fact", "f", "v", "durable"),
        ("file", "a.py", "sha256:file", "durable"),
    ]
    columns = (
        "kind, tool, outcome, choice, reason, input_hash, concat(input_summary, output_summary, error_message) as text, delta"
    )
    assert ask(settings, f"select {columns} from commits where session_id = 'old' order by started_ns") == [
        ("decision", "", "ok", "call write_file", "it is needed", "", "", "[]"),
        ("tool", "write_file", "ok", "", "", "sha256:old", "", "[]"),
        ("note", "", "ok", "", "", "", "", "[]"),
    ]
    assert ask(settings, "select distinct attributes from span_rows where session_id = 'old'") == [("{}",)]
    assert ask(settings, "select input_summary, output_summary from turns where session_id = 'old'") == [("", "")]
    assert ask(settings, "select distinct session_id from context_rows order by all") == [("pinned",), ("young",)]
    assert ask(settings, "select session_id, status, turns, commits from sessions order by all") == [
        ("closed", "closed", 1, 4),
        ("old", "idle", 1, 3),
        ("pinned", "idle", 1, 4),
        ("young", "idle", 1, 3),
    ]
    assert retention.plan(settings, age(), keep_durable=True).sessions == []


def test_content_goes_with_the_last_that_refers_to_it(past: Past, settings: Settings) -> None:
    assert collect(settings).plan.blobs == 3
    kept = [("sha256:pinned",), ("sha256:shared",), ("sha256:young",)]
    assert ask(settings, "select hash from raw.blobs order by all") == kept


def test_content_that_a_living_process_may_still_refer_to_stays(past: Past, settings: Settings) -> None:
    living = Past(settings)
    living.row(record="process", start_ns=START - SECOND, host="h", pid=1, attributes={})
    load(settings, patience=1)
    ask_blobs = "select count(*) from raw.blobs"
    before = ask(settings, ask_blobs)
    assert collect(settings).plan.blobs == 0
    assert ask(settings, ask_blobs) == before
    living.writer.close()


def test_an_archived_session_is_in_parquet_files_as_the_views_had_it(past: Past, settings: Settings) -> None:
    said = {
        "spans": ask(
            settings, "select commit_id, tool, attributes from span_rows where session_id = 'archived' order by start_ns"
        ),
        "entries": ask(
            settings, "select kind, key, tier from entries where session_id = 'archived' order by changed_ns, sequence"
        ),
        "contexts": ask(settings, "select message_hash, role from context_rows where session_id = 'archived'"),
        "lifecycle": ask(settings, "select state, effect from lifecycle where session_id = 'archived' order by changed_ns"),
    }
    freed = collect(settings)
    (folder,) = settings.archive.iterdir()
    assert folder.name == f"archived.{(START + 5 * SECOND) // 1_000_000}"
    assert freed.archive_bytes == sum(file.stat().st_size for file in folder.iterdir())

    def read(what: str, name: str) -> list[tuple[Any, ...]]:
        return duckdb.sql(f"select {what} from '{folder / name}.parquet'").fetchall()

    assert read("commit_id, tool, attributes", "spans") == said["spans"]
    assert read("kind, key, tier", "entries") == said["entries"]
    assert read("message_hash, role", "contexts") == said["contexts"]
    assert read("state, effect", "lifecycle") == said["lifecycle"] == [("closed", "applied"), ("archived", "applied")]
    assert read("session_id, status, turns", "session") == [("archived", "archived", 1)]
    assert read("turn, input_summary, output_summary", "turns") == [(1, "do it", "done")]
    assert sorted(row[0] for row in read("hash", "blobs")) == ["sha256:archived", "sha256:shared"]


def test_any_session_id_can_be_archived(settings: Settings) -> None:
    names = ["../../etc/passwd", "a/b c?.%", "ü" * 200, "x" * 300, "x" * 301, ".", "it's"]
    past = Past(settings)
    for name in names:
        past.session(name)
    past.writer.close()
    for name in names:
        say(settings, name, state="closed")
        say(settings, name, state="archived")
    load(settings, patience=1)
    collect(settings)
    assert {folder.parent for folder in settings.archive.iterdir()} == {settings.archive}
    found = duckdb.sql(
        f"select session_id from read_parquet({[str(path) for path in settings.archive.rglob('session.parquet')]})"
    )
    assert sorted(name for (name,) in found.fetchall()) == sorted(names)
    assert ask(settings, "from sessions") == []


def test_the_file_really_shrinks(settings: Settings) -> None:
    past = Past(settings)
    for number in range(3000):
        past.tool(f"t{number}", "old", "t", "read_file", output_summary=f"{number} {time.monotonic_ns():x} " * 20)
    past.writer.close()
    young = Past(settings, after=5000)
    young.session("young")
    young.writer.close()
    load(settings, patience=1)
    freed = retention.collect(settings, retention.plan(settings, age(4000), False), patience=1)
    assert settings.database.stat().st_size == freed.bytes_after < freed.bytes_before / 1.1
    assert freed.bytes_before - freed.bytes_after > 500_000


def test_a_session_that_is_written_to_after_the_plan_stays(past: Past, settings: Settings) -> None:
    plan = retention.plan(settings, age(), keep_durable=False)
    writer = Past(settings, after=YOUNG + 100)
    writer.agent("again", "old", "new turn", "go on")
    freed = retention.collect(settings, plan, patience=1)
    assert [row.session_id for row in freed.plan.sessions] == ["closed", "archived"]
    assert ask(settings, "select turns from sessions where session_id = 'old'") == [(2,)]
    writer.writer.close()


def test_a_session_that_is_written_to_meanwhile_stops_everything(past: Past, settings: Settings) -> None:
    plan = retention.plan(settings, age(), keep_durable=False)
    before = everything(settings, "old", "closed", "archived", "pinned", "young")
    writer = Past(settings, after=YOUNG + 100)

    def write(what: str) -> None:
        if "spans" in what:
            writer.agent("again", "old", "new turn", "go on")

    with pytest.raises(StoreLocked, match="just been written to"):
        retention.collect(settings, plan, patience=1, progress=write)
    writer.writer.close()
    assert ask(settings, "select turns from sessions where session_id = 'old'") == [(2,)]
    after = everything(settings, "closed", "archived", "pinned", "young")
    assert {name: [row for row in rows if "old" not in row[:3]] for name, rows in before.items()} == after


def test_a_gc_killed_before_any_of_its_steps_leaves_the_old_store_or_the_new(
    past: Past, settings: Settings, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = run(
        sys.executable, ROOT / "tests" / "store" / "killing_gc.py", settings.directory, scratch, directory=tmp_path / "unused"
    )
    summary, *steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _ in summary["before"]["sessions"]] == ["archived", "closed", "old", "pinned", "young"]
    assert (summary["after"]["sessions"], summary["after"]["archived"]) == ([["pinned", "idle"]], [["archived"]])
    labels = summary["steps"]
    replaced = labels.index("rename .duckdb") + 1
    assert labels.index("rename .1790000005000") < replaced < len(labels)
    which = ["old"] * replaced + ["new"] * (len(labels) - replaced)
    assert sorted(steps) == [[number, signal.SIGKILL, kind, True] for number, kind in enumerate(which, 1)]
