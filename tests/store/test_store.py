"""The one door to the database: who waits for whom, what is refused with which word, and who else can open the file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from programs import ROOT, environment
from store.story import Story, touch
from turnlog import semconv
from turnlog.errors import LongTail, NotAStore, SchemaTooNew, SchemaTooOld, StoreLocked, StoreNotWritable
from turnlog.settings import Settings
from turnlog.store import Store, schema
from turnlog.store.loader import load
from turnlog.store.lock import is_awaited, side_lock

COMMITS = "select count(*) from commits"


def tell(settings: Settings, tools: int = 3) -> None:
    story = Story(settings)
    for n in range(tools):
        story.tool(f"tool{n}", "s", "t1", "write_file", touch("write", f"{n}.py"))
    story.writer.close()


def count(settings: Settings) -> int:
    with Store(settings).reading() as db:
        return int(db.execute(COMMITS).fetchall()[0][0])


@contextmanager
def holding(settings: Settings, how: str) -> Iterator[int]:
    """Another process that holds the store: `lock` the side lock, `duckdb` the database itself."""
    holds = {
        "lock": "stack.enter_context(side_lock(settings.lock, exclusive=True, patience=5))",
        "share": "stack.enter_context(side_lock(settings.lock, exclusive=False, patience=5))",
        "duckdb": "held = duckdb.connect(str(settings.database))",
    }
    code = f"""
import contextlib, duckdb
from turnlog.settings import read_settings
from turnlog.store.lock import side_lock
settings = read_settings()
with contextlib.ExitStack() as stack:
    {holds[how]}
    print(flush=True)
    input()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(settings.directory),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    process.communicate(b"\n", timeout=30)
    assert process.returncode == 0


def test_patience_ends_with_the_name_of_who_holds_the_store(settings: Settings) -> None:
    tell(settings)
    with holding(settings, "lock") as holder:
        begin = time.monotonic()
        with pytest.raises(StoreLocked) as refused:
            load(settings, patience=0.3)
        assert 0.3 <= time.monotonic() - begin < 5
        assert f"process {holder}" in str(refused.value)
        assert "busy for 0.3 s" in str(refused.value)
        with pytest.raises(StoreLocked), Store(settings).reading(patience=0):
            pass
    assert load(settings, patience=5).rows == 7


def test_readers_do_not_wait_for_readers_and_a_loader_does(settings: Settings) -> None:
    tell(settings)
    with holding(settings, "share"):
        assert count(replace(settings, patience=0)) == 3
        with pytest.raises(StoreLocked):
            load(settings, patience=0)


def test_a_waiting_reader_gets_in_between_two_loads(settings: Settings) -> None:
    tell(settings)
    stop = threading.Event()

    def hog() -> None:
        while not stop.is_set():
            with side_lock(settings.lock, exclusive=True, patience=5):
                time.sleep(0.15)

    thread = threading.Thread(target=hog)
    thread.start()
    try:
        for _ in range(5):
            with side_lock(settings.lock, exclusive=False, patience=5):
                pass
    finally:
        stop.set()
        thread.join()


def test_a_forked_child_does_not_keep_the_store_locked(settings: Settings) -> None:
    code = """
import os, time
from turnlog.settings import read_settings
from turnlog.store.lock import side_lock
with side_lock(read_settings().lock, exclusive=True, patience=1):
    child = os.fork()
    if child == 0:
        os.closerange(0, 3)
        time.sleep(60)
        os._exit(0)
print(child, flush=True)
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(settings.directory), capture_output=True, text=True, check=True
    )
    try:
        with side_lock(settings.lock, exclusive=True, patience=0):
            pass
    finally:
        os.kill(int(done.stdout), 9)


@pytest.mark.parametrize("forks", [False, True], ids=["alone", "with a forked child"])
def test_who_waits_is_seen_until_it_is_killed(settings: Settings, forks: bool) -> None:
    code = f"""
import os, threading, time
from turnlog.settings import read_settings
from turnlog.store.lock import is_awaited, side_lock
def wait():
    with side_lock(read_settings().lock, exclusive=False, patience=60):
        pass
threading.Thread(target=wait, daemon=True).start()
while not is_awaited(read_settings().lock):
    time.sleep(0.01)
if {forks} and os.fork() == 0:
    os.closerange(0, 3)
    time.sleep(10)
    os._exit(0)
print(flush=True)
time.sleep(60)
"""
    with side_lock(settings.lock, exclusive=True, patience=0):
        assert not is_awaited(settings.lock)
        waiter = subprocess.Popen([sys.executable, "-c", code], env=environment(settings.directory), stdout=subprocess.PIPE)
        assert waiter.stdout is not None
        waiter.stdout.readline()
        assert is_awaited(settings.lock)
        waiter.kill()
        waiter.communicate()
        assert not is_awaited(settings.lock)


def test_a_database_that_a_foreign_program_holds_is_named_as_such(settings: Settings) -> None:
    tell(settings)
    load(settings, patience=1)
    with holding(settings, "duckdb"):
        for attempt in (lambda: load(settings, patience=1), lambda: count(settings)):
            with pytest.raises(StoreLocked, match=r"store\.duckdb is open in a program that is not turnlog.*Close it"):
                attempt()
    assert count(settings) == 3


def test_a_database_that_this_program_holds_itself_is_named_as_such(settings: Settings) -> None:
    tell(settings)
    load(settings, patience=1)
    with duckdb.connect(str(settings.database), read_only=True):
        assert count(settings) == 3
        with pytest.raises(StoreLocked, match="is open in a program"):
            load(settings, patience=1)


@pytest.mark.parametrize("content", [b"", b"junk" * 10_000, b"SQLite format 3\0" + b"\0" * 5000])
def test_a_file_that_is_no_database_is_refused_with_a_remedy_and_left_alone(settings: Settings, content: bytes) -> None:
    tell(settings)
    settings.database.write_bytes(content)
    for attempt in (lambda: load(settings, patience=1), lambda: count(settings)):
        with pytest.raises(NotAStore, match=r"not a DuckDB database.*Move it away: mv '.*store\.duckdb'"):
            attempt()
    assert settings.database.read_bytes() == content
    settings.database.unlink()
    assert (load(settings, patience=1).rows, count(settings)) == (7, 3)


def test_a_directory_in_the_place_of_the_database_is_refused(unmade: Settings) -> None:
    unmade.database.mkdir(parents=True)
    with pytest.raises(NotAStore):
        load(unmade, patience=1)


def set_version(settings: Settings, number: int) -> None:
    with Store(settings).writing(patience=1) as db:
        db.execute("update turnlog_meta set value = ? where name = 'schema'", [str(number)])


def test_a_newer_schema_is_refused_with_a_remedy_and_nothing_is_lost(settings: Settings) -> None:
    tell(settings)
    load(settings, patience=1)
    tell(settings)
    newer = schema.newest_version() + 1
    set_version(settings, newer)
    for attempt in (lambda: load(settings, patience=1), lambda: count(settings)):
        with pytest.raises(SchemaTooNew, match=rf"schema {newer}, written by a newer turnlog.*pip install -U turnlog"):
            attempt()
    with duckdb.connect(str(settings.database)) as db:
        db.execute("update turnlog_meta set value = ? where name = 'schema'", [str(schema.newest_version())])
    assert (load(settings, patience=1).rows, count(settings)) == (7, 6)


def test_an_older_schema_must_be_migrated_before_it_is_read(settings: Settings) -> None:
    tell(settings)
    load(settings, patience=1)
    with Store(settings).writing(patience=1) as db:
        db.execute("delete from turnlog_meta")
    with pytest.raises(SchemaTooOld, match="schema 0 and must be migrated first"):
        count(settings)


def test_migrating_twice_changes_nothing_and_changed_views_are_made_again(settings: Settings) -> None:
    tell(settings)
    load(settings, patience=1)
    with Store(settings).writing(patience=1) as db:
        before = db.execute("select * from turnlog_meta order by name").fetchall()
        schema.migrate(db)
        assert db.execute("select * from turnlog_meta order by name").fetchall() == before
        db.execute("create or replace view sessions as select 1 as old")
        db.execute("update turnlog_meta set value = 'old' where name = 'views'")
    with Store(settings).reading() as db:
        assert db.execute("select session_id from sessions").fetchall() == [("s",)]
    with Store(settings).writing(patience=1) as db:
        assert db.execute("select session_id from sessions").fetchall() == [("s",)]
        assert db.execute("select count(*) from raw.spans").fetchall() == [(3,)]


def test_the_spans_table_has_a_column_of_the_right_type_for_every_column_of_the_convention(settings: Settings) -> None:
    with Store(settings).writing(patience=1) as db:
        columns = dict(db.execute("select column_name, data_type from duckdb_columns() where table_name = 'spans'").fetchall())
        session = db.execute("select data_type from duckdb_columns() where column_name = 'session_id'").fetchall()
    kinds = {"VARCHAR": "VARCHAR", "BIGINT": "BIGINT"}
    expected = {column.name: kinds.get(column.type, "VARCHAR") for column in semconv.COLUMNS}
    # Sessions have a key of their own, context changes a table.
    del expected["session_id"], expected["context_changes"]
    assert {name: columns.get(name) for name in expected} == expected
    assert set(session) == {("VARCHAR",)}


def test_plain_duckdb_opens_the_store_and_answers_its_views(settings: Settings) -> None:
    tell(settings)
    load(settings, patience=1)
    with duckdb.connect(str(settings.database), read_only=True) as db:
        assert db.execute("select tool, count(*) from commits group by tool").fetchall() == [("write_file", 3)]
        assert db.execute("select path from files_modified('s', 5) order by path").fetchall() == [
            ("0.py",),
            ("1.py",),
            ("2.py",),
        ]
        for question in schema.questions():
            if question.kind == "view":
                db.execute(f"from {question.name}").fetchall()


def test_the_file_keeps_the_storage_version_that_older_tools_read(settings: Settings) -> None:
    tell(settings)
    load(settings, patience=1)
    with duckdb.connect(str(settings.database), read_only=True) as db:
        ((tags,),) = db.execute("select tags from duckdb_databases() where database_name = 'store'").fetchall()
    assert tags["storage_version"].startswith("v1.2.0")


def test_a_store_without_any_file_is_empty_and_reading_makes_none(unmade: Settings) -> None:
    assert count(unmade) == 0
    assert not unmade.database.exists()


def test_a_reader_that_could_load_first_is_told_so(settings: Settings) -> None:
    story = Story(settings)
    story.tool("one", "s", "t1", "t")
    with Store(settings).reading(long_tail=False) as db:
        assert db.execute(COMMITS).fetchall() == [(1,)]
    story.writer.close()
    with pytest.raises(LongTail), Store(settings).reading(long_tail=False):
        pass
    load(settings, patience=1)
    with Store(settings).reading(long_tail=False) as db:
        assert db.execute(COMMITS).fetchall() == [(1,)]


def test_no_copy_of_the_rows_is_left_when_a_loader_is_killed(settings: Settings, tmp_path: Path) -> None:
    tell(settings)
    elsewhere = tmp_path / "tmp"
    elsewhere.mkdir()
    code = """
import os, duckdb
from turnlog.settings import read_settings
from turnlog.store import staging, loader
gathered = staging._gathered
class Killing:
    def __init__(self, *frames, **how): self.inner = gathered(*frames, **how)
    def __enter__(self):
        self.inner.__enter__()
        os.kill(os.getpid(), 9)
    def __exit__(self, *error): pass
staging._gathered = Killing
loader.load(read_settings(), patience=1)
"""
    killed = subprocess.run(
        [sys.executable, "-c", code], env=environment(settings.directory, TMPDIR=str(elsewhere)), check=False
    )
    assert killed.returncode == -9
    assert list(elsewhere.iterdir()) == []
    assert load(settings, patience=1).rows == 7


@pytest.fixture
def read_only(settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """The store with some rows loaded and some not, in a directory that cannot be written."""
    tell(settings)
    load(settings, patience=1)
    tell(settings)
    place = tmp_path / "mounted"
    place.mkdir()
    mount = subprocess.run(["mount", "--bind", settings.directory, place], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"nothing can be mounted here: {mount.stderr.decode().strip()}")
    subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
    yield replace(settings, directory=place)
    subprocess.run(["umount", "-l", place], check=True)


def test_a_read_only_directory_can_be_read_with_its_tail_and_says_so_to_a_loader(read_only: Settings) -> None:
    assert count(read_only) == 6
    with pytest.raises(StoreNotWritable, match=r"cannot write in .*Read-only file system.*TURNLOG_DIR"):
        load(read_only, patience=1)


def test_a_full_disk_stops_a_load_and_loses_nothing(settings: Settings, tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {mount.stderr.decode().strip()}")
    try:
        small = replace(settings, directory=place)
        tell(small)
        load(small, patience=1)
        story = Story(small)
        blob = b'{"record":"blob","hash":"%d","start_ns":1,"text":"%s"}\n'
        while story.writer.append(blob % (story.writer.written, os.urandom(4000).hex().encode())):
            pass
        story.writer.close()
        rows, about_the_process_and_the_loss = story.writer.written, 2
        with pytest.raises(StoreNotWritable, match=r"could not be written \(.*No space left on device\).*Nothing is lost"):
            load(small, patience=1)
        assert not small.set_aside.exists()
        subprocess.run(["mount", "-o", "remount,size=60m", place], check=True)
        assert load(small, patience=1).rows == rows + about_the_process_and_the_loss
        assert count(small) == 3
        with Store(small).reading() as db:
            assert db.execute("select count(*) from raw.blobs").fetchall() == [(rows,)]
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_every_sql_file_of_the_core_says_what_one_row_is() -> None:
    folder = ROOT / "src" / "turnlog" / "store" / "sql" / "core"
    assert [path.name for path in folder.iterdir() if not path.read_text().startswith("-- one row: ")] == []
    assert len({question.name for question in schema.questions()}) == len(list(folder.iterdir()))
