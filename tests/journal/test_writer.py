"""Appending: what was appended survives the process, its fork, its rotation and a disk that gives up."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from programs import ROOT, environment, run_code
from recording import journal_rows
from turnlog.journal.reader import list_journals, unread_frames
from turnlog.journal.writer import JournalWriter
from turnlog.settings import Settings

HERE = {"PYTHONPATH": str(ROOT / "tests")}
PRELUDE = """
import os, sys, time
from pathlib import Path
from dataclasses import replace
from turnlog.settings import Settings
from turnlog.journal.writer import JournalWriter
settings = Settings(directory=Path(os.environ["TURNLOG_DIR"]))
def row(n): return b'{"record":"end","start_ns":1,"n":%d}\\n' % n
"""


def row(n: int) -> bytes:
    return b'{"record":"end","start_ns":1,"n":%d}\n' % n


def numbers(settings: Settings) -> list[int]:
    return [row["n"] for row in journal_rows(settings) if row["record"] == "end"]


def test_a_journal_begins_with_who_writes_it(unmade: Settings) -> None:
    writer = JournalWriter(unmade, {"service.name": "app", "cmd": "run --password=hunter2 now"})
    assert not unmade.directory.exists()
    assert writer.append(row(1))
    first, second = journal_rows(unmade)
    assert (first["record"], first["pid"], first["started"], first["attributes"]) == (
        "process",
        os.getpid(),
        writer.process.started,
        {
            "process.working_directory": str(Path.cwd()),
            "service.name": "app",
            "cmd": "run --password=[REDACTED:credential] now",
        },
    )
    assert second["n"] == 1
    writer.close()


def test_journals_are_readable_by_their_owner_only(settings: Settings) -> None:
    writer = JournalWriter(settings)
    writer.append(row(1))
    (path,) = settings.journals.iterdir()
    assert (settings.journals.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    writer.close()


@pytest.mark.parametrize("death", ["os.kill(os.getpid(), 9)", "os._exit(0)", "os.kill(os.getpid(), 15); time.sleep(9)"])
def test_rows_survive_any_death_right_after_the_append(settings: Settings, death: str) -> None:
    code = f"{PRELUDE}\nwriter = JournalWriter(settings)\nfor n in range(100): assert writer.append(row(n))\n{death}"
    subprocess.run([sys.executable, "-c", code], env=environment(settings.directory), timeout=60, check=False)
    assert numbers(settings) == list(range(100))
    assert [journal.finished for journal in list_journals(settings.journals)] == [True]


def test_a_live_writers_journal_is_not_finished(settings: Settings) -> None:
    writer = JournalWriter(settings)
    writer.append(row(1))
    assert [journal.finished for journal in list_journals(settings.journals)] == [False]
    writer.close()
    assert [journal.finished for journal in list_journals(settings.journals)] == [True]


def test_after_closing_a_writer_goes_on_in_a_new_file(settings: Settings) -> None:
    writer = JournalWriter(settings)
    writer.append(row(1))
    writer.close()
    writer.append(row(2))
    assert [(journal.process_id, journal.finished) for journal in list_journals(settings.journals)] == [
        (writer.process.id, True),
        (writer.process.id, False),
    ]
    assert numbers(settings) == [1, 2]
    writer.close()


def test_a_full_file_is_followed_by_the_next_and_only_the_last_is_open(settings: Settings) -> None:
    writer = JournalWriter(replace(settings, rotate_bytes=500))
    for n in range(50):
        writer.append(row(n))
    journals = list_journals(settings.journals)
    assert len(journals) > 4
    assert [journal.finished for journal in journals] == [True] * (len(journals) - 1) + [False]
    assert all(journal.size < 1000 for journal in journals)
    assert numbers(settings) == list(range(50))
    writer.close()


def test_where_no_next_file_can_be_opened_the_last_one_grows_on(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = JournalWriter(replace(settings, rotate_bytes=500))
    writer.append(row(0))

    def refuse(path: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "no room for another name")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        for n in range(1, 50):
            assert writer.append(row(n))
        patch.setattr(os, "write", lambda file, data: os.pwrite(file, b"", 0))
        assert not writer.append(row(50))
    writer._retry_at = 0.0
    writer.append(row(51))
    assert numbers(settings) == [*range(50), 51]
    assert (writer.lost, len(list_journals(settings.journals))) == (1, 2)
    writer.close()


def test_threads_append_without_losing_or_tearing_a_row(settings: Settings) -> None:
    writer = JournalWriter(replace(settings, rotate_bytes=5000))

    def work(first: int) -> None:
        for n in range(first, first + 250):
            writer.append(row(n))

    threads = [threading.Thread(target=work, args=(n * 250,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers(settings)) == list(range(2000))
    writer.close()


def test_a_forked_child_starts_its_own_journal_and_the_parents_stays_locked(settings: Settings) -> None:
    code = f"""{PRELUDE}
from turnlog.journal.reader import list_journals
writer = JournalWriter(settings)
writer.append(row(1))
mine = writer.process.id
child = os.fork()
if child == 0:
    writer.append(row(2))
    assert writer.process.id != mine
    os._exit(0)
os.waitpid(child, 0)
print(sorted((journal.process_id == mine, journal.finished) for journal in list_journals(settings.journals)))
writer.append(row(3))
"""
    assert run_code(code, settings.directory).stdout == "[(False, True), (True, False)]\n"
    assert sorted(numbers(settings)) == [1, 2, 3]
    assert len(list_journals(settings.journals)) == 2


def test_a_fork_while_another_thread_appends_does_not_hang_the_child(settings: Settings) -> None:
    code = f"""{PRELUDE}
import threading
writer = JournalWriter(settings)
stop = False
def work():
    n = 1000
    while not stop:
        writer.append(row(n)); n += 1
thread = threading.Thread(target=work); thread.start()
for n in range(20):
    child = os.fork()
    if child == 0:
        writer.append(row(n))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop = True; thread.join()
"""
    run_code(code, settings.directory, PYTHONWARNINGS="ignore")
    found = numbers(settings)
    assert sorted(n for n in found if n < 1000) == list(range(20))
    assert sorted(n for n in found if n >= 1000) == list(range(1000, 1000 + len(found) - 20))


def test_a_child_that_holds_the_lock_without_being_told_does_not_keep_a_dead_writer_alive(settings: Settings) -> None:
    code = f"""{PRELUDE}
import fcntl, subprocess
writer = JournalWriter(settings)
writer.append(row(1))
os.set_inheritable(writer._file, True)
child = subprocess.Popen(["sleep", "60"], close_fds=False, stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(child.pid, flush=True)
os._exit(0)
"""
    holder = int(run_code(code, settings.directory).stdout)
    try:
        assert [journal.finished for journal in list_journals(settings.journals)] == [True]
    finally:
        os.kill(holder, signal.SIGKILL)


@pytest.mark.parametrize("kept", [0, 1, 20, -1])
def test_a_torn_last_frame_waits_while_its_writer_lives_and_is_set_aside_afterwards(settings: Settings, kept: int) -> None:
    writer = JournalWriter(settings)
    writer.append(row(1))
    (path,) = settings.journals.iterdir()
    whole = path.stat().st_size
    writer.append(row(2))
    os.truncate(path, path.stat().st_size + kept if kept < 0 else whole + kept)
    for finished in (False, True):
        (journal,) = list_journals(settings.journals)
        assert journal.finished is finished
        frames = list(unread_frames(journal, 0, journal.size))
        assert [frame.rows for frame in frames] == [1, 1] + ([0] if finished and kept else [])
        writer.close()


def test_a_frame_larger_than_a_chunk_is_read_whole(settings: Settings) -> None:
    writer = JournalWriter(settings)
    writer.append(b'{"text":"' + b"x" * 3_000_000 + b'"}\n')
    writer.append(row(2))
    (journal,) = list_journals(settings.journals)
    offset, rows = 0, 0
    while offset < journal.size:
        for frame in unread_frames(journal, offset, 1000):
            offset, rows = frame.end, rows + frame.rows
    assert rows == 3
    writer.close()


def test_losses_are_written_down_as_soon_as_writing_works(unmade: Settings, caplog: pytest.LogCaptureFixture) -> None:
    unmade.directory.write_text("in the way")
    writer = JournalWriter(unmade)
    assert [writer.append(row(n), 1) for n in range(3)] == [False] * 3
    assert (writer.lost, len(caplog.records)) == (3, 1)
    unmade.directory.unlink()
    assert not writer.append(row(3))
    writer._retry_at = 0.0
    assert writer.append(row(4))
    rows = journal_rows(unmade)
    assert [(row["record"], row.get("lost"), row.get("n")) for row in rows[1:]] == [("loss", 4, None), ("end", None, 4)]
    writer.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {mount.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_costs_rows_that_are_counted_and_tears_none(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(directory=small_disk)
    writer = JournalWriter(settings)
    (small_disk / "ballast").write_bytes(b"x" * 40_000)
    written = [n for n in range(3000) if writer.append(row(n))]
    assert 0 < len(written) < 3000
    assert (writer.lost, len(caplog.records)) == (3000 - len(written), 1)
    (small_disk / "ballast").unlink()
    assert writer.append(row(3000))
    assert numbers(settings) == [*written, 3000]
    assert sum(row["lost"] for row in journal_rows(settings) if row["record"] == "loss") == writer.lost
    assert all(frame.rows for journal in list_journals(settings.journals) for frame in unread_frames(journal, 0, 1 << 20))
    writer.close()


@pytest.mark.parametrize("size", range(1, 12))
def test_on_a_disk_that_stays_full_the_last_row_says_how_many_were_lost(small_disk: Path, size: int) -> None:
    settings = Settings(directory=small_disk)
    writer = JournalWriter(settings)
    while writer.append(row(1) * size, size) or writer.lost < 100:
        pass
    writer.close()
    assert sum(row["lost"] for row in journal_rows(settings) if row["record"] == "loss") == writer.lost
    assert [path.suffix for path in settings.journals.iterdir()] == [".journal"]


def test_a_read_only_file_system_costs_rows_and_nothing_else(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    writer = JournalWriter(Settings(directory=small_disk / "turnlog"))
    assert not writer.append(row(1))
    assert (writer.lost, "Read-only file system" in caplog.text) == (1, True)


def test_with_fsync_every_append_reaches_the_disk(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    writer = JournalWriter(replace(settings, fsync=True))
    writer.append(row(1))
    writer.append(row(2))
    assert len(synced) == 3
    writer.close()


def test_files_that_are_no_journals_and_files_that_vanish_are_no_trouble(settings: Settings) -> None:
    settings.journals.mkdir(parents=True)
    (settings.journals / "notes.txt").write_text("x")
    (settings.journals / "empty.000000.journal").touch()
    (settings.journals / "dangling.000000.journal").symlink_to("nowhere")
    assert [(journal.path.name, journal.size, journal.finished) for journal in list_journals(settings.journals)] == [
        ("empty.000000.journal", 0, True)
    ]
    assert list_journals(settings.directory / "missing") == []


def test_journals_are_listed_in_the_order_in_which_they_began(settings: Settings) -> None:
    writers = [JournalWriter(replace(settings, rotate_bytes=1)) for _ in range(3)]
    for n in range(12):
        writers[n % 3].append(orjson.dumps({"record": "end", "start_ns": 1, "n": n}) + b"\n")
    names = [writer.process.id for writer in writers]
    assert [journal.process_id for journal in list_journals(settings.journals)] == [name for name in names for _ in range(4)]
    for writer in writers:
        writer.close()


def test_a_journal_has_its_name_only_once_it_is_locked(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename
    seen = []

    def watched(self: Path, target: Path) -> Path:
        with self.open("rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        seen.append((self.suffix, target.suffix, target.exists()))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", watched)
    writer = JournalWriter(replace(settings, rotate_bytes=1))
    writer.append(row(1))
    writer.append(row(2))
    writer.close()
    assert seen == [(".tmp", ".journal", False), (".tmp", ".journal", False)]
