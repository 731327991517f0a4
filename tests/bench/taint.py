"""How the time of following influence grows with a session: model calls that each ask for a tool, every second one unverified.

`python tests/bench/taint.py [--quick]`. Contexts grow without end, slide, are cleared every 50 calls, or fork every 250. CPU
time of the process, the best of three: the machine is never quiet.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from measure import figure, print_machine, print_table

from store.story import added, evicted
from store.talk import UNVERIFIED, Talk
from turnlog import queries
from turnlog.settings import Settings
from turnlog.store.loader import load

_WINDOW, _CLEARED, _FORKED = 40, 50, 250


def tell(talk: Talk, calls: int, shape: str) -> None:
    """Message by message: comparing whole contexts would cost more than all that is measured."""
    place, context, lineage = 0, [], "main"
    coming = ["user:go"]
    for number in range(calls):
        changes: list[dict[str, Any]] = []
        if shape == "sliding" and len(context) > _WINDOW:
            changes += evicted(*(at for at, _ in context[:-_WINDOW]))
            context = context[-_WINDOW:]
        elif shape == "cleared" and number and number % _CLEARED == 0:
            changes += evicted(*(at for at, _ in context))
            context, coming = [], [f"user:{number}"]
        elif shape == "forking" and number % _FORKED == _FORKED - 1:
            context, coming = [], [*(message for _, message in context[:-20]), f"user:{number}"]
            lineage = f"fork {number}"
        for message in coming:
            place += 1
            context.append((place, message))
            changes.append(_message(talk, place, message))
        call, tool, turn = f"call {number}", f"tool {number}", f"t{number // 10}"
        talk.chat(call, talk.session, turn, lineage=lineage, context=changes, choice="call a tool")
        talk.ran(tool, turn, by=call, **(UNVERIFIED if number % 2 else {}))
        coming = [f"reply:{call}", f"result:{tool}"]


def _message(talk: Talk, at: int, message: str) -> dict[str, Any]:
    role, _, text = message.partition(":")
    if role == "user":
        return added(at, role, text)
    known = {"from": talk.spans[text]} if role == "reply" else {"call": f"call {text}"}
    return added(at, "assistant" if role == "reply" else "tool", text, **known)


def rows(shape: str, sizes: tuple[int, ...]) -> Iterator[tuple[object, ...]]:
    for calls in sizes:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(directory=Path(folder))
            talk = Talk(settings)
            tell(talk, calls, shape)
            talk.writer.close()
            load(settings, 30)
            with queries.reading(settings) as db:
                source, last = talk.ids[f"tool {calls // 4 * 2 + 1}"], talk.ids[f"tool {calls - 1}"]
                yield (
                    shape,
                    f"{calls:,}",
                    *_asked(db, "select count(*) from taint_of('s', ?)", [source]),
                    *_asked(db, "select count(*) from why('s', ?)", [last]),
                    *_asked(db, "select count(*) from influence('s', '')", []),
                    *_asked(db, "select count(*) from contamination", [], times=1),
                )


def _asked(db: queries.Database, question: str, values: list[str], times: int = 3) -> tuple[str, str]:
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        ((found,),) = db.execute(question, values or None).fetchall()
        best = min(best, time.process_time() - begin)
    return f"{found:,}", figure(best * 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 500 calls")
    sizes = (50, 500) if parser.parse_args().quick else (500, 5000)
    print_machine()
    head = ("contexts", "calls", "taint_of", "ms", "why", "ms", "influence of all", "ms", "contamination", "ms")
    shapes = ("growing", "sliding", "cleared", "forking")
    print_table("Influence: rows and CPU ms", head, [row for shape in shapes for row in rows(shape, sizes)])


if __name__ == "__main__":
    main()
