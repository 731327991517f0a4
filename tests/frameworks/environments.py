"""Runs a framework's tests in a virtual environment of its own, with the newest or the oldest version that turnlog declares.

    python tests/frameworks/environments.py                     every framework, newest
    python tests/frameworks/environments.py strands crewai      these
    python tests/frameworks/environments.py --oldest openai     with the lower bounds of its extra

Some frameworks cannot live beside others: they pin older SDKs. Environments are kept (`--keep FOLDER`) or thrown away.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
# What can live together, by extra. A framework that is in none of them has an environment of its own.
TOGETHER = (
    ("openai-agents", "mcp", "fastmcp", "pydantic-ai", "google-adk", "deepagents", "claude-agent-sdk"),
    ("agent-framework", "llama-index"),
)
GENERAL = ("beside", "beside_agents", "conformance", "counted_once", "framework_examples", "torture_agents")
# Tests of what others record, by the extra that brings those others.
OF_OTHERS: dict[str, tuple[str, ...]] = {"beside-test": ("vocabulary/test_peers.py", "paths/test_paths.py")}
# What the README's test command installs already.
IN_THE_MAIN_ONE = ("openai", "anthropic", "langchain")
# What a framework's tests need beside its extra.
BESIDE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("langchain", "deepagents"), ("langchain-openai >= 1.2, < 2",)),
    **dict.fromkeys(("mcp", "fastmcp"), ("openai >= 2.26, < 4",)),
    "google-adk": ("openinference-instrumentation-google-adk >= 1.0",),
    "openai-agents": (
        "openinference-instrumentation-openai-agents >= 2.6",
        "opentelemetry-instrumentation-genai-openai-agents >= 1.3b0",
        "opentelemetry-instrumentation-openai-agents >= 0.62",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", help="extras of the project; without any, every framework")
    parser.add_argument("--oldest", action="store_true", help="pin every requirement to its lower bound")
    parser.add_argument("--keep", type=Path, help="where to make the environments, to use them again")
    parser.add_argument("--jobs", type=int, default=1, help="how many to run at once")
    parser.add_argument("--bounds", action="store_true", help="only print the lower bounds, as pip's constraints")
    options = parser.parse_args()
    if options.bounds:
        print(*lower_bounds(PROJECT["dependencies"]), *lower_bounds(requirements(options.extras)), sep="\n")
        return 0
    wanted = options.extras or [name for name in EXTRAS if name not in ("bare-test", "demo", "test", "web", *IN_THE_MAIN_ONE)]
    groups = [(name,) for name in wanted] if options.oldest else together(wanted)
    failed = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:

        def test(group: tuple[str, ...]) -> tuple[tuple[str, ...], float, str, bool]:
            began = time.monotonic()
            name = "-".join(group) + ("-oldest" if options.oldest else "")
            printed, passed = run_tests((options.keep or Path(scratch)) / name, group, options.oldest)
            return group, time.monotonic() - began, printed, passed

        for group, seconds, printed, passed in pool.map(test, groups):
            which = "oldest" if options.oldest else "newest"
            print(f"\n== {' '.join(group)}, {which}, {seconds:.0f} s\n{printed}", flush=True)
            failed += [] if passed else [" ".join(group)]
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall passed")
    return bool(failed)


def together(wanted: list[str]) -> list[tuple[str, ...]]:
    shared = [tuple(name for name in group if name in wanted) for group in TOGETHER]
    alone = [(name,) for name in wanted if not any(name in group for group in TOGETHER)]
    return [group for group in (*shared, *alone) if group]


def run_tests(folder: Path, group: tuple[str, ...], oldest: bool) -> tuple[str, bool]:
    """What was printed, and whether all passed."""
    if not (folder / "bin").exists():
        venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{pin}\n" for pin in lower_bounds(requirements(group))) if oldest else "")
    beside = [requirement for name in group for requirement in BESIDE.get(name, ())]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", constraints]
    places = ("instrument", "continuing", "replay")
    tests = [ROOT / "tests" / place / f"test_{name.replace('-', '_')}.py" for place in places for name in group]
    tests += [ROOT / "tests" / "frameworks" / f"test_{name}.py" for name in GENERAL]
    if not oldest:
        # What a framework's own spans say changes from version to version; ours does not.
        tests.append(ROOT / "tests" / "vocabulary" / "test_natives.py")
        tests.append(ROOT / "tests" / "importing" / "test_beside_claude_code.py")
    others = dict.fromkeys(other for name in group for other in OF_OTHERS.get(name, ()))
    tests += [ROOT / "tests" / other for other in others]
    printed = ""
    for command in (
        [*install, *beside, "-e", f"{ROOT}[bare-test,{','.join(group)}]"],
        [python, "-m", "pytest", *(test for test in tests if test.exists())],
    ):
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        printed += done.stdout
        if done.returncode:
            return printed, False
    return printed, True


def requirements(extras: Iterable[str]) -> list[str]:
    return [requirement for name in extras for requirement in EXTRAS[name]]


def lower_bounds(wanted: Iterable[str]) -> list[str]:
    """The least version of every requirement that has one."""
    pins = (re.match(r"([\w-]+)(?:\[[\w,]+\])? >= ([\w.]+), <", requirement) for requirement in wanted)
    return [f"{pin[1]}=={pin[2]}" for pin in pins if pin]


if __name__ == "__main__":
    sys.exit(main())
