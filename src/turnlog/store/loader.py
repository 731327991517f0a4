"""From journals into the store, exactly once: what a transaction takes and how far it has read are committed together.

A crash between any two steps loses and doubles nothing: before the commit nothing happened, after it the offsets say
what is loaded, and a journal is deleted only when its writer is gone and all of it is in.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import duckdb

from turnlog.journal.frame import Frame
from turnlog.journal.reader import JournalFile, list_journals, remove_stillborn, writing_processes
from turnlog.settings import Settings
from turnlog.store import schema
from turnlog.store.lock import is_awaited
from turnlog.store.staging import Taken, fence, load_staged, stage, take_chunk
from turnlog.store.store import Store

# The lock is given back when somebody waits for it, and after this long in any case: programs that are not turnlog's want
# the file too and cannot show it.
_HOLD = 4.0
_PAUSE = 0.05
_LARGE = 4096
_MOST_SCATTERED = 8


@dataclass(slots=True)
class LoadReport:
    rows: int = 0
    set_aside: int = 0
    finished_journals: int = 0
    reasons: list[str] = field(default_factory=list)
    read_to: dict[str, int] = field(default_factory=dict, repr=False, compare=False)


def load(settings: Settings, patience: float, progress: Callable[[LoadReport], None] | None = None) -> LoadReport:
    """Load everything that is in the journals now, giving the lock back in between."""
    report = LoadReport()
    now = {journal.path.name: journal.size for journal in list_journals(settings.journals)}
    while True:
        more = load_once(settings, patience, report)
        if progress is not None:
            progress(report)
        # Writers that are faster than this loader must not keep it for ever: what came later is the next load's.
        if not more or all(reached >= now.get(name, 0) for name, reached in report.read_to.items()):
            return report
        time.sleep(_PAUSE)


def load_once(
    settings: Settings, patience: float, report: LoadReport | None = None, stop: threading.Event | None = None
) -> bool:
    """One stretch under the lock, bounded in time; true when there is more to load. `stop` ends it after the chunk at hand."""
    report = LoadReport() if report is None else report
    with Store(settings).writing(patience) as db:
        started = time.monotonic()
        while True:
            read_to = dict(db.execute("select journal, read_to from raw.journals").fetchall())
            journals = list_journals(settings.journals)
            taken = take_chunk(journals, read_to)
            if not taken.frames and not taken.bad:
                break
            _load_chunk(db, settings, taken, report)
            read_to |= taken.read_to
            if stop is not None and stop.is_set():
                return True
            if time.monotonic() - started > _HOLD or is_awaited(settings.lock):
                break
        _finish(db, settings, journals, read_to, report)
        report.read_to = {journal.path.name: read_to.get(journal.path.name, 0) for journal in journals}
        return bool(taken.frames or taken.bad)


def _load_chunk(db: duckdb.DuckDBPyConnection, settings: Settings, taken: Taken, report: LoadReport) -> None:
    _set_aside(settings, taken.bad)
    try:
        _transact(db, taken)
        report.rows += taken.rows
        report.set_aside += len(taken.bad)
    except (duckdb.DataError, duckdb.ProgrammingError, duckdb.IntegrityError) as error:
        # The rows' own fault. A full disk or too little memory is not, and sets nothing aside.
        if len(taken.frames) > 1:
            _one_by_one(db, settings, taken, report)
            return
        report.reasons.append(str(error).splitlines()[0])
        bad = taken.frames + taken.bad
        _set_aside(settings, taken.frames)
        _transact(db, taken._replace(frames=[], bad=bad, rows=0))
        report.set_aside += len(bad)


def _one_by_one(db: duckdb.DuckDBPyConnection, settings: Settings, taken: Taken, report: LoadReport) -> None:
    """A row that no statement takes spoils its chunk: halve the chunk until it is alone, and set that frame aside."""
    middle = len(taken.frames) // 2
    first, second = taken.frames[:middle], taken.frames[middle:]
    reached = {journal.path.name: frame.end for journal, frame in first}
    passed = [(journal, frame) for journal, frame in taken.bad if frame.start < reached.get(journal.path.name, 0)]
    rest = [piece for piece in taken.bad if piece not in passed]
    _load_chunk(db, settings, Taken(first, reached, passed, sum(frame.rows for _, frame in first)), report)
    _load_chunk(db, settings, Taken(second, taken.read_to, rest, sum(frame.rows for _, frame in second)), report)


def _transact(db: duckdb.DuckDBPyConnection, taken: Taken) -> None:
    if taken.frames:
        stage(db, taken.frames)
    db.execute("begin")
    try:
        if taken.frames:
            load_staged(db, "store")
            fence(db)
        names, offsets = list(taken.read_to), list(taken.read_to.values())
        db.execute("delete from raw.journals where journal in (select unnest(?::varchar[]))", [names])
        db.execute(
            "insert into raw.journals select unnest($names), unnest($processes), unnest($offsets)",
            {"names": names, "processes": [name.split(".", 1)[0] for name in names], "offsets": offsets},
        )
        lost: dict[str, int] = defaultdict(int)
        for journal_file, frame in taken.bad:
            lost[journal_file.process_id] += max(frame.rows, 1)
        for process, count in lost.items():
            db.execute(
                "insert into raw.losses "
                "select coalesce(max(process_key), 0), ?, 'unreadable journal bytes set aside', ? "
                "from raw.processes where process_id = ?",
                [time.time_ns(), count, process],
            )
        db.execute(f"set max_vacuum_tasks = {int(taken.rows <= _LARGE or _is_scattered(db))}")
        db.execute("commit")
    except BaseException:
        _roll_back(db)
        raise


def _is_scattered(db: duckdb.DuckDBPyConnection) -> bool:
    """Every load leaves row groups of its own in every table. To merge them after each large one costs a sixth of the load; if
    they never are, whoever reads a narrow table reads hundreds."""
    groups = "select count(distinct row_group_id) from pragma_storage_info('raw.turns')"
    return int(db.execute(groups).fetchall()[0][0]) > _MOST_SCATTERED


def _roll_back(db: duckdb.DuckDBPyConnection) -> None:
    # A commit that failed has ended its transaction; its own error is the one to raise.
    with suppress(duckdb.Error):
        db.execute("rollback")


def _finish(
    db: duckdb.DuckDBPyConnection,
    settings: Settings,
    journals: list[JournalFile],
    read_to: dict[str, int],
    report: LoadReport,
) -> None:
    """End what dead processes left open, then delete the journals that are wholly loaded and will not grow."""
    by_process: dict[str, list[JournalFile]] = defaultdict(list)
    for journal in journals:
        by_process[journal.process_id].append(journal)
    done = {journal for journal in journals if journal.finished and read_to.get(journal.path.name, 0) >= journal.size}
    gone = {process for process, files in by_process.items() if done.issuperset(files)}
    gone -= writing_processes(settings.journals, apart_from=journals)
    if gone:
        died = {p: max(file.path.stat().st_mtime_ns for file in by_process[p]) for p in gone}
        db.execute("create or replace temp table dead (process_id varchar, died_ns bigint)")
        db.execute("insert into dead select unnest($ids), unnest($times)", {"ids": list(died), "times": list(died.values())})
        db.execute("begin")
        try:
            db.execute(schema.sql("interrupt.sql"))
            db.execute(schema.sql("roll_up.sql"))
            fence(db)
            db.execute("commit")
        except BaseException:
            _roll_back(db)
            raise
    for journal in done:
        journal.path.unlink(missing_ok=True)
        report.finished_journals += 1
    present = [journal.path.name for journal in journals if journal not in done]
    if len(present) < len(read_to):
        db.execute("delete from raw.journals where journal not in (select unnest(?::varchar[]))", [present])
    remove_stillborn(settings.journals)


def _set_aside(settings: Settings, bad: list[tuple[JournalFile, Frame]]) -> None:
    """Keep the bytes before the transaction that counts them: a crash in between writes the same file again."""
    for journal, frame in bad:
        with suppress(OSError):
            settings.set_aside.mkdir(parents=True, exist_ok=True, mode=0o700)
            (settings.set_aside / f"{journal.path.stem}.{frame.start}").write_bytes(frame.payload)
