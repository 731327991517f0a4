"""How long a replay takes against the live run that it repeats, and how often it asks the network.

`python tests/bench/replay.py [--quick]`

The same program, an agent on the OpenAI SDK with a tool, runs live and replayed in turn, with a model that takes a second to
answer and with one that answers at once. Both are recorded in full. Ratios are taken per round.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from measure import HERE, print_machine, print_table, spread

sys.path.insert(0, str(HERE.parent))

from programs import run
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

_TURNS = 5
_PROGRAM = f"""
import json, sys, time
import turnlog
from openai import OpenAI

@turnlog.tool
def look_up(word):
    time.sleep(float(sys.argv[2]) / 10)
    return word.upper()

client = OpenAI(base_url=sys.argv[1], api_key="none")
messages = []
began = time.perf_counter()
for turn in range({_TURNS}):
    messages.append({{"role": "user", "content": f"question {{turn}}"}})
    while True:
        message = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            result = look_up(**json.loads(call.function.arguments))
            messages.append({{"role": "tool", "tool_call_id": call.id, "content": result}})
print(time.perf_counter() - began)
"""


class Run(NamedTuple):
    """In seconds: of the agent's work, and of the whole process with Python's start."""

    work: float
    process: float


def _answer(delay: float, body: dict[str, Any]) -> Reply:
    if body["messages"][-1]["role"] == "tool":
        return Reply("Found it.", delay=delay)
    return Reply("I look it up.", tool_calls=[ToolCall("look_up", {"word": "tea"})], delay=delay)


def _run(folder: Path, url: str, delay: float, *options: str) -> Run:
    began = time.perf_counter()
    command = (sys.executable, "-m", "turnlog", "run", *options, sys.executable, folder / "app.py", url, str(delay))
    printed = run(*command, directory=folder / "turnlog").stdout
    return Run(float(printed), time.perf_counter() - began)


def _measure(delay: float, rounds: int) -> tuple[list[str], int, int]:
    ratios: list[tuple[Run, Run]] = []
    with tempfile.TemporaryDirectory() as name, ScriptedModel(functools.partial(_answer, delay)) as model:
        folder = Path(name)
        (folder / "app.py").write_text(_PROGRAM)
        asked_live = asked_replayed = 0
        for number in range(rounds):
            before = len(model.requests)
            live = _run(folder, model.base_url, delay, "--capture", "full", "--session", f"run-{number}")
            between = len(model.requests)
            replayed = _run(folder, model.base_url, delay, "--replay", f"run-{number}")
            asked_live, asked_replayed = asked_live + between - before, asked_replayed + len(model.requests) - between
            ratios.append((live, replayed))
    columns = [
        spread(live.work for live, _ in ratios),
        spread(replayed.work for _, replayed in ratios),
        spread(replayed.work / live.work for live, replayed in ratios),
        spread(replayed.process / live.process for live, replayed in ratios),
    ]
    return columns, asked_live, asked_replayed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 rounds instead of 7")
    rounds = 3 if parser.parse_args().quick else 7
    print_machine()
    rows: list[list[object]] = []
    for name, delay in (("1 s", 1.0), ("at once", 0.0)):
        columns, asked_live, asked_replayed = _measure(delay, rounds)
        rows.append([name, *columns, asked_live, asked_replayed])
    print_table(
        f"{_TURNS} turns of 2 model calls and a tool call, {rounds} rounds: median [quartiles]",
        ("model answers in", "live s", "replayed s", "replayed / live", "of the process", "requests live", "requests replayed"),
        rows,
    )


if __name__ == "__main__":
    main()
