"""What recording adds to a program: CPU and wall time per call, against the same program bare and with plain spans.

`python tests/bench/overhead.py [--quick] [--only PROGRAM ...] [--variants bare,otel,hooks,derived,turnlog] [--instructions]`
(imports are measured with all programs only)

Every variant is a process of its own (patches are process-wide); blocks are interleaved and ratios taken per round.
`--instructions` counts instructions under valgrind instead: slow, but the same on a busy machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from measure import HERE, Block, Worker, interleave, print_machine, print_table, spread
from peers import PEERS, installed_peers

from programs import PROGRAMS

_BLOCK_US = 60_000
_CONTROL = "bare again"
_HEAD = ("program", "variant", "CPU ratio", "added CPU µs", "min-CPU ratio", "wall ratio", "µs/span over otel")


def measure(program: str, variants: Sequence[str], rounds: int) -> tuple[list[list[str]], list[str]]:
    """Rows for the table of ratios, and one for the table of deferred loading."""
    names = ["bare", _CONTROL, *(name for name in variants if name != "bare")]
    with contextlib.ExitStack() as stack:
        workers = {}
        for name in names:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            env = {"TURNLOG_DIR": folder, "TURNLOG_LOAD_INTERVAL": "3600"}
            workers[name] = stack.enter_context(Worker(program, name.split()[0], env=env))
        spans = _spans_per_unit(program, workers)
        for worker in workers.values():
            worker.run(20)
        units = max(1, round(_BLOCK_US / workers["bare"].run(20).cpu))
        results = interleave(workers, rounds, units)
        loading = workers["turnlog"].ask("load") if "turnlog" in workers else {}
    rows = [_row(program, name, results, spans) for name in names if name != "bare"]
    bare = statistics.median(result["bare"].cpu for result in results)
    rows.insert(0, [program, "bare", "1", f"({bare:,.0f} per call)", "1", "1", ""])
    if not loading:
        return rows, []
    deferred = loading["cpu_us_per_unit"]
    return rows, [program, f"{loading['bytes_per_unit']:,.0f}", f"{deferred:,.0f}", f"{deferred / bare:.3f}"]


def _row(program: str, name: str, results: list[dict[str, Block]], spans: int) -> list[str]:
    # The control divides by the other bare alone: it shows what the noise makes of equal programs.
    def base(result: dict[str, Block], field: int) -> float:
        return result["bare"][field] if name == _CONTROL else (result["bare"][field] + result[_CONTROL][field]) / 2

    fewest = min(result[name].cpu for result in results)
    fewest_bare = min(result["bare"].cpu for result in results)
    return [
        "",
        name,
        spread(result[name].cpu / base(result, 0) for result in results),
        f"{statistics.median(result[name].cpu - base(result, 0) for result in results):+,.0f}",
        f"{fewest / fewest_bare:.2f}",
        spread(result[name].wall / base(result, 1) for result in results),
        f"{statistics.median(result[name].cpu - result['otel'].cpu for result in results) / spans:+,.0f}"
        if "otel" in results[0] and name not in ("otel", _CONTROL)
        else "",
    ]


def _spans_per_unit(program: str, workers: Mapping[str, Worker]) -> int:
    """How many spans a unit makes, after a check that plain spans and turnlog's have the same shape."""
    shapes = {name: workers[name].ask("shape") for name in ("otel", "turnlog") if name in workers}
    if len(shapes) == 2 and shapes["otel"] != shapes["turnlog"]:
        print(f"! {program}: the spans differ\n  otel    {shapes['otel']}\n  turnlog {shapes['turnlog']}")
    return len(next(iter(shapes.values()), [])) or 1


_SDK = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
"""
_IMPORTS = {
    "nothing": "",
    "the SDK": _SDK,
    "turnlog": "import turnlog; turnlog.init()",
    "openai": "import openai",
    "openai + the SDK": f"{_SDK}\nimport openai",
    "openai + turnlog": "import turnlog; turnlog.init(); import openai",
}


def measure_imports(rounds: int) -> None:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in _IMPORTS}
    modules = {}
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TURNLOG_DIR": folder}
        for _ in range(rounds + 1):
            for name, code in _IMPORTS.items():
                program = f"{code}\nimport sys; print(len(sys.modules))"
                began = time.perf_counter()
                child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=env)
                assert child.stdout is not None
                modules[name] = int(child.stdout.read())
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
                child.stdout.close()
                found[name].append((usage.ru_utime + usage.ru_stime, time.perf_counter() - began))
    rows = []
    for name, base in (
        ("the SDK", "nothing"),
        ("turnlog", "nothing"),
        ("openai + the SDK", "openai"),
        ("openai + turnlog", "openai"),
    ):
        pairs = list(zip(found[name], found[base], strict=True))[1:]
        rows.append(
            [
                name,
                base,
                f"{statistics.median(one[0] - other[0] for one, other in pairs) * 1e3:+.0f}",
                spread(one[0] / other[0] for one, other in pairs),
                f"{statistics.median(one[1] - other[1] for one, other in pairs) * 1e3:+.0f}",
                modules[name] - modules[base],
            ]
        )
    print_table(
        "Import and init, whole process", ("import", "against", "added CPU ms", "CPU ratio", "added wall ms", "modules"), rows
    )


def count_instructions(programs: Sequence[str], variants: Sequence[str]) -> None:
    rows = []
    for program in programs:
        counted = {variant: _instructions_per_unit(program, variant) for variant in variants}
        bare = counted["bare"]
        for variant, count in counted.items():
            rows.append([program, variant, f"{count / 1e3:,.0f}", f"{count / bare:.3f}", f"{(count - bare) / 1e3:+,.0f}"])
    print_table("Instructions per call (thousands)", ("program", "variant", "instructions", "ratio", "added"), rows)


def _instructions_per_unit(program: str, variant: str, fewer: int = 20, more: int = 80) -> float:
    counts = []
    for units in (fewer, more):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
            command += [sys.executable, str(HERE / "programs.py"), program, variant, str(units)]
            env = {**os.environ, "TURNLOG_DIR": folder, "TURNLOG_LOAD_INTERVAL": "3600", "PYTHONHASHSEED": "0"}
            ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        found = re.search(r"I\s+refs:\s+([\d,]+)", ran.stderr)
        if found is None:
            raise RuntimeError(ran.stderr)
        counts.append(int(found[1].replace(",", "")))
    return (counts[1] - counts[0]) / (more - fewer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument(
        "--variants",
        type=lambda text: text.split(","),
        default=["bare", "otel", "hooks", "derived", "turnlog", *installed_peers()],
    )
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    print_machine()
    if options.instructions:
        count_instructions(options.only, options.variants)
        return
    rounds = options.rounds or (7 if options.quick else 40)
    deferred = []
    for program in options.only:
        variants = [variant for variant in options.variants if not (variant in PEERS and program == "tool_by_hand")]
        rows, loading = measure(program, variants, rounds)
        print_table(f"Cost per call, {rounds} interleaved rounds, median [quartiles]", _HEAD, rows)
        if loading:
            deferred.append(loading)
    if deferred:
        title = "What loading a megabyte of journal adds later (the background thread waits for 8, which costs less)"
        print_table(title, ("program", "journal bytes per call", "CPU µs per call", "ratio added"), deferred)
    if len(options.only) == len(PROGRAMS):
        measure_imports(3 if options.quick else 10)
    print_machine()


if __name__ == "__main__":
    main()
