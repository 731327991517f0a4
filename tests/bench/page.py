"""How the page's time and weight grow with the store: every view at 25 k spans and at 1 M (`--quick`: 100 k). The smaller has
53 sessions already, so that both lists of sessions show 50.

`python tests/bench/page.py [--quick]`. Each store is served by a `turnlog ui` of its own; the two take turns in every round,
so that a busy moment of the machine cannot look like growth. A response is timed from the request to its last byte.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from growth import Size, build
from measure import figure, print_machine, print_table, spread

sys.path.insert(0, str(Path(__file__).parents[1]))

from turnlog import queries
from web.serving import Served, serve


def views(size: Size) -> dict[str, str]:
    """The addresses of the views, about a session in the middle of the store."""
    session, other = size.sessions[1], size.sessions[0]
    with queries.reading(size.settings) as db:
        commit = queries.log(db, session, tool="write_file")[0]
        path = queries.working_set(db, session, 40)[0].key

    def at(view: str, **query: object) -> str:
        return f"{view}?{urlencode(query)}"

    return {
        "sessions": "/",
        "sessions, searched": at("/", q="coder", failed=1),
        "sessions of a status": at("/", status="idle"),
        "sessions, unverified": at("/", unverified=1),
        "session": at("/session", id=session),
        "session, one turn": at("/session", id=session, turn=9),
        "commit": at("/commit", session=session, id=commit.commit_id),
        "diff of turns": at("/diff", session=session, a=9, b=10),
        "two sessions": at("/compare", a=session, b=other),
        "working set": at("/files", session=session),
        "blame in the session": at("/blame", session=session, path=path),
        "state": at("/state", session=session, turn=9),
        "context": at("/context", session=session, turn=9),
        "SQL, the box": "/sql",
        "health": "/health",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    print_machine()
    targets = (25_000, 100_000 if options.quick else 1_000_000)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        sizes = build(Path(folder), targets)
        pages = [stack.enter_context(serve(size.settings.directory)) for size in sizes]
        rows = [_row(name, pages, [views(size)[name] for size in sizes], 21) for name in views(sizes[0])]
    head = ("view", *(f"ms at {target:,}" for target in targets), "growth", *(f"kB at {target:,}" for target in targets))
    print_table("Time of a response and its growth, median [quartiles]; weight", head, rows)
    print_machine()


def _row(name: str, pages: list[Served], paths: list[str], rounds: int) -> list[str]:
    times: list[list[float]] = [[] for _ in pages]
    weights = [0] * len(pages)
    for number in range(rounds + 1):
        for place, (page, path) in enumerate(zip(pages, paths, strict=True)):
            began = time.perf_counter()
            answer = page.ask(path, Authorization=f"Bearer {page.token}")
            took = (time.perf_counter() - began) * 1e3
            if answer.status != 200:
                raise SystemExit(f"{path} answered {answer.status}: {answer.text[:300]}")
            weights[place] = len(answer.body)
            # The first time, files and code are not in memory yet.
            if number:
                times[place].append(took)
    small, large = times
    growth = spread(after / before for after, before in zip(large, small, strict=True))
    return [name, spread(small), spread(large), growth, *(figure(weight / 1e3) for weight in weights)]


if __name__ == "__main__":
    main()
