"""What the benchmarks share: workers that run one program each, rounds that interleave them, and tables of ratios.

The machine is never quiet, so nothing is compared across runs: every ratio is taken inside one round, and a table shows
the median of the rounds with the quartiles beside it.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

HERE = Path(__file__).parent


class Block(NamedTuple):
    """What one unit of a block cost, in µs."""

    cpu: float
    wall: float


class Worker:
    """A child process that runs one program over and over, as many times as it is told."""

    def __init__(self, *arguments: str, env: Mapping[str, str] | None = None, script: str = "programs.py") -> None:
        self._child = subprocess.Popen(
            [sys.executable, str(HERE / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait()

    def ask(self, command: str, count: int = 0) -> Any:
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.write(f"{command} {count}\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker {self._child.args!r} died")
        return json.loads(line)

    def run(self, units: int) -> Block:
        answer = self.ask("run", units)
        return Block(answer["cpu_ns"] / units / 1e3, answer["wall_ns"] / units / 1e3)


def interleave(workers: Mapping[str, Worker], rounds: int, units: int, seed: int = 0) -> list[dict[str, Block]]:
    """Every worker once per round, in an order that changes."""
    order = list(workers)
    noise = random.Random(seed)
    results = []
    for _ in range(rounds):
        noise.shuffle(order)
        results.append({name: workers[name].run(units) for name in order})
    return results


def quartiles(values: Iterable[float]) -> tuple[float, float, float]:
    found = sorted(values)
    if len(found) == 1:
        return found[0], found[0], found[0]
    low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
    return low, middle, high


def spread(values: Iterable[float]) -> str:
    """`1.23 [1.20, 1.31]`: the median and the quartiles."""
    low, middle, high = quartiles(values)
    return f"{figure(middle)} [{figure(low)}, {figure(high)}]"


def figure(value: float) -> str:
    """Three digits or so: what a noisy machine can tell."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if not number:
            print("  " + "  ".join("-" * width for width in widths))
    sys.stdout.flush()


def print_machine() -> None:
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}")
