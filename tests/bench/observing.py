"""What observing files costs: the audit hook on a program's own calls, and a tool call with and without it.

`python tests/bench/observing.py [--quick]`

Each level of TURNLOG_OBSERVE is a process of its own (a hook is never removed); blocks are interleaved, ratios taken per round.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Worker, interleave, print_machine, print_table, spread

Unit = Callable[[], object]
_BLOCK_US = 40_000
_LEVELS = ("off", "off again", "writes", "all")


@contextlib.contextmanager
def _nowhere() -> Iterator[None]:
    yield


@contextlib.contextmanager
def _in_a_tool() -> Iterator[None]:
    """The code that follows runs inside a tool call that does not end."""
    from turnlog import semconv
    from turnlog.operation import Operation

    attributes = {semconv.GEN_AI_OPERATION_NAME: "execute_tool", semconv.GEN_AI_TOOL_NAME: "work"}
    operation = Operation.start("execute_tool work", attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: {}})
    with operation.current():
        yield


def _read() -> None:
    Path("read.txt").open("rb").close()


def _write() -> None:
    Path("written.txt").open("ab").close()


def _log() -> None:
    logging.getLogger("bench").info("x")


def _write_file(path: str, content: str) -> None:
    Path(path).write_text(content)


def _bash(command: str) -> None:
    pass


PROGRAMS: dict[str, tuple[Callable[[], contextlib.AbstractContextManager[None]], Unit]] = {
    "open to read, no tool runs": (_nowhere, _read),
    "log a line, no tool runs": (_nowhere, _log),
    "open to read, in a tool": (_in_a_tool, _read),
    "open to write, in a tool": (_in_a_tool, _write),
    "call: does nothing": (_nowhere, lambda: _tool(_nothing)()),
    "call: writes a declared file": (_nowhere, lambda: _tool(_write_file)("notes.md", "x" * 400)),
    "call: a shell command, parsed": (_nowhere, lambda: _tool(_bash, "bash")("cd src && sed -i s/a/b/ x.py && pytest > log")),
}
_tools: dict[object, Callable[..., object]] = {}


def _nothing() -> None:
    pass


def _tool(function: Callable[..., object], name: str = "") -> Callable[..., object]:
    import turnlog

    if function not in _tools:
        _tools[function] = turnlog.tool(name=name or function.__name__.lstrip("_"))(function)
    return _tools[function]


def work(program: str) -> None:
    """A worker: one program, over and over."""
    import turnlog
    from programs import _run

    turnlog.init(instrument=False)
    Path("read.txt").write_text("x")
    logging.getLogger("bench").setLevel(logging.INFO)
    logging.getLogger("bench").addHandler(logging.NullHandler())
    _tool(_nothing)()
    place, unit = PROGRAMS[program]
    with place():
        for line in sys.stdin:
            print(json.dumps(_run(unit, int(line.split()[1]))), flush=True)


def measure(program: str, rounds: int) -> list[list[str]]:
    with contextlib.ExitStack() as stack:
        workers = {}
        for level in _LEVELS:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            env = {"TURNLOG_DIR": f"{folder}/turnlog", "TURNLOG_OBSERVE": level.split()[0], "TURNLOG_LOAD_INTERVAL": "3600"}
            os.chdir(folder)
            workers[level] = stack.enter_context(Worker(program, env=env, script="observing.py"))
        for worker in workers.values():
            worker.run(50)
        units = max(1, round(_BLOCK_US / workers["off"].run(50).cpu))
        results = interleave(workers, rounds, units)
    off = statistics.median(result["off"].cpu for result in results)
    rows = [[program, "off", "1", f"({off:,.1f} per unit)", "1"]]
    for level in _LEVELS[1:]:
        rows.append(
            [
                "",
                level,
                spread(result[level].cpu / result["off"].cpu for result in results),
                f"{statistics.median(result[level].cpu - result['off'].cpu for result in results):+.2f}",
                f"{min(result[level].cpu for result in results) / min(result['off'].cpu for result in results):.2f}",
            ]
        )
    return rows


def main() -> None:
    if len(sys.argv) == 2 and sys.argv[1] in PROGRAMS:
        work(sys.argv[1])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    rounds = 7 if parser.parse_args().quick else 40
    print_machine()
    rows = [row for program in PROGRAMS for row in measure(program, rounds)]
    head = ("program", "TURNLOG_OBSERVE", "CPU ratio", "added CPU µs", "min-CPU ratio")
    print_table(f"Observing files, {rounds} interleaved rounds, median [quartiles]", head, rows)


if __name__ == "__main__":
    main()
