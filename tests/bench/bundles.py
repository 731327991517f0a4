"""What it takes to carry a session to another store, and to tell what one needs who goes on with it.

`python tests/bench/bundles.py [--quick]`: sessions of 1,000 and 100,000 commits; `--quick` stops at 1,000. CPU seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parent.parent))

from measure import print_machine, print_table

from bundling.stores import bundle
from mcp_server.long_session import SESSION, write_session
from turnlog import queries
from turnlog.bundling.loading import unbundle
from turnlog.queries import SessionState
from turnlog.resume_brief import resume_brief
from turnlog.settings import Settings
from turnlog.store.loader import load
from turnlog.tokens import estimate

_SIZES = (1_000, 100_000)
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    return work(), time.process_time() - began


def state_of(settings: Settings) -> SessionState:
    with queries.reading(settings) as db:
        return queries.session_state(db, SESSION)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    sizes = _SIZES[:1] if parser.parse_args().quick else _SIZES
    print_machine()
    rows, wrong = [], 0
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            here, there = (Settings(directory=Path(folder) / name) for name in ("here", "there"))
            write_session(here, size)
            load(here, patience=60)
            load(there, patience=60)
            file, bundling = timed(lambda at=here: bundle(at, SESSION))
            first, unbundling = timed(lambda at=there, it=file: unbundle(at, it))
            again, repeating = timed(lambda at=there, it=file: unbundle(at, it))
            state, telling = timed(lambda at=there: state_of(at))
            wrong += not (first.sessions[0].is_same and again.sessions[0].before == again.sessions[0].after)
            kilobytes = f"{len(file.getvalue()) / 1000:,.0f} kB"
            seconds = (f"{each:.1f} s" for each in (bundling, unbundling, repeating, telling))
            rows.append((f"{size:,}", kilobytes, *seconds, f"{estimate(resume_brief(state)):,}"))
    print_table(
        "carried to another store",
        ("commits", "bundle", "bundle", "unbundle", "unbundle again", "state", "tokens of the brief"),
        rows,
    )
    print(f"{wrong} of {len(rows)} sessions came out in another state, or twice")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
