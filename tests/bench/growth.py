"""How the time of a question about one session grows with the store: log, files of the last turns, diff, list of sessions.

`python tests/bench/growth.py [--quick]`. Asked through `turnlog.queries`, at 10 k, 100 k and 1 M spans (`--quick` stops at
100 k), of the first, a middle and the last session. The stores lie side by side and take turns in every round, so that a
busy moment of the machine cannot look like growth.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import corpus
from measure import figure, print_machine, print_table, spread

from turnlog import queries
from turnlog.settings import Settings
from turnlog.store.loader import load

_GOAL_MS = 50.0
_STEP = 40
_PLACES = ("first", "middle", "last")


class Size(NamedTuple):
    """A store of a size, and the ids of its first, a middle and its last session."""

    spans: int
    settings: Settings
    sessions: tuple[str, ...]


Question = Callable[[queries.Database, str], object]

_QUESTIONS: dict[str, Question] = {
    "log": lambda db, session: queries.log(db, session),
    "files --last 5": lambda db, session: queries.files_modified(db, session, 5),
    "diff 9 10": lambda db, session: queries.diff(db, session, 9, 10),
    "state": lambda db, session: queries.state(db, session),
}


def build(folder: Path, targets: tuple[int, ...]) -> list[Size]:
    """One store that grows; a copy is kept at every size."""
    growing = Settings(directory=folder / "growing")
    sizes, rows, sessions = [], [], 0
    for target in targets:
        before, began = sessions, time.perf_counter()
        while sessions * corpus.SPANS_PER_SESSION < target:
            more = min(_STEP, -(-target // corpus.SPANS_PER_SESSION) - sessions)
            corpus.write_sessions(growing, range(sessions, sessions + more))
            load(growing, 30)
            sessions += more
        rate = (sessions - before) * corpus.SPANS_PER_SESSION / (time.perf_counter() - began)
        spans, size = sessions * corpus.SPANS_PER_SESSION, growing.database.stat().st_size
        rows.append([f"{spans:,}", f"{sessions:,}", figure(rate), figure(size / 1e6), figure(size / spans)])
        settings = Settings(directory=folder / str(target))
        shutil.copytree(growing.directory, settings.directory)
        names = tuple(corpus.session_id(number) for number in (0, sessions // 2, sessions - 1))
        sizes.append(Size(spans, settings, names))
    print_table("The stores", ("spans", "sessions", "made and loaded/s", "MB", "bytes/span"), rows)
    return sizes


def ask(sizes: list[Size], rounds: int) -> dict[tuple[str, str], list[list[float]]]:
    """Per question and place, for every size the ms of every round."""
    found: dict[tuple[str, str], list[list[float]]] = {}

    def record(key: tuple[str, str], number: int, question: Callable[[], object]) -> None:
        began = time.perf_counter()
        question()
        found.setdefault(key, [[] for _ in sizes])[number].append((time.perf_counter() - began) * 1e3)

    def open_and_close(settings: Settings) -> None:
        with queries.reading(settings):
            pass

    for _ in range(rounds):
        for number, size in enumerate(sizes):
            record(("open the store", ""), number, lambda size=size: open_and_close(size.settings))  # type: ignore[misc]
    with contextlib.ExitStack() as stack:
        open_stores = [stack.enter_context(queries.reading(size.settings)) for size in sizes]
        for _ in range(rounds):
            for number, (size, db) in enumerate(zip(sizes, open_stores, strict=True)):
                record(("sessions", ""), number, lambda db=db: queries.sessions(db))  # type: ignore[misc]
                for name, question in _QUESTIONS.items():
                    for place, session in zip(_PLACES, size.sessions, strict=True):
                        record((name, place), number, lambda q=question, d=db, s=session: q(d, s))  # type: ignore[misc]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    print_machine()
    targets = (10_000, 100_000) if options.quick else (10_000, 100_000, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        found = ask(build(Path(folder), targets), 9 if options.quick else 21)
    rows = [
        [
            *key,
            *(spread(times) for times in by_size),
            figure(min(by_size[-1])),
            spread(large / small for large, small in zip(by_size[-1], by_size[0], strict=True)),
        ]
        for key, by_size in found.items()
    ]
    head = ("question", "session", *(f"at {target:,}" for target in targets), "best there", "growth")
    print_table("ms inside the process, and growth from the smallest to the largest, median [quartiles]", head, rows)
    slowest = max(statistics.median(by_size[-1]) for (_, place), by_size in found.items() if place)
    print(f"\nslowest question about one session at {targets[-1]:,} spans: {slowest:.1f} ms (goal: under {_GOAL_MS:.0f})")
    print_machine()


if __name__ == "__main__":
    main()
